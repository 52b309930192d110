"""From a knee, or a capacity as a rate, to what is set in production: the load to operate at, and settings for it.

A figure that does not follow from what was measured is None. At a load that was not measured, figures are those of the chord
between the measured loads beside it: goodput is a concave function of load, and latency a convex one, so a chord promises less
goodput and more latency than the service has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from ..model.catalogue import where
from ..model.events import Verdict
from ..model.findings import Bottleneck
from ..model.histogram import LatencyHistogram
from ..model.intervals import Z90
from ..model.level import Level, histogram_of
from ..model.load import Load, Rate, Users
from ..model.recommended import Estimate, OperatingLoad, Recommended
from ..model.requirements import CapacityRequired
from ..model.slice import batch_error
from ..model.timeline import Timeline, params_of
from ..model.verdicts import RateObjective, SloVerdict
from .epoch_view import EpochView
from .requirements import QUEUE_EFFECT, effect_of
from .statistics import LOST_LEAST, NONE_EXPECTED_MOST, RELEVANT, wilson

OPERATING_SHARE = 0.8
"""Share of the lower end of the interval of the knee, or of the capacity as a rate, that is recommended: waits grow steeply above
it. Of 74 loads of simulated services (`python -m lab.population operate`, seeds from 14,000 on) the promised goodput held for ten
minutes in 57 of 58, the p95 in 58 of 61."""

MEASURED_SHARE = 0.85
"""A measured load of this share of the greatest one allowed is recommended in its place, since its figures are known. The soak
that verifies a knee, at 70% of it, is one if the interval's lower end is above 88% of the knee."""

STUDENT_90 = 2.02
"""Half of a 90% interval in standard errors from six batch means (Student's t, five degrees of freedom)."""


SAME = 0.02
"""Relative difference up to which goodput is the rate of successes, and counts requests."""

TAILS = (0.999, 0.99)
"""Quantiles of which a timeout is derived."""

SLOTS_MAY_BE_LIMIT = ("worker_pool_exhausted", "lock_or_pool_limit")
WORKERS_ARE_LIMIT = ("worker_pool_exhausted",)
PROCESSES_ARE_LIMIT = ("gil_bound", "single_thread_cpu_saturated")
CPU_IS_LIMIT = ("target_cpu_saturated", "cpu_throttled", *PROCESSES_ARE_LIMIT)
"""Ids of bottlenecks."""


def recommended(timeline: Timeline, epoch: int) -> tuple[Recommended, ...]:
    """By the knee, then by the capacity as a rate. Empty: neither was found, or is contradicted, or an objective is met at no
    load.
    """
    view = EpochView(timeline, epoch)
    if view.verdict is None:
        return ()
    found = (_of_users(view, view.verdict), _of_rates(view, view.verdict))
    return tuple(_settings(view, view.verdict, *each) for each in found if each is not None)


def operating_load(view: EpochView, kind: type[Load]) -> OperatingLoad | None:
    """The load to operate at, by the knee or by the capacity as a rate; None as of `recommended`."""
    if view.verdict is None:
        return None
    found = _of_users(view, view.verdict) if kind is Users else _of_rates(view, view.verdict)
    return found[0] if found is not None else None


# -- measured loads


class _Curve(msgspec.Struct, frozen=True):
    """The measured loads in ascending order, of each the level with most settled seconds."""

    levels: tuple[Level, ...]

    @classmethod
    def of(cls, levels: Sequence[Level]) -> _Curve:
        longest: dict[float, Level] = {}
        for level in levels:
            known = longest.get(level.load.amount)
            if known is None or level.figures.settled_seconds > known.figures.settled_seconds:
                longest[level.load.amount] = level
        return cls(tuple(longest[load] for load in sorted(longest)))

    def beside(self, load: float) -> tuple[Level | None, Level | None]:
        """The levels of the nearest loads at or below, and at or above."""
        below = [level for level in self.levels if level.load.amount <= load]
        above = [level for level in self.levels if level.load.amount >= load]
        return below[-1] if below else None, above[0] if above else None

    def chord(self, load: float, figure: Callable[[Level], float | None]) -> float | None:
        """A figure between levels; at no load it is 0."""
        below, above = self.beside(load)
        high = figure(above) if above is not None else None
        low = 0.0 if below is None else figure(below)
        if low is None or high is None or above is None:
            return None
        return low + (high - low) * _between(load, below, above)


