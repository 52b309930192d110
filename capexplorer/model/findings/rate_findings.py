"""Findings at levels of offered rates."""

from __future__ import annotations

from typing import Any

from ..rate_verdicts import RateCapacity, RateRecovery
from .finding import Finding


class RateCapacityFinding(Finding, frozen=True, kw_only=True, tag="rate_capacity"):
    """The offered rate from which goodput is less than the offered rate: the capacity, or a bound of it."""

    capacity: RateCapacity

    @property
    def id(self) -> str:
        """`rate_` and the kind of the capacity."""
        return f"rate_{self.capacity.kind}"

    def figures(self) -> dict[str, Any]:
        """Figures of the capacity, and of the service's behaviour beyond it."""
        found, overload = self.capacity, self.capacity.overload
        named = {
            "capacity_per_s": found.per_s if found.kind == "capacity" else None,
            "per_s_low": found.low_per_s,
            "per_s_high": found.high_per_s,
            "kept_per_s": found.kept_per_s,
            "limit": found.limit,
            "overload": overload.kind if overload is not None else None,
            "overload_offered_per_s": overload.offered_per_s if overload is not None else None,
            "overload_goodput_per_s": overload.goodput_per_s if overload is not None else None,
            "overload_failure_ratio": overload.failure_ratio if overload is not None else None,
            "in_flight_growth_per_s": overload.growth_per_s if overload is not None else None,
            "fall_ratio": overload.fall_ratio if overload is not None else None,
        }
        return {name: value for name, value in named.items() if value is not None}


class RateRecovered(Finding, frozen=True, kw_only=True, tag="rate_recovery"):
    """Whether the service recovered when the offered rate was reduced after overload."""

    recovery: RateRecovery

    @property
    def id(self) -> str:
        """The finding's kind."""
        return "rate_recovery"

    def figures(self) -> dict[str, Any]:
        """The rates before and after the step down, and the seconds to recovery."""
        found = self.recovery
        named = {
            "from_per_s": found.from_per_s,
            "to_per_s": found.to_per_s,
            "recovered": found.recovered,
            "after_s": found.after_s,
        }
        return {name: value for name, value in named.items() if value is not None}
