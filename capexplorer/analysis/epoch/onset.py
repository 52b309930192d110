"""The seconds within a level at which the service changed: where failures or a different goodput began or ended.

`shifts` splits long levels live and needs ten seconds on each side. A level of a fast plan has nine seconds in total, and a
service that dies in its middle must not look like a slow one. So the seconds of every level are searched again for changes that
are too large to be missed: many failures where there were none, or a jump of goodput. The parts on both sides are judged apart
(`regimes`). Read from columns alone, so live, replayed and imported sessions are cut at the same seconds.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.ma  # np.percentile imports it at its first call, when a generator may be out of descriptors
from numpy.typing import NDArray

from ...model.columns import SECOND_COLUMNS
from ...model.figures import Latency, LevelFigures
from ...model.level import Level
from ...model.level_fold import LevelFold
from ...model.offered import OfferedFigures
from ...model.timeline import Timeline
from ..ladder import Part, parts
from .offered_part import offered_part
from .shifts import Series, cuts_of
from .splitting import searched, started_s

SIDE_LEAST = 2
"""Seconds on each side of a change: the first of them is often mixed."""

CLEAN = 0.02
CLEAN_MOST = 0.05
"""Failure ratio of a clean second, and the most of a clean part. Failures that vary but have existed since the step are caused
by load.
"""

FAILING_MORE = 0.2
"""Points by which the failure ratio changes. Overload near the knee refuses a few percent now and then."""

SWITCH_LEAST = 12.0
"""Log likelihood that a change from clean to failing must gain: e^12 to 1 against, as seconds of a service are correlated."""

BUSY_PERCENTILE, BUSY_LEAST = 75, 5
"""Requests in a usual busy second of the level, from which a second without any says that the service stalled."""

JUMP = 0.25
JUMP_SIDE_LEAST = 3
JUMP_STRENGTH = 9.0
"""A jump of goodput: relative change, seconds on each side, |difference| over its long-run standard error. Few seconds do not
show how correlated they are."""

TRANSIENT_S = 10.0
"""Seconds after a step within which a service that gets better has only settled: users who came at once all time out at first."""

OF_NEIGHBOURS = {
    "neighbours.cpu_ratio": "others_cpu_ratio",
    "host.cpu_ratio": "host_cpu_ratio",
    "target.cpu_ratio": "target_cpu_ratio",
    "target.run_delay_ratio": "target_run_delay_ratio",
}
"""Readings that show whether other processes use the CPU that a part of a level needs (`neighbours`), and their columns."""

QUEUE_S, SLOWER = 3, 2.0
"""Last seconds before failures began, and times the median time from plan of the level before them, from which a queue had filled
up."""

DOUBTFUL_JUMP = 0.15
DOUBTFUL_STRENGTH = 2.5
"""The same where the levels beside it show the change as well (`regimes`)."""


def parts_of(timeline: Timeline, level: Level) -> list[Part]:
    """The parts of a level in the order they ran; one if nothing changed in it."""
    at = [] if level.opened.ramp else changes(timeline, level)
    return _after_transient(cut(timeline, level, at), level) if at else parts(level)


def _after_transient(found: list[Part], level: Level) -> list[Part]:
    """Without seconds right after the step that were worse than those that follow: they are the step's own doing."""
    head, *rest = found
    is_early = bool(rest) and rest[0].started_s - level.started_s <= TRANSIENT_S and level.opened.since_s is None
    if not is_early or (head.figures.goodput_rps or 0.0) >= (rest[0].figures.goodput_rps or 0.0):
        return found
    return _after_transient([replace(rest[0], started_s=level.started_s, began_inside=False), *rest[1:]], level)


