"""From the findings of an epoch to its Conclusion: the clauses and their order.

Precedence: critical causes of the generator, its host and the network (the results then do not describe the service); the knee
with its bottleneck; the capacity as an offered rate; failures; a bottleneck without a knee; the users' think time; leaks; users
too new for a curve; the curve alone. Only marked findings appear. If other processes disturbed levels, that clause comes first,
unless a knee was found without these levels.

Two lines of 80 columns show the first 140 characters: a knee or a capacity has its cause, the line of code and the load to stay
at there, then what stacks and experiments say of that cause, then the rest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from ..model.catalogue import COUNT_NO_REQUESTS, DEATHS, OF_USER_CODE, RAISED, REFUSALS, invalidates_run, where
from ..model.conclusions import (
    CapacityFound,
    Clause,
    Conclusion,
    CpuStolen,
    CpuUsedByOthers,
    DiskUsedByOthers,
    Explains,
    FiguresOfUserCode,
    Leaking,
    LevelsTooShort,
    MachineShared,
    NotJudged,
    PartsNotRead,
    PartsShowLess,
    RepliesDiffer,
    RequestsFailed,
    RunInvalid,
    ServiceChanged,
    ServiceLimited,
    ShortStall,
    TargetDied,
    ThinkTimeLimit,
    Told,
    UsersNotWarm,
    UsersPoll,
)
from ..model.events import Mark
from ..model.figures import LevelFigures
from ..model.findings import Bottleneck, Cause, Leak, RepliesChanged
from ..model.level import Level
from ..model.level_use import are_warm
from ..model.load import Rate, Users
from ..model.reading_means import readings_of_parts
from ..model.stacks import FunctionBlamed
from ..model.stages import LIMIT_NAMES
from ..model.timeline import Timeline
from ..model.verdicts import EndpointDegradation, KneeVerdict, RateCapacity, RateVerdict, RegimeVerdict, Severity
from ..model.watched import KNOWN_SERVERS
from .bottleneck.level_judgement import users_poll
from .bottleneck.resource_rules import disk_of_others
from .causes.generator_saturation import OTHERS_LEAST, WITHHELD_LEAST, others_cpu
from .epoch.level_seconds import Stall, stalls_of
from .epoch_view import EpochView, epochs, last_s, most_load, since_s
from .experiments import UNCLEAR
from .recommended import operating_load
from .stacks import difference
from .statistics import FULL, LOST_LEAST, NONE_EXPECTED_MOST, SURE_ERRORS

# -- The clauses of a Conclusion, each from what was found in an epoch. `conclude` decides which of them appear, and their
# order.
#
# None: nothing of that kind was found.


def service_limited(view: EpochView) -> ServiceLimited | None:
    """What limits the service: the first two bottlenecks, with the greatest users and rate at which they were found."""
    found = view.bottlenecks()[:2]
    if not found:
        return None
    offered_rates = [mark.offered_per_s for mark in found if mark.offered_per_s is not None]
    return ServiceLimited(tuple(found), max(mark.users or 0 for mark in found), max(offered_rates, default=None))


def think_time_limit(view: EpochView) -> ThinkTimeLimit | None:
    """Think time sets the throughput: the mark is open, or was closed and no level had more users. A step down closes it, but
    does not refute it; replies that may be errors do.
    """
    if replies_differ(view) is not None:
        return None
    most = max((level.users for level in view.settled()), default=0)
    found = (mark for mark in view.marks if mark.id == "think_time_limited" and mark.users)
    mark = next((mark for mark in found if mark.state != "closed" or (mark.users or 0) >= most), None)
    if mark is None:
        return None
    assert isinstance(mark.finding, Bottleneck)
    figures = next((level.figures for level in reversed(view.settled()) if level.users == mark.users), None)
    wait_s = mark.finding.reading("wait_s") or (figures.wait_s if figures else None)
    return ThinkTimeLimit(mark, wait_s, mark.finding.reading("throughput_rps") or (figures.throughput_rps if figures else None))


def replies_differ(view: EpochView) -> RepliesDiffer | None:
    """Quick replies of another kind than at low load."""
    return next((RepliesDiffer(mark) for mark in view.marks if isinstance(mark.finding, RepliesChanged)), None)


def leaking(view: EpochView) -> Iterator[Leaking]:
    """One clause for each leak that is at least a warning."""
    for mark in view.marks:
        if isinstance(mark.finding, Leak) and mark.severity != "info":
            yield Leaking(mark)


def first_leak(view: EpochView) -> tuple[Leaking, ...]:
    """The clause of the first leak; empty without one."""
    return tuple(leaking(view))[:1]


def curve_clause(view: EpochView) -> KneeVerdict | CapacityFound | None:
    """How far users scale without a knee, else the verdict on offered rates; None until one of them can be judged."""
    found = view.knee
    return found if found is not None and found.kind in ("no_knee", "bend") else judged_rates(view)


def curve_alone(view: EpochView) -> CapacityFound | NotJudged:
    """The capacity curve, else the verdict on offered rates, else the level with the greatest goodput. Used if nothing else was
    found.
    """
    if view.capacity is not None and (view.rates is None or view.capacity.curve is not None):
        return CapacityFound(view.capacity)
    if view.rates is not None:
        return CapacityFound(view.rates)
    settled = [level for level in view.settled() if level.figures.goodput_rps is not None]
    best = max(settled, key=lambda level: level.figures.goodput_rps or 0.0, default=None)
    return NotJudged(len(settled), best)


def service_changed(view: EpochView, before: Sequence[Clause]) -> ServiceChanged | None:
    """The service changed during the epoch, found at user counts, else at offered rates. `before`: earlier clauses."""
    causes = [each.mark for each in before if isinstance(each, RequestsFailed | TargetDied)]
    at_users = view.verdict.regimes if view.verdict is not None else ()
    for regimes in (at_users, view.rates.regimes if view.rates is not None else ()):
        if any(each.began is not None for each in regimes):
            return ServiceChanged(regimes, tuple(each for each in regimes if any(_is_of(each, mark, regimes) for mark in causes)))
    return None


def _is_of(each: RegimeVerdict, cause: Mark, regimes: Sequence[RegimeVerdict]) -> bool:
    """Whether a regime began with the failures of the cause's latest episode. Logs of earlier versions have no `until_s`: there
    the regime lasts until the next one.
    """
    if each.began != "failures" or not each.failure_ratio:
        return False
    next_s = min((other.began_s for other in regimes if other.began_s > each.began_s), default=math.inf)
    until_s = next_s if each.until_s is None else each.until_s
    return each.began_s <= last_s(cause) and since_s(cause) <= until_s


def stalled(view: EpochView, changed: ServiceChanged | None) -> ShortStall | None:
    """The longest short stall inside a level, and how many there were, without one that `changed` describes."""
    first = next((each for each in changed.regimes if each.began is not None), None) if changed is not None else None
    found = [
        (stall, level) for level in view.loaded() for stall in stalls_of(view.timeline, level) if not _is_stall(first, stall)
    ]
    if not found:
        return None
    longest, level = max(found, key=lambda each: each[0].seconds)
    return ShortStall(longest.at_s, longest.seconds, len(found), level.load)


def _is_stall(first: RegimeVerdict | None, stall: Stall) -> bool:
    """Whether the first change is the beginning of this stall, in which no request ended."""
    if first is None or first.began != "failures" or first.failure_ratio:
        return False
    return stall.at_s <= first.began_s <= stall.at_s + stall.seconds + 1.0


def polled(view: EpochView) -> UsersPoll | None:
    """Users ask until a result is there, more often the more of them there are: their requests show no capacity."""
    levels = sorted((level for level in view.settled() if level.figures.requests_per_task), key=lambda level: level.users)
    most = next(reversed(levels), None)
    fewest = next((level for level in levels if most is not None and users_poll(level.figures, most.figures)), None)
    if most is None or fewest is None:
        return None
    requests = fewest.figures.requests_per_task or 0.0, most.figures.requests_per_task or 1.0
    return UsersPoll((fewest.users, most.users), requests, (most.figures.throughput_rps or 0.0) / requests[1])


def figures_of_user_code(view: EpochView) -> FiguresOfUserCode | None:
    """What user code does without failing, such as users that stop themselves."""
    marks = tuple(mark for mark in view.causes("generator") if mark.id in OF_USER_CODE)
    return FiguresOfUserCode(marks) if marks else None


def machine_shared(view: EpochView) -> MachineShared | None:
    """The generator and the target share a machine, with the CPU share of the generator by the first mark that has it."""
    for mark in view.marks:
        share = mark.finding.reading("generator_share_ratio") if isinstance(mark.finding, Bottleneck) else None
        if share is not None:
            return MachineShared(mark, share)
    return None


_WAITS = ("lock_or_pool_limit", "worker_pool_exhausted", "unwatched_party")
"""Bottlenecks which say that requests wait, and not for a resource that is measured."""


def parts_not_read(view: EpochView) -> PartsNotRead | None:
    """The watched parts that cannot be read now."""
    unread = [part for part in view.timeline.parts.values() if part.state == "unread"]
    return PartsNotRead(tuple((part.name, part.reason or "") for part in unread)) if unread else None


def parts_show_less(view: EpochView, before: Sequence[Clause]) -> PartsShowLess | None:
    """Watched parts that are well-known servers without figures of their own, if an earlier clause says that requests wait."""
    limits = [_blamed(each) for each in before if isinstance(each, CapacityFound | ServiceLimited)]
    if not any(marks is not None and (not marks or any(mark.id in _WAITS for mark in marks)) for marks in limits):
        return None
    figured = {name for level in view.levels() for name in _parts_with_figures(level.figures)}
    known = [
        (part.name, part.program or "", KNOWN_SERVERS[part.program or ""])
        for part in view.timeline.parts.values()
        if part.state == "read" and part.program in KNOWN_SERVERS and part.name not in figured
    ]
    return PartsShowLess(tuple(known)) if known else None


def _blamed(limit: CapacityFound | ServiceLimited) -> Sequence[Mark] | None:
    """What is blamed for a limit, maybe nothing; None: no limit was found."""
    if isinstance(limit, ServiceLimited):
        return limit.marks
    if isinstance(limit.found, RateVerdict):
        return limit.blamed or None
    return limit.blamed if limit.knee is not None and limit.knee.limit != "generator" else None


def _parts_with_figures(figures: LevelFigures) -> set[str]:
    return {
        name
        for name, readings in readings_of_parts(figures.readings).items()
        if any(key.startswith("server.") for key in readings)
    }


def blamed_function(view: EpochView, before: Sequence[Clause]) -> FunctionBlamed | None:
    """The function that sampled stacks name, if an earlier clause has a limit of the service."""
    limits = [_blamed(each) for each in before if isinstance(each, CapacityFound | ServiceLimited)]
    found = difference(view.timeline, view.epoch) if any(each is not None for each in limits) else None
    return found.named if found is not None else None


def cpu_used_by_others(view: EpochView) -> CpuUsedByOthers | None:
    """Figures of the level, or bin of a ramp, in which other processes used most CPU, among the levels left out if there are any.

    None if they used it only in a few seconds and no level is left out: then their mark, with its time, is enough.
    """
    left_out = view.left_out()
    levels = left_out or [level for level in view.disturbed() if _most_disturbed(level)[0] >= OTHERS_LEAST]
    if not levels:
        return None
    used, worst = max((_most_disturbed(level) for level in levels), key=lambda found: found[0])
    cores = view.timeline.header.host.cpus if view.timeline.header is not None else None
    return CpuUsedByOthers(used, cores, tuple(worst.other_processes), *_loads_of(left_out))


def _most_disturbed(level: Level) -> tuple[float, LevelFigures]:
    """(cores that other processes used, figures) of the bin of a ramp in which they used most, or of the level."""
    parts = [part.figures for part in level.bins] or [level.figures]
    return max(((others_cpu(figures) or 0.0, figures) for figures in parts), key=lambda found: found[0])


def cpu_stolen(view: EpochView, before: Sequence[Clause]) -> CpuStolen | None:
    """The levels of a full machine that the hypervisor robbed of as much CPU as others have to withhold to count: it also takes
    idle time, which harms nothing. None if an earlier clause names it as the limit.
    """
    blamed = [mark.id for each in before if isinstance(each, CapacityFound | ServiceLimited) for mark in _blamed(each) or ()]
    cores = view.timeline.header.host.cpus if view.timeline.header is not None else None
    robbed = {level: share for level in view.loaded() if (share := _stolen(level.figures, cores)) is not None}
    if not robbed or "cpu_steal" in blamed:
        return None
    return CpuStolen(max(robbed.values()), *_loads_of(robbed))


def disk_used_by_others(view: EpochView) -> DiskUsedByOthers | None:
    """The levels in which others kept the service's disk busy."""
    used = {level: per_s for level in view.loaded() if (per_s := disk_of_others(level.figures)) is not None}
    return DiskUsedByOthers(max(used.values()), *_loads_of(used)) if used else None


