"""Findings on the capacity curve: knees, bends, latency knees."""

from __future__ import annotations

from typing import Any

from ..verdicts import KneeVerdict, Missing
from .finding import Finding


class CurveFinding(Finding, frozen=True, kw_only=True):
    """Base of the findings on the capacity curve."""

    verdict: KneeVerdict
    capacity_se_rps: float | None = None
    missing: tuple[Missing, ...] = ()
    """Further levels that would make the finding more precise."""

    @property
    def id(self) -> str:
        """The finding's kind."""
        return self.verdict.kind

    def figures(self) -> dict[str, Any]:
        """Figures of the verdict, of its peak, and of its evidence."""
        own, peak = self.verdict, self.verdict.peak
        knee = own.kind == "knee"
        named = {
            "users_low": own.users_low,
            "users_high": own.users_high,
            "capacity_rps": own.capacity_rps,
            "capacity_se_rps": self.capacity_se_rps,
            "limit": own.limit,
            "soft": own.soft if knee else None,
            "provisional": own.provisional if knee else None,
            "since_s": own.since_s,
            "until_s": own.until_s,
            "verification": own.verification.state if own.verification is not None else None,
            "peak_users": peak.users if peak is not None else None,
            "peak_rps": peak.goodput_rps if peak is not None else None,
            "peak_shape": peak.shape if peak is not None else None,
            "peak_fall_ratio": peak.fall_ratio if peak is not None else None,
            **own.evidence.figures(),
        }
        return {name: value for name, value in named.items() if value is not None}


class Knee(CurveFinding, frozen=True, kw_only=True, tag="knee"):
    """The user count at which the low-load line meets the capacity line."""


class AtOrBelow(CurveFinding, frozen=True, kw_only=True, tag="at_or_below"):
    """A knee at or below the lowest level."""


class Bend(CurveFinding, frozen=True, kw_only=True, tag="bend"):
    """Goodput falls below the low-load line (linear scaling), but its maximum was not reached."""


class LatencyKnee(CurveFinding, frozen=True, kw_only=True, tag="latency_knee"):
    """Latency rises and stays high."""


CURVE_FINDINGS: dict[str, type[Knee | AtOrBelow | Bend | LatencyKnee]] = {
    "knee": Knee, "at_or_below": AtOrBelow, "bend": Bend, "latency_knee": LatencyKnee,
}  # fmt: skip
"""Classes of findings by the kind of the verdict; a `no_knee` verdict makes no finding."""
