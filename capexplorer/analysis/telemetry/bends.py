"""Which of many series change where the capacity curve does. Pure: arrays of levels to probabilities.

A series is compared with what it would do without a bend of its own: stay constant, grow with the load and drift with time,
follow the goodput, or grow with the square of the load. Beyond the bend it must leave all of these, in one direction: connections
that are open grow on with the users, CPU bends with the goodput, and neither tells anything new. It must leave them at the bend
of the curve: a change at another load that fits significantly better is another change, and so is one in time that fits better.

Levels are weighted by the errors of their means (batch means); with few levels Student's t demands more. Many series are
compared, so probabilities become the share of false findings to expect among all that are as clear (Benjamini & Hochberg 1995,
which also holds for series that rise together). `python -m lab.telemetry` measures it with simulated series.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import msgspec

from ...model import one_blas_thread  # noqa: F401  before numpy is loaded
from ...model.slice import BATCHES
from ..ladder import RELATIVE_ERROR_FLOOR
from ..statistics import RELEVANT, Series

# isort: split
import numpy as np
from numpy.typing import NDArray

LEVELS_LEAST = 6
"""A line over load and time with a bend has four parameters; two levels more say how well it fits."""

Q_MOST = 0.05
"""Greatest share of false findings to expect among those that are reported. In 154 simulated sessions (validation seeds 10,036 to
10,059; 52 series without a bend of their own in each, and 3 with one in half of them) the share was 0.5% where a lower load
followed, 3.2% where none did; of the lines 1.4% and 3.2%. Found were 40% of the queues, 48% of the counters. With 0.2 the share
was 3% on tuning seeds, and 5% more of the queues were found."""

_LOCATED = 3.84
"""A change at another load fits significantly better if chi-square is lower by this (95%, one parameter)."""

_LEAST_P = 1e-12
"""Smaller ones are rounding."""


class Bend(msgspec.Struct, frozen=True):
    """Where the curve bends."""

    load: float
    """Users or offered rate."""
    low: float
    high: float
    """Its interval."""


class LevelMeans(msgspec.Struct, frozen=True):
    """K levels, and the means of S series in each."""

    loads: Series
    goodput: Series
    """Per second; both (K,)."""
    times_s: Series
    """Middle of each level (K,)."""
    means: NDArray[np.float64]
    """(K, S), none of them NaN."""
    errors: NDArray[np.float64]
    """Standard errors of the means (K, S)."""

    def tell_time_apart(self, bend: Bend) -> bool:
        """Whether a level of less load came after one beyond the bend."""
        beyond = self.loads > bend.load
        return bool(self.times_s[~beyond].max() > self.times_s[beyond].min())

    def of(self, levels: NDArray[np.bool_], series: NDArray[np.intp]) -> LevelMeans:
        """These levels and series only."""
        return LevelMeans(
            self.loads[levels],
            self.goodput[levels],
            self.times_s[levels],
            self.means[np.ix_(levels, series)],
            self.errors[np.ix_(levels, series)],
        )


def means_and_errors(rows: NDArray[np.float64]) -> tuple[Series, Series]:
    """Means of each column of (seconds, S) over the seconds in which it is known, and their standard errors by BATCHES batch
    means, of fewer seconds by each; NaN where a batch has no value."""
    count = min(BATCHES, len(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a batch without a value
        batches = np.array([np.nanmean(each, axis=0) for each in np.array_split(rows, count)])
        means = np.nanmean(rows, axis=0)
    return means + 0 * batches.sum(axis=0), batches.std(axis=0, ddof=1) / math.sqrt(count)


Shape = Callable[[Series, float], Series]
"""(loads, load of the bend) -> what a series adds at each load for a change of 1."""


def _slope(loads: Series, at: float) -> Series:
    return np.maximum(0.0, loads - at)


def _step(loads: Series, at: float) -> Series:
    return (loads > at).astype(np.float64)


SHAPES: tuple[Shape, ...] = (_slope, _step)
"""A queue or a time grows on beyond the bend; a counter of refusals may jump there and stay. Jumps count only if a level of less
load followed: else they may be jumps in time (without that 18% of such sessions had a false finding among theirs)."""


def probabilities(levels: LevelMeans, bend: Bend) -> Series:
    """(S,) probabilities that a series without a bend of its own differs as much; 1 for one whose change is too small to matter,
    or is at another load. All 1 if the levels are too few, or on one side of the bend."""
    loads, series = levels.loads, levels.means.shape[1]
    beyond = loads > bend.load
    if len(loads) < LEVELS_LEAST or not series or beyond.all() or not beyond.any():
        return np.ones(series)
    weights, greatest, found = _weights(levels, beyond), np.abs(levels.means).max(axis=0), np.ones(series)
    straight = ((loads, levels.times_s), (levels.goodput,), (loads**2,))
    shapes = SHAPES if levels.tell_time_apart(bend) else SHAPES[:1]
    here = [shape(loads, bend.load) for shape in shapes]
    for change in here:
        fits = [_fit(levels, along, change, weights) for along in straight]
        signs = np.array([np.sign(fit.change) for fit in fits])
        matters = np.all([np.abs(fit.change) * change.max() >= RELEVANT * greatest for fit in fits], axis=0)
        agrees = np.abs(signs.sum(axis=0)) == len(fits)
        p = np.max([fit.p for fit in fits], axis=0)
        found = np.minimum(found, np.where(matters & agrees, len(here) * p, 1.0))
    found = np.clip(found, _LEAST_P, 1.0)
    clear = np.flatnonzero(found <= Q_MOST)  # the share of false findings is never less than the probability
    some = levels.of(np.ones(len(loads), np.bool_), clear)
    found[clear[~_is_at(some, bend, here, weights[:, clear])]] = 1.0
    return found


def _weights(levels: LevelMeans, beyond: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Inverse variances of the means (K, S): one on each side of the bend, since six batches of a level are too few to know its
    own, and a queue that is empty below it varies beyond."""
    squares, least = levels.errors**2, RELATIVE_ERROR_FLOOR * np.abs(levels.means).max(axis=0)
    sides = np.where(beyond[:, np.newaxis], squares[beyond].mean(axis=0), squares[~beyond].mean(axis=0))
    variance = sides + least**2
    weights: NDArray[np.float64] = 1 / np.where(variance > 0, variance, 1.0)
    return weights


