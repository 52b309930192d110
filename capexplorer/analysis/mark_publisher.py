"""What was marked so far, and so what is worth telling now: marks are superseded where they changed materially, or retracted.

Without it a journal would hold a line each time that an interval moved by a hair. Holds no timeline, and judges nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

import msgspec

from ..model.events import Mark, Verdict

MOVED_LEAST = 0.02
"""Relative change of a figure from which it is told anew."""

BOUND_MOVED_LEAST = 0.06
"""The same for an interval's ends: 300 bootstraps place them within 2-4% of each other from one second to the next (measured)."""

TOLD_ALWAYS = ("kind", "id", "epoch", "severity", "confidence")

PACE_MOVED_LEAST = 0.3
"""Of a rate of growth and the time to its limit: they sharpen with every look."""

MOVED = {
    **dict.fromkeys(("capacity_rps", "limit", "soft", "provisional", "peak_users", "recovered", "after_s"), MOVED_LEAST),
    **dict.fromkeys(("users_low", "users_high"), BOUND_MOVED_LEAST),
    **dict.fromkeys(("growth_per_hour", "backlog_growth_per_s", "limit_in_s"), PACE_MOVED_LEAST),
}
"""Of a finding's figures: what a reader acts on, and by how much it must move. Other readings only come along."""

State = Literal["open", "updated", "closed"]


class MarkPublisher:
    """Marks by key, as last told."""

    def __init__(self) -> None:
        self._told: dict[str, Mark] = {}
        self._verdicts: dict[int, Verdict] = {}

    def update(self, now: Iterable[Mark], t_s: float, *, about: Collection[str], exactly: bool = False) -> tuple[Mark, ...]:
        """What to tell of the marks that stand now. Those of the keys `about` that stand no more are retracted.

        `exactly`: tell every change however small; at the end, so that a log's last marks are those of its figures.
        """
        standing = {mark.key: mark for mark in now}
        told = [new for mark in standing.values() if (new := self._changed(mark, t_s, exactly)) is not None]
        told += [self._retracted(mark, t_s) for mark in self._gone(standing, about)]
        self._told.update((mark.key, mark) for mark in told)
        return tuple(told)

    def verdict(self, found: Verdict) -> Verdict | None:
        """The verdict, if it says anything else than the last of its epoch."""
        before = self._verdicts.get(found.epoch)
        if before is not None and msgspec.structs.replace(before, t_s=found.t_s) == found:
            return None
        self._verdicts[found.epoch] = found
        return found

    def _changed(self, mark: Mark, t_s: float, exactly: bool) -> Mark | None:
        before = self._told.get(mark.key)
        if before is None:
            return msgspec.structs.replace(mark, t_s=t_s)
        back = before.state == "retracted"
        if not back and (_same_exactly(before, mark) if exactly else _same(before, mark)):
            return None
        back = back or (before.state == "closed" and mark.state != "closed")
        state: State = "closed" if mark.state == "closed" else "open" if back else "updated"
        return msgspec.structs.replace(mark, t_s=t_s, revision=before.revision + 1, state=state)

    def _gone(self, standing: Collection[str], about: Collection[str]) -> list[Mark]:
        told = self._told.items()
        return [mark for key, mark in told if key in about and key not in standing and mark.state != "retracted"]

    def _retracted(self, mark: Mark, t_s: float) -> Mark:
        return msgspec.structs.replace(mark, t_s=t_s, revision=mark.revision + 1, state="retracted")


def _same(before: Mark, now: Mark) -> bool:
    if any(getattr(before, name) != getattr(now, name) for name in TOLD_ALWAYS):
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
