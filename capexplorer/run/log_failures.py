"""The mark for a log that cannot be written. It is kept in memory and written as soon as there is space again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from .. import wording
from ..model.events import FailureSignature, FailureTick, Mark
from ..model.findings import Cause

# -- first failures ------------------------------------------------------------------------------------------------------------
# The first failure of each signature as a line of the session's log: `GET /items: 503: upstream pool exhausted`.


MOST = 60
"""Lines in a session: later kinds are in the list of raw errors."""


class FirstFailures:
    """Call `lines` with the failures of each tick."""

    def __init__(self) -> None:
        self._seen: set[FailureSignature] = set()

    def lines(self, failures: Sequence[FailureTick]) -> Iterator[str]:
        """Of signatures that were not seen before."""
        for failure in failures:
            if failure.signature not in self._seen and len(self._seen) < MOST:
                self._seen.add(failure.signature)
                yield f"first failure: {failure.method} {failure.name}: {failure.example or wording.failure(failure.signature)}"


class LogFailures:
    """One mark for all such failures of a session; each failure's start and end is a revision."""

    def __init__(self) -> None:
        self._revision = self._count = 0
        self._first_s = 0.0
        self._example = ""

    def began(self, t_s: float, epoch: int, error: str) -> Mark:
        """Writing fails because of `error`."""
        self._count, self._first_s, self._example = self._count + 1, t_s, error
        return self._mark("open", t_s, epoch)

    def ended(self, t_s: float, epoch: int) -> Mark:
        """Writing works again: all events kept in memory have been written."""
        return self._mark("closed", t_s, epoch)

    def _mark(self, state: Literal["open", "closed"], t_s: float, epoch: int) -> Mark:
        self._revision += 1
        finding = Cause(name="log_write_failed", count=self._count, first_s=self._first_s, last_s=t_s, example=self._example)
        return Mark(
            t_s=t_s,
            key="cause:log_write_failed",
            revision=self._revision,
            state=state,
            finding=finding,
            epoch=epoch,
            severity="critical",
            confidence="high",
        )
