"""The clauses of a Conclusion, each from what was found in an epoch. `conclusion` decides which of them appear, and their order.

None: nothing of that kind was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..model.conclusions import (
    Clause,
    CpuUsedByOthers,
    CurveAlone,
    EndpointDegrades,
    FiguresOfUserCode,
    KneeFound,
    Leaking,
    MachineShared,
    NoKneeUpTo,
    NotJudged,
    PartsNotRead,
    PartsShowLess,
    RatesFound,
    RequestsFailed,
    ServiceChanged,
    ServiceLimited,
    ShortStall,
    TargetDied,
    ThinkTimeLimit,
)
from ..model.events import Mark
from ..model.figures import LevelFigures
from ..model.findings import Bottleneck, Leak
from ..model.level import Level
from ..model.reading_means import readings_of_parts
from ..model.verdicts import RegimeVerdict
from ..model.watched import KNOWN_SERVERS
from .causes.catalogue import OF_USER_CODE
from .causes.generator_saturation import others_cpu
from .causes.saturation_readings import OTHERS_LEAST
from .epoch.stalls import Stall, stalls_of
from .epoch_view import EpochView, last_s, since_s

RAMP_TOP = 0.9
"""Share of a ramp's last rate up to which its bins must describe the service, else the rate is named as one that is left out. The
last of 24 bins is at 0.98 of it, and its count of arrivals varies by 4%."""


def service_limited(view: EpochView) -> ServiceLimited | None:
    """What limits the service: the first two bottlenecks, with the greatest users and rate at which they were found."""
    found = view.bottlenecks()[:2]
    if not found:
        return None
    offered_rates = [mark.offered_per_s for mark in found if mark.offered_per_s is not None]
    return ServiceLimited(tuple(found), max(mark.users or 0 for mark in found), max(offered_rates, default=None))


def think_time_limit(view: EpochView) -> ThinkTimeLimit | None:
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


def leaking(view: EpochView) -> Iterator[Leaking]:
    """One clause for each leak that is at least a warning."""
    for mark in view.marks:
        if isinstance(mark.finding, Leak) and mark.severity != "info":
            yield Leaking(mark)


def first_leak(view: EpochView) -> tuple[Leaking, ...]:
    """The clause of the first leak; empty without one."""
    return tuple(leaking(view))[:1]


def curve(view: EpochView) -> NoKneeUpTo | RatesFound | None:
    """How far users scale without a knee, else the verdict on offered rates; None until one of them can be judged."""
    found = view.knee
    return NoKneeUpTo(found) if found is not None and found.kind in ("no_knee", "bend") else judged_rates(view)


def curve_alone(view: EpochView) -> CurveAlone | RatesFound | NotJudged:
    """The capacity curve, else the verdict on offered rates, else the level with the greatest goodput. Used if nothing else was
    found.
    """
    found = rates_found(view)
    if view.capacity is not None and (found is None or view.capacity.curve is not None):
        return CurveAlone(view.capacity)
    if found is not None:
        return found
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
    users = None if level.offered_per_s is not None else float(level.users)
    return ShortStall(longest.at_s, longest.seconds, len(found), users, level.offered_per_s)


def _is_stall(first: RegimeVerdict | None, stall: Stall) -> bool:
    """Whether the first change is the beginning of this stall, in which no request ended."""
    if first is None or first.began != "failures" or first.failure_ratio:
        return False
    return stall.at_s <= first.began_s <= stall.at_s + stall.seconds + 1.0


def figures_of_user_code(view: EpochView) -> FiguresOfUserCode | None:
    """What user code does without failing, such as users that stop themselves."""
    marks = tuple(mark for mark in view.causes("generator") if mark.id in OF_USER_CODE)
    return FiguresOfUserCode(marks) if marks else None


def machine_shared(view: EpochView) -> MachineShared | None:
    """The generator and the target share a machine, with the CPU share of the generator by the first mark that has it."""
    for mark in view.marks:
        share = mark.finding.reading("generator_share_ratio") if isinstance(mark.finding, Bottleneck) else None
        if share is not None:
            return MachineShared(mark.users, share, mark.offered_per_s)
    return None


_WAITS = ("lock_or_pool_limit", "worker_pool_exhausted", "unwatched_party")
"""Bottlenecks which say that requests wait, and not for a resource that is measured."""


def parts_not_read(view: EpochView) -> PartsNotRead | None:
    """The watched parts that cannot be read now."""
    unread = [part for part in view.timeline.parts.values() if part.state == "unread"]
    return PartsNotRead(tuple((part.name, part.reason or "") for part in unread)) if unread else None


def parts_show_less(view: EpochView, before: Sequence[Clause]) -> PartsShowLess | None:
    """Watched parts that are well-known servers without figures of their own, if an earlier clause says that requests wait."""
    limits = [_blamed(each) for each in before if isinstance(each, KneeFound | ServiceLimited | RatesFound)]
    if not any(marks is not None and (not marks or any(mark.id in _WAITS for mark in marks)) for marks in limits):
        return None
    figured = {name for level in view.levels() for name in _parts_with_figures(level.figures)}
    known = [
        (part.name, part.program or "", KNOWN_SERVERS[part.program or ""])
        for part in view.timeline.parts.values()
        if part.state == "read" and part.program in KNOWN_SERVERS and part.name not in figured
    ]
    return PartsShowLess(tuple(known)) if known else None


def _blamed(limit: KneeFound | ServiceLimited | RatesFound) -> Sequence[Mark] | None:
    """What is blamed for a limit, maybe nothing; None: no limit was found."""
    if isinstance(limit, ServiceLimited):
        return limit.marks
    if isinstance(limit, RatesFound):
        return limit.blamed or None
    return limit.blamed if limit.capacity.knee is not None and limit.capacity.knee.limit != "generator" else None


def _parts_with_figures(figures: LevelFigures) -> set[str]:
    return {
        name
        for name, readings in readings_of_parts(figures.readings).items()
        if any(key.startswith("server.") for key in readings)
    }


def cpu_used_by_others(view: EpochView) -> CpuUsedByOthers | None:
    """Figures of the level, or bin of a ramp, in which other processes used most CPU, among the levels left out if there are any.

    None if they used it only in a few seconds and no level is left out: then their mark, with its time, is enough.
    """
    left_out = [*view.left_out(), *(level for level in view.disturbed() if _ends_early(view, level))]
    levels = left_out or [level for level in view.disturbed() if _most_disturbed(level)[0] >= OTHERS_LEAST]
    if not levels:
        return None
    used, worst = max((_most_disturbed(level) for level in levels), key=lambda found: found[0])
    cores = view.timeline.header.host.cpus if view.timeline.header is not None else None
    users = tuple(sorted({float(level.users) for level in left_out if level.users}))
    rates = tuple(sorted({level.offered_per_s for level in left_out if level.offered_per_s}))
    return CpuUsedByOthers(used, cores, tuple(worst.other_processes), users, rates)


def _most_disturbed(level: Level) -> tuple[float, LevelFigures]:
    """(cores that other processes used, figures) of the bin of a ramp in which they used most, or of the level."""
    parts = [part.figures for part in level.bins] or [level.figures]
    return max(((others_cpu(figures) or 0.0, figures) for figures in parts), key=lambda found: found[0])


def _ends_early(view: EpochView, level: Level) -> bool:
    """Whether the bins of a ramp that describe the service end well below its last rate."""
    verdicts = view.rates.levels if view.rates is not None and level.opened.ramp else ()
    used = next((each for each in verdicts if each.level == level.opened.index), None)
    return used is not None and (used.left_out or used.offered_per_s < RAMP_TOP * (level.offered_per_s or 0.0))


def first_endpoint(view: EpochView, *, at_rates: bool) -> tuple[EndpointDegrades, ...]:
    """The endpoint that degrades first as the offered rate rises, or as users are added; empty if none was found."""
    first = view.verdict.first_to_degrade(at_rates=at_rates) if view.verdict is not None else None
    return () if first is None else (EndpointDegrades(first),)


def judged_rates(view: EpochView) -> RatesFound | None:
    """The verdict on offered rates; None until a level has enough arrivals."""
    found = rates_found(view)
    return found if found is not None and found.rates.capacity is not None else None


def rates_found(view: EpochView) -> RatesFound | None:
    """The verdict on offered rates, also while it is not decided."""
    return RatesFound(view.rates) if view.rates is not None else None
