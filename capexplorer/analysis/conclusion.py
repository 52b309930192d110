"""From the findings of an epoch to its Conclusion: the clauses and their order.

Precedence: critical causes of the generator, its host and the network (the results then do not describe the service); the knee
with its bottleneck; failures; a bottleneck without a knee; the users' think time; leaks; users too new for a curve; the curve
alone. Only marked findings appear. If other processes disturbed levels, that clause comes first, unless a knee was found without
these levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..model.conclusions import (
    Clause,
    Conclusion,
    CpuUsedByOthers,
    HoldLevels,
    KneeFound,
    NoKneeYet,
    PartsNotRead,
    RatesFound,
    RequestsFailed,
    RunInvalid,
    TargetDied,
    UsersTooNew,
)
from ..model.events import Mark
from ..model.findings import Bottleneck
from ..model.rate_verdicts import RateCapacity
from ..model.timeline import Timeline
from ..model.verdicts import KneeVerdict
from . import conclusion_clauses as clauses
from .causes.catalogue import DEATHS, REFUSALS
from .epoch_view import EpochView, epochs
from .failed_requests import failed_requests, requests_failed
from .new_users import levels_too_short, partly_counted, users_not_warm
from .superseding import most_users


def conclude(timeline: Timeline, epoch: int | None) -> Conclusion:
    """The conclusion about an epoch. `epoch` is None where no detector ran: then it is about all levels together.

    Costs one pass over the marks, and one over journal and levels for each cause that invalidates the run.
    """
    view = EpochView(timeline, epoch)
    found = next(_candidates(view), None) or _curve_alone(view)
    if found.invalid:
        return found
    added = tuple(_added(view, found))
    is_blind = found.severity == "info" and any(isinstance(each, PartsNotRead) for each in added)
    found = replace(found, clauses=(*found.clauses, *added), severity="warning" if is_blind else found.severity)
    disturbed = clauses.cpu_used_by_others(view)
    return found if disturbed is None else _with_disturbance(found, disturbed)


def _curve_alone(view: EpochView) -> Conclusion:
    alone = clauses.curve_alone(view)
    return Conclusion((alone, *_endpoint_of(view, alone)))


def _endpoint_of(view: EpochView, curve: Clause) -> tuple[Clause, ...]:
    """The endpoint that degrades first, after a verdict on offered rates."""
    return clauses.first_endpoint(view, at_rates=True) if isinstance(curve, RatesFound) else ()


def _with_disturbance(found: Conclusion, disturbed: CpuUsedByOthers) -> Conclusion:
    """The conclusion with the clause about other processes on the machine: last where a knee was found, else first."""
    first = found.clauses[0]
    is_knee = isinstance(first, KneeFound) and first.capacity.knee is not None and first.capacity.knee.kind == "knee"
    ordered = (*found.clauses, disturbed) if is_knee else (disturbed, *found.clauses)
    is_left_out = bool(disturbed.left_out_users or disturbed.left_out_per_s)
    severity = "warning" if found.severity == "info" and is_left_out else found.severity
    return replace(found, clauses=ordered, severity=severity)


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
    failed = [failure for failure in failed_requests(view) if failure.mark not in named]
    further = tuple(deaths)[:1] or _first_and_most(failed) or clauses.first_leak(view)
    marked = bool(blamed or further)
    knee = KneeFound(view.capacity, tuple(blamed))
    added = (*clauses.first_endpoint(view, at_rates=False), *_first_of(clauses.judged_rates(view)), *further)
    yield Conclusion((knee, *added), "warning" if marked else "info", marked)


def _rates(view: EpochView) -> Iterator[Conclusion]:
    """The capacity as a rate, if it or an upper bound of it was found. Replies that refuse requests beyond the capacity are not
    failures of their own.
    """
    found = clauses.rates_found(view)
    known = found.rates.capacity if found is not None else None
    if found is None or known is None or known.kind not in ("capacity", "at_or_below"):
        return
    found = replace(found, blamed=_blamed_at_rates(view, known))
    refuses = known.overload is not None and known.overload.kind == "refuses"
    deaths = (TargetDied(mark) for mark in view.causes("target") if mark.id in DEATHS)
    failed = [failure for failure in failed_requests(view) if not (refuses and failure.mark.id in REFUSALS)]
    further = tuple(deaths)[:1] or _first_and_most(failed) or clauses.first_leak(view)
    marked = bool(found.blamed or further)
    yield Conclusion((found, *_endpoint_of(view, found), *further), "warning" if marked else "info", marked)


def _blamed_at_rates(view: EpochView, capacity: RateCapacity) -> tuple[Mark, ...]:
    """What limits the service at its capacity: at most two bottlenecks found at offered rates from its lower bound on."""
    beyond = (mark for mark in view.bottlenecks() if (mark.offered_per_s or 0.0) >= (capacity.low_per_s or 0.0))
    return tuple(mark for mark in beyond if mark.offered_per_s is not None)[:2]


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
    """The causes of failed requests, and what limits the service, which may be unrelated."""
    failures = list(failed_requests(view))
    if not failures:
        return
    first, named = failures[0], _first_and_most(failures)
    further = _first_of(clauses.service_limited(view), clauses.think_time_limit(view), clauses.curve(view))
    yield Conclusion((*named, *further, *clauses.first_leak(view)), first.mark.severity, marked=True)


def _first_and_most(failures: Sequence[RequestsFailed | TargetDied]) -> tuple[RequestsFailed | TargetDied, ...]:
    """The first cause of failed requests, and another one if that failed most requests."""
    if not failures:
        return ()
    first, most = failures[0], max(failures, key=lambda each: requests_failed(each.mark))
    return (first,) if most is first or isinstance(first, TargetDied) else (first, most)


def _bottleneck(view: EpochView) -> Iterator[Conclusion]:
    limited = clauses.service_limited(view)
    if limited is not None:
        curve = clauses.curve(view) or NoKneeYet()
        yield Conclusion((limited, curve, *_endpoint_of(view, curve), *clauses.first_leak(view)), "warning", marked=True)


def _waits(view: EpochView) -> Iterator[Conclusion]:
    waits, leak = clauses.think_time_limit(view), clauses.first_leak(view)
    if waits is not None:
        yield Conclusion((waits, clauses.curve(view) or NoKneeYet(), *leak), "warning" if leak else "info", marked=True)


def _leaks(view: EpochView) -> Iterator[Conclusion]:
    for leak in clauses.leaking(view):
        yield Conclusion((leak, *_first_of(clauses.curve(view))), "warning", marked=True)


def _too_new(view: EpochView) -> Iterator[Conclusion]:
    """Users were too new: used where the epoch has no capacity curve and no levels of offered rates."""
    new = [found for found in (partly_counted(view), users_not_warm(view)) if found is not None]
    short = levels_too_short(view)
    if (new or short) and view.rates is None and (view.capacity is None or view.capacity.curve is None):
        hold = (HoldLevels(),) if new else ()
        yield Conclusion((UsersTooNew(), *(() if short is None else (short,)), *new, *hold))


# -- parts of several conclusions


def _first_of(*found: Clause | None) -> tuple[Clause, ...]:
    return tuple(clause for clause in found if clause is not None)[:1]


def _added(view: EpochView, found: Conclusion) -> Iterator[Clause]:
    """Clauses added to every conclusion that is not "the run is invalid"."""
    partly = None if isinstance(found.clauses[0], UsersTooNew) else partly_counted(view)
    changed = clauses.service_changed(view, found.clauses)
    parts = clauses.parts_not_read(view), clauses.parts_show_less(view, found.clauses)
    added = (
        changed,
        clauses.stalled(view, changed),
        partly,
        clauses.figures_of_user_code(view),
        clauses.machine_shared(view),
        *parts,
    )
    yield from (clause for clause in added if clause is not None)