def _loads_of(levels: Collection[Level]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(user counts, offered rates) of levels, ascending."""
    users = tuple(sorted({float(level.users) for level in levels if level.users}))
    return users, tuple(sorted({level.load.per_s for level in levels if level.load.per_s}))


def _stolen(figures: LevelFigures, cores: int | None) -> float | None:
    """Stolen CPU as a share of what the machine used or wanted; None if it was not relevant, or not measured."""
    stolen, busy = (figures.readings.get(f"host.{name}_ratio") for name in ("steal", "cpu"))
    if stolen is None or busy is None or not cores or stolen < WITHHELD_LEAST * busy or busy + stolen < FULL * cores:
        return None
    return stolen / (busy + stolen)


def first_endpoint(view: EpochView, *, at_rates: bool) -> tuple[EndpointDegradation, ...]:
    """The endpoint that degrades first as the offered rate rises, or as users are added; empty if none was found."""
    first = view.verdict.first_to_degrade(at_rates=at_rates) if view.verdict is not None else None
    return () if first is None else (first,)


def judged_rates(view: EpochView) -> CapacityFound | None:
    """The verdict on offered rates; None until a level has enough arrivals."""
    return CapacityFound(view.rates) if view.rates is not None and view.rates.capacity is not None else None


# -- The causes of failed requests that a conclusion names, the most severe first, and whether their failures depend on load.

EVEN_RATIO_MOST = 2.0
"""Failures do not depend on load if the greatest failure ratio of a level is at most this many times the least."""


def failed_requests(view: EpochView) -> Iterator[RequestsFailed | TargetDied]:
    """The clauses about failed requests: severe causes, those that failed many requests, and the one that failed the most. Causes
    that invalidate the run have a clause of their own, and those that have ended have none.
    """
    causes = view.causes("generator", "host", "network", "target", "check")
    shares = {mark.key: _share(view, mark) for mark in causes}
    reported = {mark.key for mark in causes if _is_reported(mark, shares[mark.key])}
    most = max(causes, key=requests_failed, default=None)
    if reported and most is not None and requests_failed(most) and not invalidates_run(most.id, most.severity):
        reported.add(most.key)
    for mark in causes:
        if mark.key in reported and not _is_rather(mark, causes):
            yield TargetDied(mark) if mark.id in DEATHS else _failed(view, mark, shares[mark.key])


def requests_failed(mark: Mark) -> int:
    """Number of requests that a cause failed; 0 if it counts something else. Failures hidden by a retry are not counted."""
    cause = mark.finding
    if not isinstance(cause, Cause) or mark.id in (*COUNT_NO_REQUESTS, *DEATHS) or mark.key.endswith(RAISED):
        return 0
    return 0 if "seconds" in cause.counted else cause.count - cause.counted.get("retried", 0)


def _is_rather(mark: Mark, causes: Sequence[Mark]) -> bool:
    """Whether these failures may have another cause of the same place, which is certain for more failures of this epoch."""
    competing = mark.finding.competing if isinstance(mark.finding, Cause) and mark.id not in DEATHS else ()
    others = (other for other in causes if other.id in competing and where(other.id) == where(mark.id))
    return any(requests_failed(other) > requests_failed(mark) for other in others)


def _is_reported(mark: Mark, share: float | None) -> bool:
    if invalidates_run(mark.id, mark.severity):
        return False
    return mark.severity in ("critical", "error") or mark.id in REFUSALS or (share or 0.0) >= LOST_LEAST


def _failed(view: EpochView, mark: Mark, share: float | None) -> RequestsFailed:
    even = _is_even(view)
    always = even and all(level.figures.failure_ratio for level in view.settled())
    return RequestsFailed(mark, share, always, is_capacity=mark.id in REFUSALS and not even and _failures_limit(view))


def _failures_limit(view: EpochView) -> bool:
    """Whether more users brought no more goodput but more failures: only then is a refusal the service's capacity."""
    found = view.knee
    if found is None:
        return False
    return found.limit == "errors" if found.kind in ("knee", "at_or_below") else found.peak is not None


def _share(view: EpochView, mark: Mark) -> float | None:
    """Share of all requests that it failed, from the start of the level in which the cause first occurred to the end of that in
    which it last did; None if it counts no failed requests. One failure in a second of 33 requests is not 3%.
    """
    failed, cause = requests_failed(mark), mark.finding
    if not failed or not isinstance(cause, Cause) or mark.id in DEATHS:
        return None
    begin_s, end_s = _levels_around(view, cause.first_s or 0.0, last_s(mark))
    requests = view.requests(begin_s, end_s)
    return min(1.0, failed / requests) if requests else None


def _levels_around(view: EpochView, first_s: float, last_s: float) -> tuple[float, float]:
    """(start of the level at `first_s`, end of the level at `last_s`), in seconds of the session."""
    spans = [(level.started_s, math.inf if level.ended_s is None else level.ended_s) for level in view.levels()]
    begin_s = max((begin for begin, end in spans if begin <= first_s <= end), default=first_s)
    end_s = max((end for begin, end in spans if begin <= last_s <= end), default=last_s)
    return begin_s, min(end_s, view.timeline.last_s)


def _is_even(view: EpochView) -> bool:
    """Whether there is only one cause, and its failure ratio is nearly the same at levels of different users."""
    found = [(level.users, level.figures.failure_ratio, level.figures.requests) for level in view.settled()]
    levels = [(users, ratio, requests) for users, ratio, requests in found if ratio is not None]
    causes = [mark for mark in view.marks if mark.kind == "cause" and mark.severity in ("critical", "error")]
    if len({users for users, _, _ in levels}) < 2 or len(causes) > 1:
        return False
    usual = math.fsum(ratio * (requests or 1) for _, ratio, requests in levels) / sum(requests or 1 for _, _, requests in levels)
    return all(_is_near(ratio, usual, requests) for _, ratio, requests in levels)


def _is_near(ratio: float, usual: float, requests: int) -> bool:
    """Whether a level's failure ratio is the `usual` one, within EVEN_RATIO_MOST and noise. `requests`: 0 if not counted."""
    if not ratio:
        return 0 < usual * requests <= NONE_EXPECTED_MOST
    noise = SURE_ERRORS * math.sqrt(usual * (1 - usual) / requests) if requests else 0.0
    return usual / math.sqrt(EVEN_RATIO_MOST) - noise <= ratio <= usual * math.sqrt(EVEN_RATIO_MOST) + noise


# -- Which levels say nothing about the service because their users were still new, or the levels too short for them.


def users_not_warm(view: EpochView) -> UsersNotWarm | None:
    """The clause about levels that ended before enough of their users were warm; None without such levels."""
    ended = (level for level in view.levels() if level.ended_s is not None and level.users and not level.figures.settled)
    levels = [level for level in ended if not are_warm(level.figures)]
    if not levels:
        return None
    return UsersNotWarm(tuple(level.users for level in levels), tuple(level.figures.warm_ratio or 0.0 for level in levels))


def levels_too_short(view: EpochView) -> LevelsTooShort | None:
    """The clause about levels of warm users that ended before they could settle; None without such levels."""
    closed = [
        level.closed
        for level in view.levels()
        if level.closed is not None and level.users and level.closed.settling_s is not None and are_warm(level.figures)
    ]
    if not closed:
        return None
    longest_s = max(each.t_s - each.started_s for each in closed)
    return LevelsTooShort(tuple(each.users for each in closed), longest_s, max(each.settling_s or 0.0 for each in closed))


# -- the conclusion ------------------------------------------------------------------------------------------------------------


def conclude(timeline: Timeline, epoch: int | None) -> Conclusion:
    """The conclusion about an epoch. `epoch` is None where no detector ran: then it is about all levels together.

    Costs one pass over the marks, and one over journal and levels for each cause that invalidates the run.
    """
    view = EpochView(timeline, epoch)
    found = next(_candidates(view), None) or _curve_alone(view)
    if found.invalid:
        return found
    found, added, disturbed = _with_cause(view, found), tuple(_added(view, found)), cpu_used_by_others(view)
    is_blind = any(isinstance(each, PartsNotRead) for each in added)
    is_left_out = disturbed is not None and bool(disturbed.left_out_users or disturbed.left_out_per_s)
    severity: Severity = "warning" if found.severity == "info" and (is_blind or is_left_out) else found.severity
    return Conclusion(_with_disturbance((*found.clauses, *added), disturbed), severity, found.marked)


def _with_cause(view: EpochView, found: Conclusion) -> Conclusion:
    """The conclusion with the function that sampled stacks name, what experiments have shown, and the load to stay at."""
    named, known = blamed_function(view, found.clauses), explained(view)
    why = tuple(each for each in (named, known) if each is not None)
    first, *rest = found.clauses
    if not isinstance(first, CapacityFound) or not first.is_limit:
        return replace(found, clauses=(*found.clauses, *why))
    confirmed = known.found.confirmed if known is not None else None
    operating = operating_load(view, Users if first.knee is not None else Rate)
    if operating is not None and operating.generator_limited:
        operating = None  # the service may carry more
    first = replace(first, confirmed=confirmed, function=named, operating=operating)
    return replace(found, clauses=(first, *why, *rest))


def _curve_alone(view: EpochView) -> Conclusion:
    alone = curve_alone(view)
    return Conclusion((alone, *_endpoint_of(view, alone)))


def _endpoint_of(view: EpochView, curve: Clause) -> tuple[Clause, ...]:
    """The endpoint that degrades first, after a verdict on offered rates."""
    is_rates = isinstance(curve, CapacityFound) and isinstance(curve.found, RateVerdict)
    return first_endpoint(view, at_rates=True) if is_rates else ()


def _with_disturbance(clauses: tuple[Clause, ...], disturbed: CpuUsedByOthers | None) -> tuple[Clause, ...]:
    """The clauses with the one about other processes on the machine: last where a knee was found, else first."""
    first = clauses[0]
    if disturbed is None:
        return clauses
    is_knee = isinstance(first, CapacityFound) and first.knee is not None and first.knee.kind == "knee"
    return (*clauses, disturbed) if is_knee else (disturbed, *clauses)


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
    refused = any(isinstance(mark.finding, Bottleneck) and mark.finding.readings.get("how") == "refuses" for mark in blamed)
    named = (*blamed, *(mark for mark in view.causes("target") if refused and mark.id in REFUSALS))
    beside = (*first_endpoint(view, at_rates=False), *_first_of(judged_rates(view)))
    yield _capacity(view, CapacityFound(view.capacity, tuple(blamed)), beside, named)


def _rates(view: EpochView) -> Iterator[Conclusion]:
    """The capacity as a rate, if it or an upper bound of it was found. Replies that refuse requests beyond the capacity are not
    failures of their own.
    """
    known = view.rates.capacity if view.rates is not None else None
    if view.rates is None or known is None or known.kind not in ("capacity", "at_or_below"):
        return
    refuses = known.overload is not None and known.overload.kind == "refuses"
    named = [mark for mark in view.marks if refuses and mark.id in REFUSALS]
    found = CapacityFound(view.rates, _blamed_at_rates(view, known))
    yield _capacity(view, found, _endpoint_of(view, found), named)


def _capacity(view: EpochView, found: CapacityFound, beside: Sequence[Clause], named: Sequence[Mark]) -> Conclusion:
    """A capacity, what stands `beside` it, then a death, else the failures, else a leak. `named`: marks that need no clause."""
    deaths = [TargetDied(mark) for mark in view.causes("target") if mark.id in DEATHS]
    failed = [failure for failure in failed_requests(view) if failure.mark not in named]
    further = tuple(deaths)[:1] or _first_and_most(failed) or first_leak(view)
    marked = bool(found.blamed or further)
    return Conclusion((found, *beside, *further), "warning" if marked else "info", marked)


def _blamed_at_rates(view: EpochView, capacity: RateCapacity) -> tuple[Mark, ...]:
    """What limits the service at its capacity: at most two bottlenecks found at offered rates from its lower bound on, or that no
    level contradicts: a CPU quota throttles from a low rate on, and at the low rate at which a search ends.
    """
    of_rates = [mark for mark in view.bottlenecks() if mark.offered_per_s is not None and _may_limit(mark, capacity)]
    return tuple(mark for mark in of_rates if mark.state == "open" or most_load(mark) >= (capacity.low_per_s or 0.0))[:2]


def _may_limit(mark: Mark, found: KneeVerdict | RateCapacity) -> bool:
    """Whether a bottleneck may be named as the limit. Where a limit on a single request breaks first, longer replies alone, which
    leave several causes, are no further one.
    """
    return found.limit not in LIMIT_NAMES or mark.id not in UNCLEAR


def _blamed_for(view: EpochView, found: KneeVerdict) -> list[Mark]:
    """What limits the service at the knee: at most two bottlenecks found at users within its interval or above; where
    errors are the limit and no bottleneck was found, the most severe cause in the target.
    """
    if found.limit == "generator":
        return []
    of_users = [mark for mark in view.bottlenecks() if mark.offered_per_s is None]
    bottlenecks = [mark for mark in of_users if most_load(mark) >= (found.users_low or 0) and _may_limit(mark, found)]
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
    further = _first_of(service_limited(view), think_time_limit(view), curve_clause(view))
    yield Conclusion((*named, *further, *first_leak(view)), first.mark.severity, marked=True)


def _first_and_most(failures: Sequence[RequestsFailed | TargetDied]) -> tuple[RequestsFailed | TargetDied, ...]:
    """The first cause of failed requests, and another one if that failed most requests."""
    if not failures:
        return ()
    first, most = failures[0], max(failures, key=lambda each: requests_failed(each.mark))
    return (first,) if most is first or isinstance(first, TargetDied) else (first, most)


def _bottleneck(view: EpochView) -> Iterator[Conclusion]:
    limited = service_limited(view)
    if limited is not None:
        curve = curve_clause(view) or Told.NO_KNEE_YET
        yield Conclusion((limited, curve, *_endpoint_of(view, curve), *first_leak(view)), "warning", marked=True)


def _waits(view: EpochView) -> Iterator[Conclusion]:
    waits, leak = think_time_limit(view), first_leak(view)
    if waits is not None:
        yield Conclusion((waits, curve_clause(view) or Told.NO_KNEE_YET, *leak), "warning" if leak else "info", marked=True)


def _leaks(view: EpochView) -> Iterator[Conclusion]:
    for leak in leaking(view):
        yield Conclusion((leak, *_first_of(curve_clause(view))), "warning", marked=True)


def _too_new(view: EpochView) -> Iterator[Conclusion]:
    """Users were too new: used where the epoch has no capacity curve and no levels of offered rates."""
    new, short = users_not_warm(view), levels_too_short(view)
    if (new or short) and view.rates is None and (view.capacity is None or view.capacity.curve is None):
        named = (short, *((new, Told.HOLD_LEVELS) if new is not None else ()))
        yield Conclusion((Told.USERS_TOO_NEW, *(clause for clause in named if clause is not None)))


# -- parts of several conclusions


def _first_of(*found: Clause | None) -> tuple[Clause, ...]:
    return tuple(clause for clause in found if clause is not None)[:1]


def explained(view: EpochView) -> Explains | None:
    """What experiments at the knee have shown; None: there were none."""
    known = view.timeline.explained.get(view.epoch) if view.epoch is not None else None
    return Explains(known.explanation) if known is not None and known.explanation.outcomes else None


def _added(view: EpochView, found: Conclusion) -> Iterator[Clause]:
    """Clauses added to every conclusion that is not "the run is invalid"."""
    changed = service_changed(view, found.clauses)
    parts = parts_not_read(view), parts_show_less(view, found.clauses)
    of_users = polled(view), replies_differ(view), figures_of_user_code(view)
    of_machine = cpu_stolen(view, found.clauses), disk_used_by_others(view), machine_shared(view)
    added = (changed, stalled(view, changed), *of_users, *of_machine, *parts)
    yield from (clause for clause in added if clause is not None)
