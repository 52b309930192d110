"""Levels of offered rates as tables: what was offered, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capexplorer.analysis.rates.rate_capacity import judge
from capexplorer.analysis.rates.rate_level import RateLevel
from capexplorer.model.rate_verdicts import RateCapacity

SECONDS = 20


def level(rate: float, good: float | None = None, *, failed: float = 0.0, dropped: float = 0.0, **known: Any) -> RateLevel:
    """Rates a second; what is neither good, failed nor dropped is in flight. `good`: all of it, unless given."""
    seconds = known.pop("seconds", SECONDS)
    counts = [round(each * seconds) for each in (rate, rate if good is None else good, failed, dropped)]
    return RateLevel(
        rate_per_s=rate,
        seconds=float(seconds),
        due=counts[0],
        succeeded=counts[1],
        failed=counts[2],
        dropped=counts[3],
        service_ms=known.pop("service_ms", 20.0),
        **known,
    )


SERVED = [level(rate) for rate in (25, 50, 75)]


def judged(levels: Sequence[RateLevel]) -> RateCapacity:
    """The capacity that these levels give."""
    found = judge(levels)
    assert found is not None
    return found
