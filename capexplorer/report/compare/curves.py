"""The curve of a session or of one of its epochs, for a comparison: levels of users, and apart from them those of offered rates.

Rate levels are never compared with levels of users: their goodput is that of iterations, their latencies are times from plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ... import wording
from ...analysis.causes.generator_saturation import others_cpu
from ...analysis.ladder import requests_inside
from ...errors import InputError
from ...model.events import Verdict
from ...model.figures import LevelFigures
from ...model.findings import Knee
from ...model.histogram import LatencyHistogram
from ...model.intervals import Z90
from ...model.level import Level
from ...model.level_use import level_use, level_uses
from ...model.load import Rate, Users
from ...model.reading_means import readings_of_parts
from ...model.timeline import Timeline, version_of
from ...model.verdicts import RateLevelVerdict, RegimeVerdict
from .comparison import Curve, CurvePoint, Session
from .difference import LEAST_RATIO, LEVEL_FIGURES, STAGE_FIGURES
from .environment import RunConditions
from .estimates import (
    MISSING,
    Estimate,
    SecondLatencies,
    estimate,
    level_estimates,
    parts,
    percentile_estimates,
    pooled,
    recorded,
)

NOT_STATIONARY = ("queue_grows", "dropped")
"""States of levels whose queue grew: their percentiles depend on how long they lasted."""

RATE_FIGURES = ("goodput", "p50", "p95", "p99", "failure_ratio")


def rate_points(timeline: Timeline, epoch: int, latencies: SecondLatencies) -> tuple[CurvePoint, ...]:
    """The longest settled level of each rate, by ascending rate, without ramps, recovery, levels disturbed by other
    processes, and those of another state of the service or during which it changed.
    """
    verdict = wording.reported(timeline).get(epoch)
    judged = {each.level: each for each in verdict.rates.levels} if verdict is not None and verdict.rates is not None else {}
    longest: dict[float, Level] = {}
    for level in timeline.levels:
        per_s, is_used = level.load.per_s, level_use(level, verdict).why is None
        if per_s is None or level.opened.epoch != epoch or not is_used or not _counts(level, judged.get(level.opened.index)):
            continue
        before = longest.get(per_s)
        if before is None or before.figures.settled_seconds < level.figures.settled_seconds:
            longest[per_s] = level
    growing = {index for index, each in judged.items() if each.state in NOT_STATIONARY}
    points = []
    for per_s, level in sorted(longest.items()):
        cut = [] if level.opened.index in growing else parts(timeline.seconds_of(level))
        points.append(CurvePoint(Rate(per_s), _estimates(level, [latencies.from_plan(ticks) for ticks in cut])))
    return tuple(points)


def _counts(level: Level, judged: RateLevelVerdict | None) -> bool:
    is_measured = level.figures.settled and not level.opened.ramp and level.figures.offered is not None
    is_whole = judged is None or not judged.is_part
    return is_measured and is_whole and (judged is None or judged.state != "generator")


def _estimates(level: Level, histograms: Sequence[LatencyHistogram]) -> dict[str, Estimate]:
    """Estimates by the names of RATE_FIGURES, with percentiles of the time from plan. `histograms`: those of the level's parts;
    empty for a level whose latency grew with its length, so that the noise is unknown.
    """
    found, seconds = level.figures.offered, level.figures.settled_seconds
    assert found is not None
    lost, ended = found.failed + found.dropped.total, found.finished + found.failed + found.dropped.total
    share = lost / ended if ended else None
    error = None if share is None else math.sqrt(max(share * (1 - share), 1 / ended) / ended)
    latency = percentile_estimates(found.from_plan_ms, found.finished, seconds, histograms)
    goodput = estimate(found.finished_per_s, recorded(found.finished_se_per_s), seconds)
    return {"goodput": goodput, **latency, "failure_ratio": Estimate(share, error, seconds)}


def rate_capacity(timeline: Timeline, epoch: int) -> Estimate | None:
    """The capacity as a rate, with the standard error of its 90% interval; None if its maximum was not measured."""
    verdict = wording.reported(timeline).get(epoch)
    found = verdict.rate_capacity if verdict is not None else None
    if found is None or found.low_per_s is None or found.high_per_s is None:
        return None
    return Estimate(found.per_s, (found.high_per_s - found.low_per_s) / (2 * Z90))


# -- shared machine ------------------------------------------------------------------------------------------------------------
# Whether other processes on a saturated machine may have changed the figures of a level, so that no difference is claimed.
#
# Stricter than the verdict's rule (`analysis.epoch.neighbours`), which allows for changes within the accuracy of a knee, while a
# comparison claims differences from 2% on. Processes that capexplorer neither started nor watches count as other processes.


FULL_LEAST = 0.85
"""Share of the machine's CPU in use from which processes must wait for each other."""

OTHERS_LEAST = 0.1
"""Share of the machine's CPU from which other processes matter: with busy ones, p95 of an unchanged service rose by up to 365%
(docs/compare.md)."""

WAITS_MOST = LEAST_RATIO
"""Share of the time up to which service and load thread may wait for a core without a difference that could be claimed. A thread
that waits may have the only place of a pool, so goodput may fall by this share."""

_DELAY = "target.run_delay_ratio"


def is_disturbed(figures: LevelFigures, cpus: int | None) -> bool:
    """Whether the machine's CPU was saturated, other processes had a share of it, and service or load thread may have waited for
    a core; False if use of the CPU was not measured.
    """
    others = others_cpu(figures)
    if others is None or not cpus or figures.host_cpu_ratio is None:
        return False
    is_shared = figures.host_cpu_ratio >= FULL_LEAST * cpus and others >= OTHERS_LEAST * cpus
    return is_shared and not _waits_for_no_core(figures)