def _between(load: float, below: Level | None, above: Level) -> float:
    """Where a load is between two levels: 0 to 1."""
    least = 0.0 if below is None else below.load.amount
    width = above.load.amount - least
    return (load - least) / width if width else 1.0


def _counted(view: EpochView, kind: type[Load]) -> Iterator[Level]:
    """Settled levels of the service that the verdict is about, without ramps. A return from overload is among them, as the soak
    is that verifies a knee, but no rate in which a backlog is worked off.
    """
    for level in view.loaded():
        is_counted = isinstance(level.load, kind) and not level.opened.ramp and view.use(level).why in (None, "recovery")
        if is_counted and not _works_off(level):
            yield level


def _works_off(level: Level) -> bool:
    """Whether iterations in flight became more, or fewer, in a level of a rate, by more than a small share of those planned."""
    offered = level.figures.offered
    if offered is None:
        return False
    return abs(offered.in_flight - offered.in_flight_before) > max(LOST_LEAST * offered.planned, NONE_EXPECTED_MOST)


# -- the operating load


def _of_users(view: EpochView, verdict: Verdict) -> tuple[OperatingLoad, _Curve] | None:
    knee = verdict.capacity.knee
    if knee is None or knee.kind != "knee" or knee.users_low is None:
        return None
    state = knee.verification.state if knee.verification is not None else "provisional"
    most = _most(knee.users_low, [(each, each.users_low or each.users) for each in verdict.slo])
    if most is None or state == "contradicted" or int(most[0]) < 1:
        return None
    curve = _Curve.of(list(_counted(view, Users)))
    users, objective = int(most[0]), most[1]
    level = _measured(curve, users)
    found = OperatingLoad(
        load=Users(users) if level is None else level.load,
        objective=objective,
        verified=state == "verified",
        generator_limited=knee.limit == "generator",
    )
    return _with_figures(found, curve, level), curve


def _of_rates(view: EpochView, verdict: Verdict) -> tuple[OperatingLoad, _Curve] | None:
    rates = verdict.rates
    capacity = rates.capacity if rates is not None else None
    if rates is None or capacity is None or capacity.kind != "capacity" or capacity.low_per_s is None:
        return None
    most = _most(capacity.low_per_s, [(each, each.low_per_s or each.per_s) for each in rates.objectives])
    if most is None or most[0] <= 0:
        return None
    kept = {each.level for each in rates.levels if each.state == "kept"}
    curve = _Curve.of([level for level in _counted(view, Rate) if level.opened.index in kept])
    level = _measured(curve, most[0])
    found = OperatingLoad(
        load=Rate(_three_digits_below(most[0])) if level is None else level.load,
        objective=most[1],
        generator_limited=capacity.limit == "generator",
    )
    return _with_figures(found, curve, level), curve


def _three_digits_below(value: float) -> float:
    """The greatest value of three digits that is not above one above 0."""
    decimals = 2 - math.floor(math.log10(value))
    return round(math.floor(value * 10.0**decimals) / 10.0**decimals, 12)


def _most(
    low: float, objectives: Sequence[tuple[SloVerdict | RateObjective, float | None]]
) -> tuple[float, SloVerdict | RateObjective | None] | None:
    """(the greatest load, the objective that needs it to be so low): a share of `low`, or less if an objective needs that."""
    if any(each.state == "broken" for each, _ in objectives):
        return None
    most: tuple[float, SloVerdict | RateObjective | None] = OPERATING_SHARE * low, None
    for each, load in objectives:
        if each.state == "crossed" and load and load < most[0]:
            most = load, each
    return most


def _measured(curve: _Curve, most: float) -> Level | None:
    """The level to recommend in place of the greatest load: of those near it, the longest."""
    near = [level for level in curve.levels if MEASURED_SHARE * most <= level.load.amount <= most]
    return max(near, key=lambda level: (level.figures.settled_seconds, level.load.amount), default=None)