def cut(timeline: Timeline, level: Level, at: Sequence[int]) -> list[Part]:
    """The level's parts between these of its settled seconds."""
    ticks = timeline.seconds_of(level)
    edges = [0, *at, len(ticks)]
    times = [level.started_s, *(started_s(timeline, ticks[index]) for index in at)]
    ends: list[float | None] = [*times[1:], level.ended_s]
    found = []
    for (first, last), began_s, ended_s in zip(pairwise(edges), times, ends, strict=True):
        figures = msgspec.structs.replace(
            figures_of(timeline, ticks[first:last], level.figures.offered), readings=_readings(timeline, level, ticks[first:last])
        )
        users = figures.users_mean or float(level.users)
        after_queue = first > 0 and level.offered_per_s is not None and _queue_filled(timeline, level, ticks[first])
        found.append(Part(users, figures, began_s, ended_s, began_inside=first > 0, after_queue=after_queue))
    return found


def _queue_filled(timeline: Timeline, level: Level, at: int) -> bool:
    """Whether replies just before this tick took much longer than usual in this level, or failures had come and gone in it.

    Near its capacity the queue of an open system wanders, until clients give up. A service that dies is as quick as ever, and
    clean, until then.
    """
    columns, ticks = timeline.columns, [tick for tick in timeline.seconds_of(level, settled=False) if tick < at]
    if any(columns["failures_rps"][tick] > CLEAN_MOST * columns["throughput_rps"][tick] for tick in ticks[:-1]):
        return True
    known = [columns["from_plan_sum_ms"][tick] / columns["finished"][tick] for tick in ticks if columns["finished"][tick]]
    if len(known) <= QUEUE_S:
        return False
    return max(known[-QUEUE_S:]) > SLOWER * float(np.median(known[:-QUEUE_S]))


def halves_of(timeline: Timeline, level: Level) -> list[Part]:
    """A level in two parts where goodput seems to have jumped, too weakly to be sure of by itself; empty if it did not."""
    return cut(timeline, level, at) if not level.opened.ramp and (at := _found(timeline, level)[2]) else []


_known: WeakKeyDictionary[Level, tuple[int, list[int], list[int]]] = WeakKeyDictionary()
"""(settled seconds, changes, doubtful change) of a level: an epoch is judged many times as it grows."""


def changes(timeline: Timeline, level: Level) -> list[int]:
    """Indices among the level's settled seconds at which it changed, ascending."""
    return _found(timeline, level)[1]


def _found(timeline: Timeline, level: Level) -> tuple[int, list[int], list[int]]:
    ticks = timeline.seconds_of(level)
    known = _known.get(level)
    if known is None or known[0] != len(ticks):
        goodput = np.asarray(searched(timeline, level, ticks)[0], float)
        at = _changes(timeline, ticks, goodput)
        known = _known[level] = (len(ticks), at, [] if at else _doubtful(goodput))
    return known


def _changes(timeline: Timeline, ticks: Sequence[int], goodput: Series) -> list[int]:
    if len(ticks) < 2 * SIDE_LEAST:
        return []
    at = _failing_changes(*_counts(timeline, ticks))
    if np.isnan(goodput).any():
        return at
    for first, last in pairwise([0, *at, len(ticks)]):
        jumps = cuts_of(goodput[first:last], _jumps, side_least=JUMP_SIDE_LEAST, strength_least=JUMP_STRENGTH)
        at = sorted([*at, *(first + jump for jump in jumps)])
    return at


def _doubtful(goodput: Series) -> list[int]:
    if len(goodput) < 2 * SIDE_LEAST or np.isnan(goodput).any():
        return []
    at = cuts_of(goodput, _may_jump, side_least=SIDE_LEAST, strength_least=DOUBTFUL_STRENGTH, most=1)
    return at


def _jumps(before: float, after: float) -> bool:
    return abs(after - before) > JUMP * max(before, after)


def _may_jump(before: float, after: float) -> bool:
    return abs(after - before) > DOUBTFUL_JUMP * max(before, after)


# -- failures


