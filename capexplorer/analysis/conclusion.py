"""From the findings of an epoch to its Conclusion: the clauses and their order.

Precedence: critical causes of the generator, its host and the network (the results then do not describe the service); the knee
with its bottleneck; failures; a bottleneck without a knee; the users' think time; leaks; users too new for a curve; the curve
alone. Only marked findings appear. If other processes disturbed levels, that clause comes first, unless a knee was found without
these levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..model.conclusions import (
    Clause,
    Conclusion,
    CpuUsedByOthers,
    CurveAlone,
    EndpointDegrades,
    HoldLevels,
    KneeFound,
    Leaking,
    MachineShared,
    NoKneeUpTo,
    NoKneeYet,
    NotJudged,
    RatesFound,
    RunInvalid,
    ServiceChanged,
    ServiceLimited,
    TargetDied,
    ThinkTimeLimit,
    UsersTooNew,
)
from ..model.events import Mark
from ..model.findings import Bottleneck, Leak
from ..model.rate_verdicts import RateCapacity
from ..model.timeline import Timeline
from ..model.verdicts import KneeVerdict
from .causes.catalogue import DEATHS, REFUSALS
from .causes.generator_saturation import others_cpu
from .causes.saturation_grounds import OTHERS_LEAST
from .epoch_view import EpochView, epochs
from .failed_requests import failed_requests
from .new_users import partly_counted, users_not_warm
from .superseding import most_users


def conclude(timeline: Timeline, epoch: int | None) -> Conclusion:
    """The conclusion about an epoch. `epoch` is None where no detector ran: then it is about all levels together.

    Costs one pass over the marks, and one over journal and levels for each cause that invalidates the run.
    """
    view = EpochView(timeline, epoch)
    found = next(_candidates(view), None) or Conclusion((_curve_alone(view),))
    if found.invalid:
        return found
    found = replace(found, clauses=(*found.clauses, *_added(view, found)))
    disturbed = _cpu_used_by_others(view)
    return found if disturbed is None else _with_disturbance(found, disturbed)


def _with_disturbance(found: Conclusion, disturbed: CpuUsedByOthers) -> Conclusion:
    """The conclusion with the clause about other processes on the machine: last where a knee was found, else first."""
    first = found.clauses[0]
    is_knee = isinstance(first, KneeFound) and first.capacity.knee is not None and first.capacity.knee.kind == "knee"
    clauses = (*found.clauses, disturbed) if is_knee else (disturbed, *found.clauses)
    is_left_out = bool(disturbed.left_out_users or disturbed.left_out_per_s)
    severity = "warning" if found.severity == "info" and is_left_out else found.severity
    return replace(found, clauses=clauses, severity=severity)


def epochs_with_findings(timeline: Timeline) -> list[int]:
    """Ascending."""
    marked = {mark.epoch for mark in timeline.marks.values() if mark.state != "retracted"}
    return [epoch for epoch in epochs(timeline) if epoch in timeline.verdicts or epoch in marked]


def _candidates(view: EpochView) -> Iterator[Conclusion]:
    """Possible conclusions in order of precedence: the first one is the conclusion."""
    yield from _invalid(view)
    yield from _knee(view)
    yield from _rates(view)
    yield from _failing(view)
    yield from _bottleneck(view)
    yield from _waits(view)
    yield from _leaks(view)
    yield from _too_new(view)


# -- the generator, its host, the network to the service


def _invalid(view: EpochView) -> Iterator[Conclusion]:
    invalid, found = view.invalid, view.knee
    if invalid is None:
        return
    below = found if found is not None and found.kind == "knee" and found.limit != "generator" else None
    rates = view.rates.capacity if view.rates is not None else None
    clean_per_s = rates.kept_per_s if rates is not None else None
    yield Conclusion((RunInvalid(invalid.first, invalid.clean_users, below, clean_per_s),), "critical", marked=True)


# -- the service


def _knee(view: EpochView) -> Iterator[Conclusion]:
    found = view.knee
    if view.capacity is None or found is None or found.kind not in ("knee", "at_or_below"):
        return
    blamed = _blamed_for(view, found)
    deaths = (TargetDied(mark) for mark in view.causes("target") if mark.id in DEATHS)
    refused = any(isinstance(mark.finding, Bottleneck) and mark.finding.readings.get("how") == "refuses" for mark in blamed)
    named = (*blamed, *(mark for mark in view.causes("target") if refused and mark.id in REFUSALS))
    failed = (failure for failure in failed_requests(view) if failure.mark not in named)
    further = next(((clause,) for clause in (*deaths, *failed, *_leaking(view))), ())
    marked = bool(blamed or further)
    clauses = (KneeFound(view.capacity, tuple(blamed)), *_first_endpoint(view), *_first_of(_judged_rates(view)), *further)
    yield Conclusion(clauses, "warning" if marked else "info", marked)


def _rates(view: EpochView) -> Iterator[Conclusion]:
    """The capacity as a rate, if it or an upper bound of it was found. Replies that refuse requests beyond the capacity are not
    failures of their own.
    """
    found = _rates_found(view)
    known = found.rates.capacity if found is not None else None
    if found is None or known is None or known.kind not in ("capacity", "at_or_below"):
        return
    found = replace(found, blamed=_blamed_at_rates(view, known))
    refuses = known.overload is not None and known.overload.kind == "refuses"
    deaths = (TargetDied(mark) for mark in view.causes("target") if mark.id in DEATHS)
    failed = (failure for failure in failed_requests(view) if not (refuses and failure.mark.id in REFUSALS))
    further = next(((clause,) for clause in (*deaths, *failed, *_leaking(view))), ())
    marked = bool(found.blamed or further)
    yield Conclusion((found, *further), "warning" if marked else "info", marked)


def _blamed_at_rates(view: EpochView, capacity: RateCapacity) -> tuple[Mark, ...]:
    """What limits the service at its capacity: at most two bottlenecks found at offered rates from its lower bound on."""
    beyond = (mark for mark in view.bottlenecks() if (mark.offered_per_s or 0.0) >= (capacity.low_per_s or 0.0))
    return tuple(mark for mark in beyond if mark.offered_per_s is not None)[:2]


def _judged_rates(view: EpochView) -> RatesFound | None:
    """The verdict on offered rates; None until a level has enough arrivals."""
    found = _rates_found(view)
    return found if found is not None and found.rates.capacity is not None else None


def _rates_found(view: EpochView) -> RatesFound | None:
    return RatesFound(view.rates) if view.rates is not None else None


def _first_endpoint(view: EpochView) -> tuple[EndpointDegrades, ...]:
    first = view.verdict.first_endpoint if view.verdict is not None else None
    return () if first is None else (EndpointDegrades(first),)


def _blamed_for(view: EpochView, found: KneeVerdict) -> list[Mark]:
    """What limits the service at the knee: at most two bottlenecks found at users within its interval or above; where
    errors are the limit and no bottleneck was found, the most severe cause in the target.
    """
    if found.limit == "generator":
        return []
    of_users = [mark for mark in view.bottlenecks() if mark.offered_per_s is None]
    bottlenecks = [mark for mark in of_users if most_users(mark) >= (found.users_low or 0)]
    if found.limit == "errors":
        bottlenecks = [mark for mark in bottlenecks if mark.id != "cpu_steal"]  # no status comes from the hypervisor
    if bottlenecks or found.limit != "errors":
        return bottlenecks[:2]
    return [mark for mark in view.causes("target") if mark.severity in ("critical", "error") or mark.id in REFUSALS][:1]


def _failing(view: EpochView) -> Iterator[Conclusion]:
    """The causes of failed requests, each followed by what limits the service, which may be unrelated."""
    for failure in failed_requests(view):
        further = _first_of(_limited(view), _waiting(view), _curve(view))
        yield Conclusion((failure, *further, *_first_leak(view)), failure.mark.severity, marked=True)


def _bottleneck(view: EpochView) -> Iterator[Conclusion]:
    limited = _limited(view)
    if limited is not None:
        yield Conclusion((limited, _curve(view) or NoKneeYet(), *_first_leak(view)), "warning", marked=True)


def _waits(view: EpochView) -> Iterator[Conclusion]:
    waits, leak = _waiting(view), _first_leak(view)
    if waits is not None:
        yield Conclusion((waits, _curve(view) or NoKneeYet(), *leak), "warning" if leak else "info", marked=True)


def _leaks(view: EpochView) -> Iterator[Conclusion]:
    for leak in _leaking(view):
        yield Conclusion((leak, *_first_of(_curve(view))), "warning", marked=True)


def _too_new(view: EpochView) -> Iterator[Conclusion]:
    """Users were too new: used where the epoch has no capacity curve and no levels of offered rates."""
    levels = [found for found in (partly_counted(view), users_not_warm(view)) if found is not None]
    if levels and view.rates is None and (view.capacity is None or view.capacity.curve is None):
        yield Conclusion((UsersTooNew(), *levels, HoldLevels()))


# -- clauses


def _first_of(*found: Clause | None) -> tuple[Clause, ...]:
    return tuple(clause for clause in found if clause is not None)[:1]


def _limited(view: EpochView) -> ServiceLimited | None:
    found = view.bottlenecks()[:2]
    if not found:
        return None
    at_rates = [mark.offered_per_s for mark in found if mark.offered_per_s is not None]
    return ServiceLimited(tuple(found), max(mark.users or 0 for mark in found), max(at_rates, default=None))


def _waiting(view: EpochView) -> ThinkTimeLimit | None:
    """Think time sets the throughput: the mark is open, or was closed and no level had more users. A step down closes it, but
    does not refute it.
    """
    most = max((level.users for level in view.settled()), default=0)
    found = (mark for mark in view.marks if mark.id == "think_time_limited" and mark.users)
    mark = next((mark for mark in found if mark.state != "closed" or (mark.users or 0) >= most), None)
    if mark is None:
        return None
    assert isinstance(mark.finding, Bottleneck)
    figures = next((level.figures for level in reversed(view.settled()) if level.users == mark.users), None)
    wait_s = mark.finding.reading("wait_s") or (figures.wait_s if figures else None)
    return ThinkTimeLimit(mark, wait_s, mark.finding.reading("throughput_rps") or (figures.throughput_rps if figures else None))


def _leaking(view: EpochView) -> Iterator[Leaking]:
    for mark in view.marks:
        if isinstance(mark.finding, Leak) and mark.severity != "info":
            yield Leaking(mark)


def _first_leak(view: EpochView) -> tuple[Leaking, ...]:
    return tuple(_leaking(view))[:1]


def _curve(view: EpochView) -> NoKneeUpTo | RatesFound | None:
    """How far users scale without a knee, else the verdict on offered rates; None until one of them can be judged."""
    found = view.knee
    return NoKneeUpTo(found) if found is not None and found.kind in ("no_knee", "bend") else _judged_rates(view)


def _curve_alone(view: EpochView) -> CurveAlone | RatesFound | NotJudged:
    found = _rates_found(view)
    if view.capacity is not None and (found is None or view.capacity.curve is not None):
        return CurveAlone(view.capacity)
    if found is not None:
        return found
    settled = [level for level in view.settled() if level.figures.goodput_rps is not None]
    best = max(settled, key=lambda level: level.figures.goodput_rps or 0.0, default=None)
    return NotJudged(len(settled), best)


def _added(view: EpochView, found: Conclusion) -> Iterator[Clause]:
    """Clauses added to every conclusion that is not "the run is invalid"."""
    partly = None if isinstance(found.clauses[0], UsersTooNew) else partly_counted(view)
    yield from (clause for clause in (_changed(view), partly, _shared(view)) if clause is not None)


def _changed(view: EpochView) -> ServiceChanged | None:
    at_users = view.verdict.regimes if view.verdict is not None else ()
    for regimes in (at_users, view.rates.regimes if view.rates is not None else ()):
        if any(each.began is not None for each in regimes):
            return ServiceChanged(regimes)
    return None


def _shared(view: EpochView) -> MachineShared | None:
    for mark in view.marks:
        share = mark.finding.reading("generator_share_ratio") if isinstance(mark.finding, Bottleneck) else None
        if share is not None:
            return MachineShared(mark.users, share, mark.offered_per_s)
    return None


def _cpu_used_by_others(view: EpochView) -> CpuUsedByOthers | None:
    """Figures of the level in which other processes used most CPU, among the levels left out if there are any.

    None if they used it only in a few seconds and no level is left out: then their mark, with its time, is enough.
    """
    left_out = view.left_out()
    levels = left_out or [level for level in view.disturbed() if (others_cpu(level.figures) or 0.0) >= OTHERS_LEAST]
    if not levels:
        return None
    worst = max(levels, key=lambda level: others_cpu(level.figures) or 0.0).figures
    cores = view.timeline.header.host.cpus if view.timeline.header is not None else None
    users = tuple(sorted({float(level.users) for level in left_out if level.users}))
    rates = tuple(sorted({level.offered_per_s for level in left_out if level.offered_per_s}))
    return CpuUsedByOthers(others_cpu(worst) or 0.0, cores, tuple(worst.other_processes), users, rates)