def _waits_for_no_core(figures: LevelFigures) -> bool:
    """Whether service, watched parts and load thread together wait for at most WAITS_MOST of the time, and of the time that
    requests are inside the service (Little's law). False if that was not measured.
    """
    readings, rate, response_ms = figures.readings, figures.throughput_rps, figures.response_ms
    own = [readings.get(name) for name in (_DELAY, "generator.run_delay_ratio")]
    known = [delay for delay in own if delay is not None]
    if len(known) < len(own) or rate is None or response_ms is None:
        return False
    of_parts = sum(part.get(_DELAY, 0.0) for part in readings_of_parts(readings).values())
    return sum(known) + of_parts <= WAITS_MOST * min(1.0, requests_inside(rate, response_ms))


# -- session curves ------------------------------------------------------------------------------------------------------------
# Makes the curve of a session or of one of its epochs: figures by user count with their errors, knee, and marks.


def epochs_of(session: Session) -> list[int]:
    """The epochs to compare: the one that the session names, else all that have a settled level, else the first. Raises
    InputError for an unknown one.
    """
    timeline = session.timeline
    present = sorted({level.opened.epoch for level in timeline.levels})
    if session.epoch is not None:
        if session.epoch not in present:
            known = ", ".join(map(str, present)) or "none"
            name = timeline.header.id if timeline.header else ""
            raise InputError(f"{name}#{session.epoch}: no such epoch; it has: {known}")
        return [session.epoch]
    settled = sorted({level.opened.epoch for level in timeline.levels if level.has_load and level.figures.settled})
    return settled or present[:1] or [0]


def curve_of_last(session: Session) -> Curve:
    """The curve of the epoch that the session names, else of its last one that has a settled level. Raises InputError."""
    return curve_of("A", session, epochs_of(session)[-1])


def curve_of(letter: str, session: Session, epoch: int) -> Curve:
    """The curve of one epoch of the session."""
    timeline = session.timeline
    header = timeline.header
    if header is None:
        raise ValueError("a session has a header")
    levels = [level for level in timeline.levels if level.opened.epoch == epoch and level.users]
    points, uses = _points(levels, session), level_uses(timeline)
    on_curve = {level.users for level in levels if uses[level.opened.index].why is None}
    found = wording.reported(timeline).get(epoch)
    marks = [mark for mark in wording.current_marks(timeline).values() if mark.epoch == epoch]
    knees = [mark for mark in reversed(marks) if mark.users is not None]  # the newest first, without bends
    several = len({level.opened.epoch for level in timeline.levels}) > 1
    return Curve(
        letter=letter,
        id=header.id,
        epoch=epoch if several or session.epoch is not None else None,
        title=session.title,
        label=header.label,
        started_at=header.started_at,
        complete=timeline.ended is not None,
        damaged=session.damaged,
        points=points,
        unsettled=tuple(sorted(on_curve - {point.load.users for point in points})),
        marked_knee=next((mark.finding for mark in knees if isinstance(mark.finding, Knee)), None),
        verdict=found.capacity.knee if found is not None else None,
        judged=wording.judgement(timeline, epoch),
        marks=tuple(mark for mark in marks if mark.kind in wording.BLAMES and mark.id != "not_saturated"),
        overheads=dict(header.client_overhead_ms),
        regimes=_regimes(found, timeline),
        run=RunConditions(header, _params(timeline, epoch), version_of(timeline, epoch)),
        rate_points=rate_points(timeline, epoch, session.latencies),
        rate_capacity=rate_capacity(timeline, epoch),
    )


def _points(levels: Sequence[Level], session: Session) -> tuple[CurvePoint, ...]:
    """The points of settled levels that the curve counts."""
    found: dict[int, list[dict[str, Estimate]]] = {}
    disturbed, uses = set[int](), level_uses(session.timeline)
    cpus = session.timeline.header.host.cpus if session.timeline.header is not None else None
    for level in levels:
        use = uses[level.opened.index]
        if level.figures.settled and not level.opened.ramp and use.why is None:
            found.setdefault(level.users, []).append(level_estimates(level, session.timeline, session.latencies))
            if use.is_disturbed or is_disturbed(level.figures, cpus):
                disturbed.add(level.users)
    measured = {name for each in found.values() for one in each for name in one}
    names = [figure.name for figure in (*LEVEL_FIGURES, *STAGE_FIGURES) if figure.name in measured]
    return tuple(
        CurvePoint(
            Users(users),
            {name: pooled([one.get(name, MISSING) for one in each]) for name in names},
            len(each),
            users in disturbed,
        )
        for users, each in sorted(found.items())
    )


def _params(timeline: Timeline, epoch: int) -> dict[str, str | int | float | bool]:
    """The target's parameters in this epoch, as given at its start."""
    found = dict(timeline.header.target.params) if timeline.header else {}
    for target in timeline.journal:
        if getattr(target, "state", None) == "starting" and getattr(target, "epoch", 0) == epoch:
            found = dict(getattr(target, "params", {})) or found
    return found


def _regimes(found: Verdict | None, timeline: Timeline) -> tuple[RegimeVerdict, ...]:
    """The regimes of levels of users, else those of offered rates; empty if no level of the epoch is left out because of them."""
    if found is None:
        return ()
    regimes, uses = found.regimes or (found.rates.regimes if found.rates is not None else ()), level_uses(timeline)
    left_out = {use.level for use in uses.values() if use.why in ("changed", "other_service")}
    return regimes if any(index in left_out for each in regimes for index in each.levels) else ()
