"""Marks about watched parts that cannot be read. They are made from `PartState` events, so a saved log gives the same marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...model.events import Mark, PartState
from ...model.findings import Cause
from .catalogue import ENTRIES

PART_NOT_READ = "part_not_read"


@dataclass(slots=True)
class _Gap:
    """The times in which one part was not read, in seconds of the session."""

    first_s: float
    """Start of the first episode."""
    since_s: float
    """Start of the latest episode."""
    reason: str
    episodes: int = 1
    revision: int = 1
    is_open: bool = True


class UnreadParts:
    """Folds `PartState` events, in order, to marks."""

    def __init__(self) -> None:
        self._gaps: dict[str, _Gap] = {}

    def apply(self, event: PartState, epoch: int) -> tuple[Mark, ...]:
        """The mark to publish after the event; empty if nothing changed."""
        gap = self._gaps.get(event.name)
        if event.state == "unread":
            self._gaps[event.name] = gap = _opened(gap, event)
            return (_mark(event, gap, epoch, "open"),)
        if gap is None or not gap.is_open:
            return ()
        gap.is_open, gap.revision = False, gap.revision + 1
        return (_mark(event, gap, epoch, "closed"),)


def _opened(gap: _Gap | None, event: PartState) -> _Gap:
    reason = event.reason or ""
    if gap is None:
        return _Gap(event.t_s, event.t_s, reason)
    again = not gap.is_open
    since_s = event.t_s if again else gap.since_s
    return _Gap(gap.first_s, since_s, reason, gap.episodes + again, gap.revision + 1)


def _mark(event: PartState, gap: _Gap, epoch: int, state: Literal["open", "closed"]) -> Mark:
    finding = Cause(
        name=PART_NOT_READ,
        part=event.name,
        first_s=gap.first_s,
        last_s=event.t_s,
        since_s=gap.since_s if gap.episodes > 1 else None,
        episodes=gap.episodes,
        example=gap.reason,
    )
    return Mark(
        t_s=event.t_s,
        key=f"cause:{PART_NOT_READ}:{event.name}",
        revision=gap.revision,
        state=state,
        finding=finding,
        epoch=epoch,
        severity=ENTRIES[PART_NOT_READ].severity,
        confidence="high",
    )
