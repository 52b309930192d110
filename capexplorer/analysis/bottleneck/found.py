"""The result of one rule at one level, before it becomes a finding of the whole epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...model.findings import Readings

FindingKey = tuple[str, str | None]
"""(id, watched part; None: the target and its host)."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one rule found at one level."""

    id: str
    """An id of `causes.catalogue`."""
    readings: Readings = field(default_factory=dict)
    """The named readings that show it."""
    unavailable: tuple[str, ...] = ()
    """Readings that would have increased the confidence but were not taken."""
    competing: tuple[str, ...] = ()
    """Ids of other findings that would explain the same readings."""
    part: str | None = None
    """The watched part that it is about; None: the target and its host."""

    @property
    def key(self) -> FindingKey:
        """What distinguishes it from other findings at the same level."""
        return self.id, self.part
