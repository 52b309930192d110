"""Regimes: the stretches of an epoch in which the service did not change. Levels of different regimes never share a curve.

They are the likeliest partition of the levels (Barry & Hartigan 1993), as the stretches of a level are (`segments`). Levels of
one regime have one curve of the grid of `knee.curve`, shares of failures that change at few loads, and at an offered rate one
latency for each rate. The evidence of a set of levels is how likely all of these make them, in the mean. So load
explains what a curve can do: goodput that flattens and falls, failures that begin at some load. It does not explain more
goodput per user than before, another goodput or latency at the same load, or failures at a load that was clean.

Regimes whose evidence together exceeds that of each are the same service, to which it returned. Pure: takes levels in the order
they ran.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...model.level import Level
from ...model.load import Rate
from ..knee.curve import FALLS, Floats, served
from ..knee.rate_level import SAME_RATE
from ..ladder import LadderLevel, Measured
from ..statistics import MOSTLY, RELEVANT
from .regime import FAILING, RETURN_LEAST, Began, Regime, began_inside, failure_ratio_of
from .segments import INDEPENDENT_MOST

CHANGE, CHANGE_INSIDE = -6.0, -1.0
"""Log odds that the service changed with a step of load, and where the seconds of a level show a change. With -5 the scores
of 295 moving sessions are the same."""

RETURN = 1.0
"""Log odds that a service that changed twice is as it was before. Of 343 sessions 2 change with 0 and 3 with 1.3, none for the
better or the worse."""

CURVE_ERROR = 0.03
"""Relative error of a level because no curve is exact. Of 343 sessions 8 change with 0.02, 2 for the better, and 3 with 0.04, 1
for the worse."""

LATENCY_ERROR = 0.1
"""Relative error of the latency of levels of one rate, by the speed of the machine, which is constant in simulations: of 343
sessions none changes without it."""

FREEDOM = 20.0
"""Degrees of freedom of the t distribution of all errors of goodput together."""

RATES, SHARES, LATENCIES = math.log(1000.0), 0.3, math.log(100.0)
"""Widths of the prior of the logarithms of goodput per user at low load, of the share of a rate that is served, and of the
latency at a rate. With 0.7 or 1.3 of RATES 1 of 343 sessions changes, of SHARES 2, none for the better or the worse."""

HISTORIES = 6
"""Ways to divide the levels that are followed at a time. Of 324 sessions none changes with 2, 4 or 8, and 4 with 1."""

KNOWN_MOST, NEW_MOST = 12, 6
"""Results that are kept, and levels that may be new, or divided otherwise, since the latest one."""

FALLS_LIKELY = 0.03
"""Prior probability that goodput falls beyond the knee. With 0.1 the scores of 295 moving sessions are the same in sum."""

STEP, OCTAVE = 0.08, math.log(4.0)
"""Step of log N* of the grid, whose ends are multiples of OCTAVE around the loads, so that it stays as levels are added."""


class _Level(NamedTuple):
    users: float
    goodput_rps: float
    error_rps: float
    failed: float
    requests: float
    """Failed requests, of so many that count as independent."""
    at_rate: bool
    latency_ms: float | None
    """None: not searched."""
    latency_error: float
    """Relative."""
    change: float
    """Log odds that the service changed as it began."""

    @property
    def failure_ratio(self) -> float:
        return self.failed / self.requests


def _level(each: Measured, first: Measured) -> _Level:
    found, paced = each.ladder_level, _paced(each.ladder_level, first.ladder_level)
    at_rate = isinstance(each.level.load, Rate)
    count = min(float(found.requests or 1), INDEPENDENT_MOST)
    latency_ms, error_ms = found.latency_ms or 1.0, found.steady_latency_error_ms or math.inf
    is_searched = error_ms <= MOSTLY * latency_ms and not found.disturbed and at_rate
    return _Level(
        users=found.users,
        goodput_rps=paced * found.goodput_rps,
        error_rps=paced * math.hypot(found.goodput_error_rps, _other_sizes(each.level, first.level) * found.goodput_rps),
        failed=failure_ratio_of(found) * count,
        requests=count,
        at_rate=at_rate,
        latency_ms=latency_ms if is_searched else None,
        latency_error=math.hypot(error_ms / latency_ms, (found.loop_lag_ms or 0.0) / latency_ms, LATENCY_ERROR),
        change=CHANGE_INSIDE if began_inside(each) else CHANGE,
    )


def _paced(level: LadderLevel, first: LadderLevel) -> float:
    """Factor of goodput with the pauses of the first level, (R + Z) / (R + Z first), by Little's law: who polls for a result
    makes shorter ones the longer it waits for it. 1 where they are not known.
    """
    if level.wait_s is None or first.wait_s is None or not level.wait_includes_sleeps or not level.response_s:
        return 1.0
    return (level.response_s + level.wait_s) / (level.response_s + first.wait_s)


SMALL_REPLY_BYTES = 256.0
"""Replies below this size differ by the digits of a number in them, such as how long they took. Without it 27 of 40 services of
100/s that lost half of it at 75/s had a capacity between both, since their replies grew from 15 to 17 bytes with the queue
(`tests/analysis/epoch/test_moving_rates.py` has 12 of them, the family rates-halved others)."""


def _other_sizes(level: Level, first: Level) -> float:
    """By what share the sizes of replies differ from those of the first level, in the mean over requests: so much may the work
    for a reply differ, which is no change of the service. Error pages with a status that counts as a success are quick: of 24
    sessions of the family error-pages 8 were said to have changed, and none with this error.
    """
    sizes = {(each.method, each.name): each.mean_bytes for each in first.endpoints if each.mean_bytes}
    known = [(each.requests, sizes.get((each.method, each.name)), each.mean_bytes) for each in level.endpoints]
    differ = [
        count * abs(size - before) / max(before, SMALL_REPLY_BYTES)
        for count, before, size in known
        if before and size is not None
    ]
    return math.fsum(differ) / max(1, sum(count for count, _, _ in known))


# -- the evidence of a set of levels


class _Grid(NamedTuple):
    """Which curves there are."""

    least: float
    most: float
    """Log N*."""

    @classmethod
    def of(cls, levels: Sequence[_Level]) -> _Grid:
        """For these levels and all between them."""
        logs = [math.log(level.users) for level in levels]
        return cls(OCTAVE * math.floor(min(logs) / OCTAVE), OCTAVE * math.ceil(max(logs) / OCTAVE))

    @property
    def log_knees(self) -> Floats:
        return np.arange(self.least - STEP, self.most + math.log(2.0), STEP)


@lru_cache(maxsize=8)
def _chances(grid: _Grid) -> Floats:
    """Log of the prior probability of each curve, one dimension."""
    shapes = served(np.zeros(1), grid.log_knees)[0].shape[-1]
    falls = np.log([1.0 - FALLS_LIKELY, *[FALLS_LIKELY / (len(FALLS) - 1)] * (len(FALLS) - 1)])
    by_knee = np.broadcast_to(falls[:, np.newaxis], (len(grid.log_knees), len(FALLS), shapes)).ravel()
    found: Floats = by_knee - math.log(len(grid.log_knees) * shapes)
    return found


@lru_cache(maxsize=512)
def _row(level: _Level, grid: _Grid) -> Floats:
    """Of a level, shape (2, curves): weight times goodput times the curve, and weight times the square of the curve."""
    curve, falls = served(np.array([math.log(level.users)]), grid.log_knees)
    goodput = (falls[..., np.newaxis] * curve[:, np.newaxis]).ravel()
    weight = _weight(level)
    return np.stack([weight * level.goodput_rps * goodput, weight * goodput**2])


def _weight(level: _Level) -> float:
    return 1.0 / (level.error_rps**2 + (CURVE_ERROR * level.goodput_rps) ** 2)


class _State(NamedTuple):
    """Levels between which the service did not change."""

    at: tuple[int, ...]
    """Their indices."""
    levels: tuple[_Level, ...]
    sums: Floats
    """Of their rows."""
    total: float
    """Of weight times the square of goodput."""
    evidence: float
    """Log."""

    @classmethod
    def of(cls, before: _State | None, index: int, level: _Level, grid: _Grid) -> _State:
        """The state before with one level more."""
        row, square = _row(level, grid), _weight(level) * level.goodput_rps**2
        sums, total = (row, square) if before is None else (before.sums + row, before.total + square)
        levels = (*before.levels, level) if before else (level,)
        evidence = _of_goodput(sums, total, len(levels), grid, level.at_rate) + _failures(levels) + _latency(levels)
        return cls((*before.at, index) if before else (index,), levels, sums, total, evidence)


def _of_goodput(sums: Floats, total: float, count: int, grid: _Grid, at_rate: bool) -> float:
    products, squares = sums
    rates = np.maximum(products / np.maximum(squares, 1e-300), 1e-9)
    missed = np.maximum(total - 2 * products * rates + rates**2 * squares, 0.0)
    widths = np.maximum(rates * np.sqrt(squares), 0.3)  # goodput over its error
    freedom = (FREEDOM + count - 1) / 2
    likely = -freedom * np.log1p(missed / FREEDOM) - np.log(widths) + _chances(grid)
    most = float(likely.max())
    norm = math.lgamma(freedom) - math.lgamma(FREEDOM / 2) - (count - 1) / 2 * math.log(FREEDOM / 2)
    width = SHARES if at_rate else RATES
    return most + math.log(float(np.exp(likely - most).sum())) + norm + 0.5 * math.log(2 * math.pi) - math.log(width)


def _failures(levels: Sequence[_Level]) -> float:
    """Log evidence of the failures of levels by load: neighbours have one ratio where that is likelier than one for each. With
    one for each beyond the first block, 4 of 12 ramps into refusals were two regimes and had no knee.
    """
    found = failed = count = 0.0
    for level in sorted(levels):
        joined = _binomial(failed + level.failed, count + level.requests)
        if joined >= _binomial(failed, count) + _binomial(level.failed, level.requests):
            failed, count = failed + level.failed, count + level.requests
        else:
            found += _binomial(failed, count)
            failed, count = level.failed, level.requests
    return found + _binomial(failed, count)


@lru_cache(maxsize=4096)
def _binomial(failed: float, count: float) -> float:
    """Log evidence of so many failures at one ratio, whose prior is Jeffreys'."""
    return math.lgamma(failed + 0.5) + math.lgamma(count - failed + 0.5) - math.lgamma(count + 1.0) - math.log(math.pi)


