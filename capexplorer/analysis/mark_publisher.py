"""Which marks to publish now: new ones, those that changed materially, and retractions of those that no longer hold.

Without it the journal would get a line whenever an interval moved slightly. It keeps no timeline, and judges no levels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

import msgspec

from ..model.events import Mark, Verdict

MOVED_LEAST = 0.02
"""A mark is published again if a figure of it changed by more than this share of its value."""

BOUND_MOVED_LEAST = 0.06
"""The same for the ends of an interval: from one second to the next, those of 300 bootstrap resamples differ by 2-4%
(measured)."""

PACE_MOVED_LEAST = 0.3
"""The same for rates of growth and times to a limit, which change with every second."""

ALWAYS_COMPARED = ("kind", "id", "epoch", "severity", "confidence")
"""Fields of a mark of which any change is published."""

VERIFIED_BY = ("soak_agrees", "beyond_agrees", "return_agrees")
"""Evidence of the levels that verify a knee: each of them makes a revision of its mark."""

MOVED = {
    **dict.fromkeys(
        (
            *("capacity_rps", "limit", "soft", "provisional", "verification", *VERIFIED_BY),
            *("peak_users", "recovered", "after_s", "until_s"),
        ),
        MOVED_LEAST,
    ),
    **dict.fromkeys(("capacity_per_s", "kept_per_s", "overload", "fall_ratio"), MOVED_LEAST),
    **dict.fromkeys(("users_low", "users_high", "per_s_low", "per_s_high"), BOUND_MOVED_LEAST),
    **dict.fromkeys(("growth_per_hour", "backlog_growth_per_s", "limit_in_s"), PACE_MOVED_LEAST),
}
"""Figures of a finding that are compared, with the relative change above which each is published. Changes of other figures alone
are not published."""

State = Literal["open", "updated", "closed"]


class MarkPublisher:
    """Remembers the marks and verdicts published last, by key and by epoch, and returns those to publish now."""

    def __init__(self) -> None:
        self._published: dict[str, Mark] = {}
        self._verdicts: dict[int, Verdict] = {}

    def update(
        self, now: Iterable[Mark], t_s: float, *, complete_for: Collection[str], all_changes: bool = False
    ) -> tuple[Mark, ...]:
        """The marks to publish, given the marks that hold `now`, at `t_s` seconds of the session.

        `complete_for`: keys of marks that no longer hold unless they are in `now`; if they were published, they are retracted.
        `all_changes`: publish every change, however small; used at the end, so that a log's last marks agree with its figures.
        """
        current = {mark.key: mark for mark in now}
        changed = [new for mark in current.values() if (new := self._changed(mark, t_s, all_changes)) is not None]
        changed += [self._retracted(mark, t_s) for mark in self._gone(current, complete_for)]
        self._published.update((mark.key, mark) for mark in changed)
        return tuple(changed)

    def verdict(self, found: Verdict) -> Verdict | None:
        """The verdict, if it differs from the last one of its epoch; else None."""
        before = self._verdicts.get(found.epoch)
        if before is not None and msgspec.structs.replace(before, t_s=found.t_s) == found:
            return None
        self._verdicts[found.epoch] = found
        return found

    def _changed(self, mark: Mark, t_s: float, all_changes: bool) -> Mark | None:
        before = self._published.get(mark.key)
        if before is None:
            return msgspec.structs.replace(mark, t_s=t_s)
        back = before.state == "retracted"
        if not back and (_same_exactly(before, mark) if all_changes else _same(before, mark)):
            return None
        back = back or (before.state == "closed" and mark.state != "closed")
        state: State = "closed" if mark.state == "closed" else "open" if back else "updated"
        return msgspec.structs.replace(mark, t_s=t_s, revision=before.revision + 1, state=state)

    def _gone(self, current: Collection[str], complete_for: Collection[str]) -> list[Mark]:
        published = self._published.items()
        return [mark for key, mark in published if key in complete_for and key not in current and mark.state != "retracted"]

    def _retracted(self, mark: Mark, t_s: float) -> Mark:
        return msgspec.structs.replace(mark, t_s=t_s, revision=mark.revision + 1, state="retracted")


def _same(before: Mark, now: Mark) -> bool:
    if any(getattr(before, name) != getattr(now, name) for name in ALWAYS_COMPARED):
        return False
    if (before.state == "closed") != (now.state == "closed"):
        return False
    then, figures = before.finding.figures(), now.finding.figures()
    pairs = {name: (then.get(name), figures.get(name)) for name in MOVED}
    return _near(before.users, now.users, MOVED_LEAST) and all(_near(*pair, MOVED[name]) for name, pair in pairs.items())


def _same_exactly(before: Mark, now: Mark) -> bool:
    closes = (before.state == "closed") != (now.state == "closed")
    return not closes and msgspec.structs.replace(before, t_s=now.t_s, revision=now.revision, state=now.state) == now


def _near(before: Any, now: Any, moved_least: float) -> bool:
    if isinstance(before, int | float) and isinstance(now, int | float) and not isinstance(before, bool):
        return abs(now - before) <= moved_least * max(abs(before), abs(now))
    return bool(before == now)
