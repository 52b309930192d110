"""The findings of detectors: one struct for each kind. A `Mark` has one of them; `wording` has the sentences.

Every figure has one name: that of a field here, or a key of `readings`. `figures` returns all of them in one mapping, which
reports and exports show as evidence. None means "not known", never zero.
"""

from .blame import Blame, Bottleneck, Cause, Leak, Readings
from .curve_findings import CURVE_FINDINGS, AtOrBelow, Bend, CurveFinding, Knee, LatencyKnee
from .finding import Finding, MarkKind
from .level_findings import Recovered, RepliesChanged, Shift, StopRule
from .rate_findings import RateCapacityFinding, RateRecovered

AnyFinding = (
    Knee
    | AtOrBelow
    | Bend
    | LatencyKnee
    | RateCapacityFinding
    | RateRecovered
    | Shift
    | Recovered
    | StopRule
    | RepliesChanged
    | Cause
    | Bottleneck
    | Leak
)

__all__ = [
    "CURVE_FINDINGS", "AnyFinding", "AtOrBelow", "Bend", "Blame", "Bottleneck", "Cause", "CurveFinding", "Finding",
    "Knee", "LatencyKnee", "Leak", "MarkKind", "RateCapacityFinding", "RateRecovered", "Readings", "Recovered", "RepliesChanged",
    "Shift", "StopRule", "kind_of",
]  # fmt: skip


def kind_of(finding: Finding) -> MarkKind:
    """The finding's tag."""
    kind: MarkKind = type(finding).__struct_config__.tag  # type: ignore[assignment]
    return kind
