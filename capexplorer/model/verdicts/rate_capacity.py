"""The capacity as an offered rate."""

from __future__ import annotations

from ..readings import Reading


class RateCapacity(Reading, frozen=True, kw_only=True):
    """The greatest offered rate that an epoch's service finishes, found on its rate levels alone."""

    per_s: float
    """Iterations a second."""
    low_per_s: float | None = None
    high_per_s: float | None = None