def _with_figures(found: OperatingLoad, curve: _Curve, level: Level | None) -> OperatingLoad:
    if level is not None:
        return msgspec.structs.replace(
            found,
            measured=True,
            goodput_per_s=_goodput(level),
            p95_ms=_p95(level, curve),
            failure_ratio=level.figures.failure_ratio,
        )
    below, above = curve.beside(found.load.amount)
    if above is None:
        return found
    at = _between(found.load.amount, below, above)
    failures = [level.figures.failure_ratio for level in (below, above) if level is not None]
    return msgspec.structs.replace(
        found,
        goodput_per_s=_goodput_between(below, above, at),
        p95_ms=_p95_between(curve, below, above, at),
        failure_ratio=max((each for each in failures if each is not None), default=None),
    )


def _p95(level: Level, curve: _Curve) -> Estimate | None:
    """Its upper end is that of the level's replies; if these are too few, it is the p95 of the next load, which is not lower."""
    own = _latency(level, 0.95)
    _, above = curve.beside(math.nextafter(level.load.amount, math.inf))
    most = _latency(above, 0.95) if above is not None else None
    if above is None or own is None or own.high is not None or most is None:
        return own
    least_ms, most_ms = own.value * (1 + _error_ratio(level)), most.value * (1 + _error_ratio(above))
    return msgspec.structs.replace(own, high=max(least_ms, most_ms if most.high is None else most.high))


def _error_ratio(level: Level) -> float:
    """Half of the 90% interval of the mean latency, relative to it."""
    mean_ms, error_ms = level.figures.latency_ms.mean, level.figures.latency_se_ms
    return STUDENT_90 * error_ms / mean_ms if mean_ms and error_ms is not None else 0.0


def _goodput_between(below: Level | None, above: Level, at: float) -> Estimate | None:
    """That of the chord."""
    low, high = Estimate(value=0.0, low=0.0, high=0.0) if below is None else _goodput(below), _goodput(above)
    if low is None or high is None:
        return None
    return Estimate(
        value=_on(at, low.value, high.value),
        low=None if low.low is None or high.low is None else _on(at, low.low, high.low),
        high=None if low.high is None or high.high is None else _on(at, low.high, high.high),
    )


def _p95_between(curve: _Curve, below: Level | None, above: Level, at: float) -> Estimate | None:
    """From that at the lower load to the chord, which is the value."""
    high, low = _p95(above, curve), None if below is None else _p95(below, curve)
    if high is None or low is None:
        return None
    upper = None if high.high is None or low.high is None else _on(at, low.high, high.high)
    return Estimate(value=_on(at, low.value, high.value), low=low.low, high=upper)


def _on(at: float, low: float, high: float) -> float:
    return low + at * (high - low)


def _goodput(level: Level) -> Estimate | None:
    """Of successes, or of iterations at a rate."""
    offered = level.figures.offered
    if isinstance(level.load, Users):
        value, error = level.figures.goodput_rps, level.figures.goodput_se_rps
    else:
        value, error = (offered.finished_per_s, offered.finished_se_per_s) if offered is not None else (None, None)
    return None if value is None else _with_error(value, error)


def _with_error(value: float, error: float | None, errors: float = STUDENT_90) -> Estimate:
    if error is None:
        return Estimate(value=value)
    return Estimate(value=value, low=max(0.0, value - errors * error), high=value + errors * error)


def _latency(level: Level, quantile: float) -> Estimate | None:
    """A quantile of latency with its interval by ranks: the bounds of the share (Wilson) among as many replies as would be
    independent. Slow replies come in clusters, as for requirements. An end that no reply lies beyond is None. None without
    replies.
    """
    histogram, count = level.histogram, level.histogram.count
    value = histogram.percentile_ms(quantile)
    if value is None:
        return _recorded(level, quantile)
    in_flight = count / level.figures.settled_seconds * value / 1000 if level.figures.settled_seconds else 0.0
    effect = effect_of(_seen_effect(level, histogram), (1 - quantile) * count, QUEUE_EFFECT * (1 + in_flight))
    low, high = wilson(quantile, max(1, int(count / effect)))
    least, most = histogram.percentiles_ms((low, high))
    return Estimate(value=value, low=least, high=most if (1 - high) * count >= effect else None)


def _recorded(level: Level, quantile: float) -> Estimate | None:
    """The p95 of a log without histograms."""
    offered = level.figures.offered
    found = level.figures.latency_ms if offered is None else offered.from_plan_ms
    return Estimate(value=found.p95) if quantile == 0.95 and found.p95 is not None else None


