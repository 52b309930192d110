"""Exceptions in user code as a mark: users that die do not make the load that was asked for."""

from __future__ import annotations

from ..load.host import LoadHost
from ..model.events import Mark

ADVICE = "mend the locustfile: a user whose code fails does not make the load that was asked for"


class UserErrors:
    """`mark` once a tick."""

    def __init__(self) -> None:
        self._exceptions = self._replaced = self._revision = 0
        self._last = ""
        self._first_s = self._last_s = 0.0

    def mark(self, host: LoadHost, t_s: float, epoch: int, users: int) -> Mark | None:
        """A mark when there were more since the last tick. Users that ended by themselves (StopUser) are replaced without one."""
        errors = [host.user_errors.popleft() for _ in range(len(host.user_errors))]
        replaced_before, self._replaced = self._replaced, host.replaced
        if errors:
            self._first_s, self._last_s = self._first_s if self._exceptions else t_s, t_s
            self._exceptions += len(errors)
            self._last = f"{errors[-1].type}: {errors[-1].text} ({errors[-1].line})"
        if not self._exceptions or (not errors and self._replaced == replaced_before):
            return None
        self._revision += 1
        return Mark(
            t_s=t_s,
            key="cause:user_code_error",
            revision=self._revision,
            state="open" if self._revision == 1 else "updated",
            kind="cause",
            id="user_code_error",
            epoch=epoch,
            users=users,
            severity="error",
            confidence="high",
            evidence={
                "count": self._exceptions,
                "first_s": self._first_s,
                "last_s": self._last_s,
                "users_replaced": self._replaced,
                "last": self._last,
            },
            advice=ADVICE,
        )