def _latency(levels: Sequence[_Level]) -> float:
    by_rate: dict[int, list[tuple[float, float]]] = {}
    for level in levels:
        if level.latency_ms is not None:
            at = round(math.log(level.users) / SAME_RATE)
            by_rate.setdefault(at, []).append((math.log(level.latency_ms), level.latency_error**-2))
    return math.fsum(map(_normal, by_rate.values()))


def _normal(values: Sequence[tuple[float, float]]) -> float:
    """Log evidence of values with weights around one mean."""
    total = math.fsum(weight for _, weight in values)
    mean = math.fsum(value * weight for value, weight in values) / total
    missed = math.fsum(weight * (value - mean) ** 2 for value, weight in values)
    size = math.fsum(math.log(weight / (2 * math.pi)) for _, weight in values) - math.log(total / (2 * math.pi))
    return (size - missed) / 2 - math.log(LATENCIES)


# -- the likeliest partition


class _History(NamedTuple):
    """One way to divide the levels so far."""

    states: tuple[_State, ...]
    """The latest one last."""
    log_odds: float
    """Of all changes."""

    @property
    def likelihood(self) -> float:
        return self.log_odds + math.fsum(state.evidence for state in self.states)


def _followed(history: _History, level: _Level, grown: Mapping[int, _State], new: _State) -> Iterator[_History]:
    """The history, if the service did not change before this level, became another one, or an earlier one again.

    `grown`: its states, each with the level, by id; `new`: a state of the level alone. Histories have most states in common.
    """
    if not history.states:
        yield _History((new,), 0.0)
        return
    *earlier, latest = history.states
    yield _History((*earlier, grown[id(latest)]), history.log_odds)
    yield _History((*history.states, new), history.log_odds + level.change)
    for state in earlier:
        others = [each for each in history.states if each is not state]
        yield _History((*others, grown[id(state)]), history.log_odds + level.change + RETURN)