def _seen_effect(level: Level, histogram: LatencyHistogram) -> float:
    """How many times greater the variance of the mean latency may be than that of independent replies; it is known from six
    batches alone.
    """
    error_ms = level.figures.latency_se_ms
    if error_ms is None:
        return 1.0
    if isinstance(level.load, Rate):  # the error is that of its requests
        histogram = histogram_of(msgspec.structs.replace(level.figures, offered=None), level.endpoints)
    variance_ms2 = (error_ms * STUDENT_90 / Z90) ** 2 * histogram.count
    return max(1.0, variance_ms2 / histogram.variance_ms2) if histogram.variance_ms2 else 1.0


# -- what follows from it


def _settings(view: EpochView, verdict: Verdict, operating: OperatingLoad, curve: _Curve) -> Recommended:
    found: dict[str, Any] = {"rate_limit_per_s": operating.goodput_per_s, **_timeout(operating, curve)}
    limits = [mark.finding for mark in view.bottlenecks() if isinstance(mark.finding, Bottleneck)]
    is_own = not limits or (limits[0].part is None and where(limits[0].name) in ("target", "host"))
    limit = limits[0].name if limits and is_own else None
    if is_own and not operating.generator_limited:
        found |= _replicas(view, operating)
        found |= _cpu_target(operating, curve) if limit in CPU_IS_LIMIT else {}
        found |= _of_capacity(view, verdict, operating, curve, limit) if limit != "rate_limit" else {}
    return Recommended(epoch=verdict.epoch, operating=operating, **found)


def _of_capacity(view: EpochView, verdict: Verdict, operating: OperatingLoad, curve: _Curve, limit: str | None) -> dict[str, Any]:
    """Requests in flight, those that are worked on at once, the next limit, and how many workers reach it. Empty where goodput
    does not count requests, but other work, or tasks of several requests.
    """
    if not _counts_requests(curve):
        return {}
    found: dict[str, Any] = {"in_flight": _in_flight(verdict, operating, curve)}
    capacity, alone_s = _capacity(verdict, operating), _alone_s(operating, curve)
    if capacity is None or alone_s is None:
        return found
    found["busy"] = at_once = capacity.by(alone_s)
    if limit in SLOTS_MAY_BE_LIMIT:
        found["parameter"] = _parameter(view, at_once)
    if limit == "host_cpu_saturated" or limit in CPU_IS_LIMIT and limit not in PROCESSES_ARE_LIMIT:
        return found
    full_per_s = _cpu_full(view, curve)
    if full_per_s is None or (full_per_s.low or full_per_s.value) <= (capacity.high or capacity.value):
        return found
    found["next_limit_per_s"] = full_per_s
    if limit in PROCESSES_ARE_LIMIT:
        found |= {"workers": full_per_s.over(capacity), "by_process": True}
    elif limit in WORKERS_ARE_LIMIT:
        found["workers"] = full_per_s.by(alone_s)
    return found


def _parameter(view: EpochView, at_once: Estimate) -> str | None:
    """The only parameter of the target that is as many as the requests that are worked on at once, to a whole number. One fits a
    lock as well.
    """
    params = params_of(view.timeline, view.epoch) if view.epoch is not None else {}
    least, most = (round(at_once.value if end is None else end) for end in (at_once.low, at_once.high))
    found = [name for name, value in params.items() if type(value) is int and value > 1 and least <= value <= most]
    marks = (mark.finding for mark in view.marks if isinstance(mark.finding, Bottleneck) and mark.finding.left)
    if any("pool" not in finding.left or set(found) & set(finding.without_effect) for finding in marks):
        return None  # experiments rule it out
    return found[0] if len(found) == 1 else None


def _timeout(operating: OperatingLoad, curve: _Curve) -> dict[str, Any]:
    """The greatest of TAILS that the replies of the operating load's level suffice for."""
    for level in curve.levels:
        for quantile in TAILS if operating.measured and level.load == operating.load else ():
            found = _latency(level, quantile)
            if found is not None and found.high is not None:
                return {"timeout_ms": found, "timeout_quantile": quantile}
    return {}


def _in_flight(verdict: Verdict, operating: OperatingLoad, curve: _Curve) -> Estimate | None:
    """At the knee, and at the ends of its interval; None for rates, whose requests in flight grow without bound beyond it."""
    knee = verdict.capacity.knee
    if not isinstance(operating.load, Users) or knee is None:
        return None
    value, low, high = (
        None if users is None else curve.chord(users, _mean_in_flight) for users in (knee.users, knee.users_low, knee.users_high)
    )
    return None if value is None else Estimate(value=value, low=low, high=high)


