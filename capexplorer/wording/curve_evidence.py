"""The evidence of a finding about the capacity curve, as sentences."""

from __future__ import annotations

from ..model.findings import CurveFinding
from ..model.verdicts import KneeEvidence, KneeVerdict
from . import numbers, quantities


def curve_evidence(finding: CurveFinding) -> str:
    """`at low load each user makes 2.69/s (3 levels); at the highest level goodput is 50% of linear scaling`; empty if nothing
    was measured.
    """
    found, seen = finding.verdict, finding.verdict.evidence
    clauses = (
        _low_load(seen),
        _slower(seen),
        _top(seen),
        _around(seen),
        _second(seen),
        _latency(seen),
        _failures(seen),
        _time(seen),
        _late(seen),
        _peak(found),
    )
    return "; ".join(each for each in clauses if each)


def _low_load(seen: KneeEvidence) -> str:
    if seen.low_load_rps_per_user is None:
        return ""
    levels = f" ({_levels(seen.baseline_levels)})" if seen.baseline_levels else ""
    return f"at low load each user makes {quantities.rate(seen.low_load_rps_per_user)}{levels}"


def _slower(seen: KneeEvidence) -> str:
    if not seen.slower_levels:
        return ""
    return f"{_levels(seen.slower_levels)} with fewer users left out, where the service was slower, as during a warm-up"


def _top(seen: KneeEvidence) -> str:
    if seen.top_efficiency is None:
        return ""
    words = f"at the highest level goodput is {seen.top_efficiency:.0%} of linear scaling"
    if seen.top_slope is None:
        return words
    if seen.top_slope <= 0:
        return f"{words}, and more users do not raise it"
    return f"{words}, and an additional user adds {seen.top_slope:.0%} of what one adds at low load"


def _around(seen: KneeEvidence) -> str:
    if seen.levels_below is None or seen.levels_beyond is None:
        return ""
    width = f" (interval ±{seen.half_width_ratio:.0%})" if seen.half_width_ratio is not None else ""
    lie = "lies" if seen.levels_below == 1 else "lie"
    return f"{_levels(seen.levels_below)} {lie} below the knee and {seen.levels_beyond} above it{width}"


def _second(seen: KneeEvidence) -> str:
    users = seen.second_detector_users
    return f"a second method finds the knee at {numbers.counted(users)}" if users is not None else ""


def _latency(seen: KneeEvidence) -> str:
    if seen.latency_ms is not None and seen.low_load_latency_ms is not None:
        was, now = quantities.latency(seen.low_load_latency_ms), quantities.latency(seen.latency_ms)
        return f"mean latency rises from {was} at low load to {now}"
    if seen.response_ratio is None:
        return ""
    return f"responses take {numbers.number(seen.response_ratio)} times as long as at low load"


def _failures(seen: KneeEvidence) -> str:
    if not seen.failure_ratio_more or seen.failure_ratio_more < 0:
        return ""
    more = f"beyond the knee {numbers.percent(seen.failure_ratio_more)} more requests fail than at low load"
    replied = seen.failures_replied_ratio
    return more if replied is None else f"{more}; {numbers.percent(replied)} of the failures have an HTTP status"


def _time(seen: KneeEvidence) -> str:
    """The share of the users' time that Little's law explains."""
    if seen.unaccounted_ratio is not None:
        lost = 1 - 1 / seen.unaccounted_ratio
        return f"neither responses nor think time account for {lost:.0%} of the users' time (Little's law)"
    if seen.little_ratio is None:
        return ""
    return f"responses and think time account for {1 / seen.little_ratio:.0%} of the users' time (Little's law)"


def _late(seen: KneeEvidence) -> str:
    if seen.work_lag_ratio:
        return f"{numbers.percent(seen.work_lag_ratio)} of the accepted work is not finished"
    return f"the generator's timers are {quantities.latency(seen.loop_lag_ms)} late" if seen.loop_lag_ms is not None else ""


def _peak(found: KneeVerdict) -> str:
    if found.peak is None:
        return ""
    rate, at = quantities.rate(found.peak.goodput_rps), numbers.counted(found.peak.users)
    return f"goodput peaks at {rate} with {at} and falls by {found.peak.fall_ratio:.0%} beyond"


def _levels(count: int | None) -> str:
    return f"{count} level{'s' * (count != 1)}"