_known: dict[tuple[_Grid, tuple[_Level, ...]], list[_History]] = {}
"""Results by levels: an epoch is judged many times as it grows."""


def _histories(levels: tuple[_Level, ...], grid: _Grid) -> list[_History]:
    """The likeliest ways to divide these levels, the likeliest first."""
    sizes = range(len(levels), max(len(levels) - NEW_MOST, 0), -1)
    size = next((size for size in sizes if (grid, levels[:size]) in _known), 0)
    found = _known[grid, levels[:size]] if size else [_History((), 0.0)]
    for index, level in enumerate(levels[size:], size):
        states = {id(state): state for history in found for state in history.states}
        grown = {key: _State.of(state, index, level, grid) for key, state in states.items()}
        new = _State.of(None, index, level, grid)
        following = [each for history in found for each in _followed(history, level, grown, new)]
        found = sorted(following, key=lambda each: -each.likelihood)[:HISTORIES]
        if len(_known) >= KNOWN_MOST:
            _known.pop(next(iter(_known)))
        _known[grid, levels[: index + 1]] = found
    return found


def _likeliest(levels: Sequence[_Level]) -> list[list[int]]:
    """Indices of the levels of each regime."""
    return sorted(list(state.at) for state in _histories(tuple(levels), _Grid.of(levels))[0].states)