def _counts(timeline: Timeline, ticks: Sequence[int]) -> tuple[Series, Series]:
    """(requests, failures) of each second. One without any answer of a service that is usually busy counts as failed."""
    requests, failures = (np.array([timeline.columns[name][tick] for tick in ticks]) for name in ("requests", "failures"))
    usual = float(np.percentile(requests, BUSY_PERCENTILE))
    silent = (requests == 0) & (usual >= BUSY_LEAST)
    return np.where(silent, usual, requests), np.where(silent, usual, failures)


def _failing_changes(requests: Series, failures: Series) -> list[int]:
    """Where clean seconds turn into failing ones or back: the likeliest course of two states (Viterbi 1967)."""
    ratios = np.divide(failures, requests, out=np.zeros(len(requests)), where=requests > 0)
    bad = ratios >= FAILING_MORE
    if not bad.any() or bad.all():
        return []
    failing = min(float(failures[bad].sum() / requests[bad].sum()), 1 - CLEAN)
    gains = failures * math.log(failing / CLEAN) + (requests - failures) * math.log((1 - failing) / (1 - CLEAN))
    course = _course(gains)
    course |= (ratios > CLEAN_MOST) & (np.roll(course, 1) | np.roll(course, -1))  # the second in which it began or ended
    at = [index for index in range(1, len(course)) if course[index] != course[index - 1]]
    return at if _holds(requests, failures, at) else []


def _course(gains: Series) -> NDArray[np.bool_]:
    """Whether each second is failing. `gains`: log likelihood of failing over clean, by second."""
    best = np.array([0.0, 0.0])
    came_from = np.zeros((len(gains), 2), int)
    for second, gain in enumerate(gains):
        switched = best[::-1] - SWITCH_LEAST
        came_from[second] = np.where(best >= switched, (0, 1), (1, 0))
        best = np.maximum(best, switched) + (0.0, gain)
    state = int(best.argmax())
    course = np.zeros(len(gains), bool)
    for second in range(len(gains) - 1, -1, -1):
        course[second] = bool(state)
        state = came_from[second, state]
    return course


def _holds(requests: Series, failures: Series, at: Sequence[int]) -> bool:
    """Whether every part is long enough, and clean and failing parts lie far apart."""
    edges = [0, *at, len(requests)]
    if any(last - first < SIDE_LEAST for first, last in pairwise(edges)):
        return False
    ratios = [float(failures[a:b].sum() / max(requests[a:b].sum(), 1.0)) for a, b in pairwise(edges)]
    return all(min(before, after) <= CLEAN_MOST and abs(after - before) >= FAILING_MORE for before, after in pairwise(ratios))


def _readings(timeline: Timeline, level: Level, ticks: Sequence[int]) -> dict[str, float]:
    """Those of the whole level; those that show neighbours, who come and go inside levels, of these seconds alone."""
    known = {key: [timeline.columns[name][tick] for tick in ticks] for key, name in OF_NEIGHBOURS.items()}
    means = {key: math.fsum(values) / len(values) for key, values in known.items() if values}
    return {**level.figures.readings, **{key: mean for key, mean in means.items() if not math.isnan(mean)}}


def figures_of(timeline: Timeline, ticks: Sequence[int], offered: OfferedFigures | None = None) -> LevelFigures:
    """Figures of some settled seconds of a level, from columns: without percentiles and most readings of the machine.

    `offered`: of the whole level, if it offered a rate.
    """
    fold, columns = LevelFold(), timeline.columns
    fold.columns = {name: array("d", [columns[name][tick] for tick in ticks]) for name in SECOND_COLUMNS}
    figures = fold.figures()
    successes = figures.requests - figures.failures
    mean_ms = sum(fold.columns["latency_sum_ms"]) / successes if successes else None
    part = None if offered is None else offered_part(timeline, ticks, offered)
    return msgspec.structs.replace(figures, latency_ms=Latency(mean=mean_ms), offered=part)