def _mean_in_flight(level: Level) -> float | None:
    per_s, took_ms = level.figures.throughput_rps, level.figures.response_ms
    return None if per_s is None or took_ms is None else per_s * took_ms / 1000


def _replicas(view: EpochView, operating: OperatingLoad) -> dict[str, Any]:
    required = [each.required for each in view.timeline.answers]
    wanted = [each.per_s for each in required if isinstance(each, CapacityRequired)]
    carried = operating.goodput_per_s
    least = 0.0 if carried is None else carried.value if carried.low is None else carried.low
    return {"replicas": math.ceil(max(wanted) / least), "wanted_per_s": max(wanted)} if wanted and least > 0 else {}


def _cpu_target(operating: OperatingLoad, curve: _Curve) -> dict[str, Any]:
    """The interval is that of goodput, with which CPU grows in proportion."""
    cores = max((level.figures.target_cpu_ratio or 0.0 for level in curve.levels), default=0.0)
    used = curve.chord(operating.load.amount, lambda level: level.figures.target_cpu_ratio)
    carried = operating.goodput_per_s
    if used is None or not 0 < used < cores or carried is None or carried.value <= 0:
        return {}
    return {"cpu_target_ratio": carried.times(used / cores / carried.value), "cpu_cores": cores}


def _capacity(verdict: Verdict, operating: OperatingLoad) -> Estimate | None:
    """Goodput at the knee, or the capacity as a rate."""
    if isinstance(operating.load, Rate):
        found = verdict.rates.capacity if verdict.rates is not None else None
        return None if found is None else Estimate(value=found.per_s, low=found.low_per_s, high=found.high_per_s)
    fit = verdict.capacity.curve
    if fit is None or fit.capacity_rps is None:
        return None
    return _with_error(fit.capacity_rps, fit.capacity_se_rps, Z90)


def _counts_requests(curve: _Curve) -> bool:
    """Whether goodput is the rate of successes, at the lowest load."""
    carried = _goodput(curve.levels[0]) if curve.levels else None
    per_s = curve.levels[0].figures.throughput_rps if curve.levels else None
    if carried is None or per_s is None:
        return False
    return abs(carried.value - per_s * (1 - (curve.levels[0].figures.failure_ratio or 0.0))) <= SAME * per_s


def _alone_s(operating: OperatingLoad, curve: _Curve) -> Estimate | None:
    """Mean response time at the lowest load that has an error, if requests hardly wait there: it is the lowest of all, or at most
    RELEVANT of the operating load.
    """
    most = max(RELEVANT * operating.load.amount, curve.levels[0].load.amount)
    for figures in (level.figures for level in curve.levels if level.load.amount <= most):
        mean_ms, error_ms = figures.latency_ms.mean, figures.latency_se_ms
        if mean_ms is not None and error_ms is not None:
            return _with_error(mean_ms / 1000, error_ms / 1000)
    return None


def _cpu_full(view: EpochView, curve: _Curve) -> Estimate | None:
    """The goodput at which the service would use all cores that it may use, by its CPU for each request at the greatest goodput.
    None: not measured, those cores are not known, or it used less than RELEVANT of them, from which that is too far.
    """
    timeline, header = view.timeline, view.timeline.header
    if header is None or header.host.cpus is None or not curve.levels:
        return None
    level = max(curve.levels, key=lambda each: each.figures.goodput_rps or 0.0)
    readings, carried = level.figures.readings, _goodput(level)
    seconds = [(timeline.columns["target_cpu_ratio"][tick], 1.0) for tick in timeline.seconds_of(level)]
    known = [each for each in seconds if not math.isnan(each[0])]
    if not known or carried is None or "target.throttled_ratio" in readings:  # a quota, whose size is not read
        return None
    machine = float(header.host.cpus)
    cores = min(machine, readings.get("target.cpus_allowed", machine), header.host.cgroup_cpus or machine)
    used = math.fsum(cpu for cpu, _ in known) / len(known)
    return carried.over(_with_error(used, batch_error(known))).times(cores) if used >= RELEVANT * cores else None
