"""What one rule found at one level: a value, not yet a finding of the whole epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...model.findings import Readings


@dataclass(frozen=True, slots=True)
class Found:
    """`id` as in the catalogue."""

    id: str
    readings: Readings = field(default_factory=dict)
    """Named readings that it rests on."""
    unavailable: tuple[str, ...] = ()
    """Readings that would have made it surer, and could not be read."""
