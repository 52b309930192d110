"""The result of one rule at one level, before it becomes a finding of the whole epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...model.findings import Readings

FindingKey = tuple[str, str | None]
"""Id and part."""


@dataclass(frozen=True, slots=True)
class Found:
    """`id`: of the catalogue."""

    id: str
    readings: Readings = field(default_factory=dict)
    """The named readings that show it."""
    unavailable: tuple[str, ...] = ()
    """Readings that would have increased the confidence but were not taken."""
    competing: tuple[str, ...] = ()
    """Ids of the catalogue that the same readings allow."""
    part: str | None = None
    """The watched part that it is about; None: the target and its host."""

    @property
    def key(self) -> FindingKey:
        """The key that distinguishes it from others of the same level."""
        return self.id, self.part
