"""Rate levels as tests write them: the offered rate, and how its iterations ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from capexplorer.analysis.knee.rate_capacity import judge_rates
from capexplorer.analysis.knee.rate_level import RateLevel
from capexplorer.model.verdicts import RateCapacity

SECONDS = 20


def level(rate: float, good: float | None = None, *, failed: float = 0.0, dropped: float = 0.0, **known: Any) -> RateLevel:
    """Rates per second. `good`: that succeeded, by default all. Iterations that did not succeed, fail or drop are in flight."""
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
    found = judge_rates(levels)
    assert found is not None
    return found
