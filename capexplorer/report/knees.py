"""The table of knees, capacities and objectives: the findings of each epoch's verdict with their intervals, as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from .. import wording
from ..model.events import Verdict
from ..model.intervals import Z95
from ..model.rate_verdicts import RateCapacity, RateObjective
from ..model.timeline import Timeline
from ..model.verdicts import KneeVerdict, SloVerdict
from ..wording import numbers

TITLES = ("found", "users", "90% interval", "goodput /s", "limit", "confidence")
"""Titles of the columns, of which the first and the last two have words."""


def lines(timeline: Timeline) -> list[tuple[str, ...]]:
    """One line per finding, epoch by epoch; empty if no detector has run."""
    found: list[tuple[str, ...]] = []
    for epoch, verdict in wording.reported(timeline).items():
        epoch_name = wording.epoch_name(timeline, epoch)
        found += [(f"{name}, {epoch_name}" if epoch_name else name, *cells) for name, *cells in _rows_of(verdict)]
    return found


def _rows_of(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    capacity = verdict.capacity
    if capacity.knee is not None:
        se_rps = capacity.curve.capacity_se_rps if capacity.curve is not None else None
        yield _knee(capacity.knee, None if se_rps is None else Z95 * se_rps)
        if capacity.knee.peak is not None:
            peak = capacity.knee.peak
            fall = f"goodput {wording.FALLS[peak.shape]} by {numbers.percent_in_full(peak.fall_ratio)}"
            yield (
                "peak",
                numbers.users_of_level(peak.users),
                numbers.MISSING,
                numbers.significant(peak.goodput_rps),
                fall,
                numbers.MISSING,
            )
    if capacity.latency_knee is not None:
        yield _knee(capacity.latency_knee, None)
    yield from map(_objective, verdict.slo)
    if verdict.rates is not None and verdict.rates.capacity is not None:
        yield _rate(verdict.rates.capacity)
    for each in verdict.rates.objectives if verdict.rates is not None else ():
        yield _rate_objective(each)


def _knee(knee: KneeVerdict, error_rps: float | None) -> tuple[str, ...]:
    sure = knee.confidence or numbers.MISSING
    interval = _interval(knee.users_low, knee.users_high) if knee.kind == "knee" else numbers.MISSING
    sentence = {"at_or_below": "at or below ", "no_knee": "none up to "}.get(knee.kind, "")
    return (
        "knee" if knee.kind in ("at_or_below", "no_knee") else wording.MARK_KINDS[knee.kind],
        sentence + numbers.users(knee.users),
        interval,
        numbers.MISSING if knee.capacity_rps is None else numbers.with_error(knee.capacity_rps, error_rps),
        (knee.limit or numbers.MISSING).replace("_", " ") if knee.kind in ("knee", "no_knee") else numbers.MISSING,
        ", ".join(filter(None, (sure, wording.verified(knee)))),
    )


def _objective(slo: SloVerdict) -> tuple[str, ...]:
    users = {"crossed": "", "kept": "at least ", "broken": "under "}[slo.state]
    at = slo.users_high if slo.state == "broken" else slo.users
    goodput = numbers.significant(slo.goodput_rps)
    few = "few values at its limit" if slo.thin else numbers.MISSING
    return (
        wording.objective_name(slo),
        users + numbers.users(at),
        _interval(slo.users_low, slo.users_high),
        goodput,
        numbers.MISSING,
        few,
    )


def _rate(found: RateCapacity) -> tuple[str, ...]:
    """The row of a capacity as a rate, which is in the column of goodput. If only a bound is known, words say which."""
    words = {"capacity": "", "departs": "above ", "at_or_below": "below ", "keeps_up": "at least "}[found.kind]
    at = found.kept_per_s if found.kind == "departs" else found.high_per_s if found.kind == "at_or_below" else found.per_s
    interval = numbers.MISSING
    if found.kind == "capacity" and found.low_per_s is not None and found.high_per_s is not None:
        interval = f"{numbers.significant(found.low_per_s)}–{numbers.significant(found.high_per_s)}"
    limit = (found.limit or numbers.MISSING).replace("_", " ")
    return (
        "capacity as a rate",
        numbers.MISSING,
        interval,
        words + numbers.significant(at),
        limit,
        found.confidence or numbers.MISSING,
    )


def _rate_objective(found: RateObjective) -> tuple[str, ...]:
    few = "few values at its limit" if found.thin else numbers.MISSING
    return wording.rate_objective(found), *[numbers.MISSING] * 4, few


def _interval(low: float | None, high: float | None) -> str:
    return numbers.MISSING if low is None or high is None else f"{numbers.users(low)}–{numbers.users(high)}"