def _explained_by_load(measured: Sequence[Measured], groups: list[list[int]]) -> list[list[int]]:
    """The groups, where one that began with a step up from another group, and ended with a step down to it, joins it.

    A level with much less load (RETURN_LEAST) shows nothing: it would be clean with half of the capacity too.
    """
    users = [each.ladder_level.users for each in measured]
    for fell in groups:
        for around in groups:
            before, after = ([at for at in around if side(at)] for side in (fell[0].__gt__, fell[-1].__lt__))
            if not before or not after or any(began_inside(measured[at]) for at in (fell[0], after[0])):
                continue
            at_rate = isinstance(measured[fell[0]].level.load, Rate)  # a backlog may outlast further steps down
            is_beyond = max(users[at] for at in around) < min(users[at] for at in (fell[:1] if at_rate else fell))
            if is_beyond and users[after[0]] >= round(RETURN_LEAST * max(users[at] for at in before)):
                others = [group for group in groups if group is not fell and group is not around]
                return _explained_by_load(measured, sorted([*others, sorted([*around, *fell])]))
    return groups


def regimes_of(measured: Sequence[Measured]) -> tuple[Regime, ...]:
    """The regimes of an epoch in the order they began. `measured`: its levels in the order they ran."""
    if not measured:
        return ()
    levels = [_level(each, measured[0]) for each in measured]
    groups = _explained_by_load(measured, _likeliest(levels))
    least = min(levels[at].failure_ratio for at in groups[0])
    found = [Regime([measured[at] for at in groups[0]])]
    for group in groups[1:]:
        now, began = [measured[at] for at in group], _began(levels, group, least)
        if began == "failures" and found[-1].fails and found[-1].measured[-1] is measured[group[0] - 1]:
            found[-1].measured += now  # failures go on
        else:
            found.append(Regime(now, began, began_inside(now[0])))
    return tuple(found)


def _began(levels: Sequence[_Level], group: Sequence[int], least_ratio: float) -> Began:
    """What changed: failures if most levels have more than the first regime, latency if it tells them from those before and
    goodput at the same load does not.
    """
    ratios = sorted(levels[at].failure_ratio for at in group)
    if ratios[len(ratios) // 2] - least_ratio >= FAILING:
        return "failures"
    now = levels[group[0]]
    same = [level for level in levels[: group[0]] if abs(level.users - now.users) <= SAME_RATE * now.users]
    alike = [level for level in same if abs(level.goodput_rps - now.goodput_rps) <= RELEVANT * level.goodput_rps]
    return "latency" if any(_latency([level, now]) < _latency([level]) + _latency([now]) for level in alike) else "goodput"
