"""What one rule found at one level: a value, not yet a mark."""

from __future__ import annotations

from dataclasses import dataclass, field

Evidence = dict[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Finding:
    """`id` as in CAUSES.md."""

    id: str
    evidence: Evidence = field(default_factory=dict)
    """Named readings that it rests on."""
    unavailable: tuple[str, ...] = ()
    """Readings that would have made it surer, and could not be read."""