class _Fit(msgspec.Struct, frozen=True):
    """A weighted fit of each series, whose last parameter is the change at the bend."""

    change: Series
    p: Series
    chi2: Series


def _fit(levels: LevelMeans, along: Sequence[Series], change: Series, weights: NDArray[np.float64]) -> _Fit:
    """Of a constant, `along`, and `change`, which must be beyond both its error by the seconds of the levels and its error by how
    they scatter around the fit."""
    columns = np.column_stack([np.ones_like(change), *map(_scaled, along), _scaled(change)])
    count, parameters = columns.shape
    if np.linalg.matrix_rank(columns, tol=1e-6) < parameters:
        nothing = np.zeros(levels.means.shape[1])
        return _Fit(nothing, nothing + 1.0, nothing + math.inf)
    squares = (columns[:, :, np.newaxis] * columns[:, np.newaxis, :]).reshape(count, -1)
    inverse = np.linalg.inv((weights.T @ squares).reshape(-1, parameters, parameters))
    parameter = (inverse @ ((weights * levels.means).T @ columns)[:, :, np.newaxis])[:, :, 0]
    chi2 = (weights * (levels.means - columns @ parameter.T) ** 2).sum(axis=0)
    errors, freedom = np.abs(parameter[:, -1]) / np.sqrt(inverse[:, -1, -1]), count - parameters
    scattered = errors / np.sqrt(np.maximum(chi2 / freedom, _LEAST_P))
    p = np.maximum(student_t(errors, count * (BATCHES - 1)), student_t(scattered, freedom))
    return _Fit(parameter[:, -1] / (float(np.abs(change).max()) or 1.0), p, chi2)


def _scaled(column: Series) -> Series:
    """Numbers of similar size, so that the fit is not lost in rounding."""
    return column / (float(np.abs(column).max()) or 1.0)


def _is_at(levels: LevelMeans, bend: Bend, here: Sequence[Series], weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(S,) whether no change at a load outside the interval of the bend fits significantly better than those `here`, and none
    in some levels in a row, or from one on, fits better."""
    over_time, beyond = (levels.loads, levels.times_s), levels.loads > bend.load

    def least(changes: Sequence[Series]) -> Series:
        found = [_fit(levels, over_time, change, weights).chi2 for change in changes]
        return np.min(found, axis=0) if found else np.full(levels.means.shape[1], math.inf)

    loads = np.unique(levels.loads)
    between = [(low + high) / 2 for low, high in pairwise(loads) if high < bend.low or low > bend.high]
    elsewhere = [_slope(levels.loads, load) for load in loads[1:-1] if not bend.low <= load <= bend.high]
    elsewhere += [_step(levels.loads, load) for load in between]
    tells = levels.tell_time_apart(bend)
    at_times = [each.astype(np.float64) for each in _windows(levels.times_s) if not (tells and (each == beyond).all())]
    found, there = least(here), least(elsewhere)
    margin = _LOCATED * np.maximum(1.0, there / max(1, len(levels.loads) - 4))
    is_at: NDArray[np.bool_] = (found <= there + margin) & (found <= least(at_times))
    return is_at


def _windows(times_s: Series) -> Iterator[NDArray[np.bool_]]:
    """(K,) the levels in a row, up to three, and those from one on."""
    order, count = np.argsort(times_s), len(times_s)
    for first in range(count):
        for last in {*range(first + 1, min(first + 4, count)), count}:
            window = np.zeros(count, np.bool_)
            window[order[first:last]] = True
            yield window


# -- probabilities


def student_t(t: Series, freedom: int) -> Series:
    """Two-sided probabilities of Student's t with `freedom` degrees, exact (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    angle = np.arctan(t / math.sqrt(freedom))
    cosine, sine = np.cos(angle), np.sin(angle)
    odd = freedom % 2
    term, total = (cosine if odd else np.ones_like(angle)), np.zeros_like(angle)
    for index in range(1 + odd, freedom, 2):
        total = total + term
        term = term * cosine**2 * index / (index + 1)
    within = (2 / math.pi) * (angle + sine * total) if odd else sine * total
    return np.clip(1.0 - within, 0.0, 1.0)


def false_shares(p: Series) -> Series:
    """The share of false findings to expect among all that are at least as probable, of each (Benjamini & Hochberg)."""
    order = np.argsort(p, kind="stable")
    ranked = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty(len(p))
    found[order] = np.clip(np.minimum.accumulate(ranked[::-1])[::-1], 0.0, 1.0)
    return found
