"""The stretches of a level in which the service did not change: a partition of its seconds by goodput, latency and failures.

A level has constant load, so within a stretch nothing but noise varies. The likeliest of all partitions is found exactly, by
dynamic programming (Barry & Hartigan 1993; Fearnhead 2006). Its cuts are candidates, since seconds of a service are correlated:
the weakest is removed until each that remains is large, and likelier than none by SURE nats. This evidence is the profile
likelihood ratio of a normal series with its long-run variance, as of Student's t: the fewer the seconds, the less they show how
much a service varies. Pure; 0.5 ms for 60 seconds, 2 ms for 300.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..statistics import NOTABLE, Series, correlation_of, filled

Column = Literal["goodput", "latency", "failures"]

GOODPUT_CHANGE, LATENCY_CHANGE, FAILING_MORE = 0.20, 0.50, 0.20
"""Least change at a cut: of goodput and latency relative (170/s to 120/s is 0.29; latency varies more), of the failure ratio
absolute (overload near the knee refuses a few percent now and then). On one side at most NOTABLE fail: without a clean side
nothing began or ended there."""

SURE = 12.0
"""Nats by which a change is likelier than none: every second of every level may be one. Of 120 stationary series, tested every
five seconds as they grow, 2 have a cut."""

CANDIDATE = 4.0
"""Nats that each candidate costs: fewer give the same cuts later."""

SIDE_LEAST, SIDE_OF_NORMAL_LEAST = 2, 3
"""Least seconds of a stretch, and of one that goodput or latency shows: users who start together send in waves."""

INDEPENDENT_MOST = 20.0
"""Requests of one second, or of a level, that count as independent of each other: most fail for one reason."""

NOISE_LEAST = 0.03
"""Least relative standard deviation of a second: equal seconds show no more than these."""

CLIPPED = 0.34
"""Variance of a Poisson count that is clipped at its mean, over that of the count: 1/2 - 1/(2 pi), if the mean is large. Goodput
at an offered rate is clipped so, since more is the rest of a backlog (`shifts.searched`). With it 25 of 40 services of 40/s that
lost half of it at 30/s are divided there, with 1 it is 7; of 150 steady rates 13 are divided with either."""

BINS_MOST = 128
"""Bins among which candidates are searched; each cut is then placed to the second."""


class Seconds(msgspec.Struct, frozen=True):
    """Seconds of one level: one value of each series a second."""

    requests: Series
    failures: Series
    goodput: Series | None = None
    """Finished work, 1/s; None: not measured."""
    latency_ms: Series | None = None
    """Mean latency of successes, NaN for a second without one; None: not searched."""
    at_random: bool = False
    """Whether requests arrive at random, so that goodput varies at least as a Poisson count that is clipped at its mean."""

    def between(self, first: int, end: int) -> Seconds:
        """Those from index `first` to before `end`."""
        known = {name: series[first:end] for name in _SERIES if (series := getattr(self, name)) is not None}
        return msgspec.structs.replace(self, **known)


_SERIES = ("requests", "failures", "goodput", "latency_ms")


class Change(msgspec.Struct, frozen=True):
    """A change of the service."""

    at: int
    """Index of the first second after it."""
    column: Column
    """What shows it best."""


def changes_of(seconds: Seconds, least_s: int = SIDE_LEAST) -> list[Change]:
    """The changes, ascending. A stretch shorter than `least_s` seconds is no state of the service, but part of its neighbour."""
    search = _Search(seconds)
    cuts = search.certain(search.candidates()) if search.count >= 2 * least_s else []
    if least_s > SIDE_LEAST:
        cuts = search.certain(search.lasting(cuts, least_s))
    return search.changes(search.with_mixed_seconds(cuts))


class _Normal(msgspec.Struct, frozen=True):
    """A series that is normal within each stretch."""

    column: Column
    values: Series
    sums: Series
    squares: Series
    variance: float
    """Of a second, by its differences from the second before, few of which are changes of the service."""
    least: float
    """Least variance of a second."""

    @classmethod
    def of(cls, column: Column, values: Series, least: float) -> _Normal:
        noise = float(np.median(np.abs(np.diff(values)))) / 0.6745 if len(values) > 1 else 0.0
        return cls(column, values, _sums(values), _sums(values**2), max(least, noise**2 / 2, 1e-9), max(least, 1e-9))

    def cost(self, first: Index, end: Index) -> Series:
        """Half of the squared deviations from the mean between two indices, in units of the variance."""
        sums = self.sums[end] - self.sums[first]
        found: Series = self.squares[end] - self.squares[first] - sums**2 / np.maximum(np.subtract(end, first), 1)
        return found / (2 * self.variance)

    def evidence(self, edges: NDArray[np.int_]) -> Series:
        """Nats for each cut between `edges`."""
        lengths = np.diff(edges)
        means = np.diff(self.sums[edges]) / lengths
        residual = self.values - np.repeat(means, lengths)
        squares, freedom = float(residual @ residual), max(len(residual) - len(lengths), 1)
        correlation = correlation_of(residual, squares, len(lengths)) if squares > 1e-12 else 0.0
        variance = max(squares / freedom * (1 + correlation) / (1 - correlation), self.least)
        ratio = np.diff(means) ** 2 / (variance * (1 / lengths[1:] + 1 / lengths[:-1]))
        is_long = np.minimum(lengths[1:], lengths[:-1]) >= SIDE_OF_NORMAL_LEAST
        found: Series = np.where(is_long & self._is_large(means), freedom / 2 * np.log1p(ratio / freedom), 0.0)
        return found

    def _is_large(self, means: Series) -> NDArray[np.bool_]:
        if self.column == "latency":
            return np.abs(np.diff(means)) >= math.log1p(LATENCY_CHANGE)
        rates = means**2
        return np.abs(np.diff(rates)) > GOODPUT_CHANGE * np.maximum(rates[1:], rates[:-1])


class _Search:
    """Sums over the seconds, from which the cost of any stretch follows at once."""

    def __init__(self, seconds: Seconds) -> None:
        self.count = len(seconds.requests)
        self._normal: list[_Normal] = []
        if seconds.goodput is not None and self.count:
            least = max(4 * NOISE_LEAST**2 * float(seconds.goodput.mean()), CLIPPED if seconds.at_random else 0.0)
            self._normal.append(_Normal.of("goodput", 2 * np.sqrt(seconds.goodput), least))  # a count with variance 1
        if seconds.latency_ms is not None and not np.isnan(seconds.latency_ms).all():
            logs = np.log(np.maximum(filled(seconds.latency_ms), 1e-3))
            self._normal.append(_Normal.of("latency", logs, NOISE_LEAST**2))
        weights = np.minimum(1.0, INDEPENDENT_MOST / np.maximum(seconds.requests, 1.0))
        self._sent, self._failed = _sums(seconds.requests * weights), _sums(seconds.failures * weights)

    def candidates(self) -> list[int]:
        """The cuts of the likeliest partition."""
        step = math.ceil(self.count / BINS_MOST)
        edges = np.append(np.arange(0, self.count - step // 2, step), self.count)
        side = math.ceil(SIDE_LEAST / step)
        costs = self._cost(edges[:, None], edges[None, :]) + CANDIDATE
        best, begins = np.full(len(edges), np.inf), np.zeros(len(edges), int)
        best[0] = 0.0
        for end in range(side, len(edges)):
            total = best[: end - side + 1] + costs[: end - side + 1, end]
            begins[end] = begin = int(total.argmin())
            best[end] = total[begin]
        cuts: list[int] = []
        end = int(begins[-1])
        while end:
            cuts.insert(0, int(edges[end]))
            end = int(begins[end])
        return self._placed(cuts, step) if step > 1 else cuts

    def _placed(self, cuts: list[int], step: int) -> list[int]:
        """The cuts, each at the likeliest second of the bins beside it."""
        for index, cut in enumerate(cuts):
            before, after = [0, *cuts][index], [*cuts, self.count][index + 1]
            near = np.arange(max(before + SIDE_LEAST, cut - step), min(after - SIDE_LEAST, cut + step) + 1)
            if len(near):
                cuts[index] = int(near[(self._cost(before, near) + self._cost(near, after)).argmin()])
        return cuts

    def certain(self, cuts: list[int]) -> list[int]:
        """The cuts without those that are too weak. They are removed one by one, the one that explains least first, since the
        others look stronger once it is gone.
        """
        while cuts:
            weak = np.sum([*self._evidence(cuts).values()], axis=0) < SURE
            if not weak.any():
                break
            edges = np.array([0, *cuts, self.count])
            before, at, after = edges[:-2], edges[1:-1], edges[2:]
            explained = self._cost(before, after) - self._cost(before, at) - self._cost(at, after)
            del cuts[int(np.where(weak, explained, np.inf).argmin())]
        return cuts

    def lasting(self, cuts: list[int], least_s: int) -> list[int]:
        """The cuts without those of short stretches, which join the neighbour that they are more like."""
        while cuts:
            edges = [0, *cuts, self.count]
            shortest = min(range(len(edges) - 1), key=lambda at: edges[at + 1] - edges[at])
            if edges[shortest + 1] - edges[shortest] >= least_s:
                break
            sides = [cut for cut in edges[shortest : shortest + 2] if 0 < cut < self.count]
            cuts = min(([cut for cut in cuts if cut != side] for side in sides), key=self._total)
        return cuts

    def with_mixed_seconds(self, cuts: Sequence[int]) -> list[int]:
        """The cuts, where the second in which failures began or ended is one of those that fail."""
        edges, found = [0, *cuts, self.count], []
        ratios = np.diff(self._failed) / np.maximum(np.diff(self._sent), 1e-9)
        for before, cut, after in zip(edges, edges[1:], edges[2:], strict=False):
            fails_more = float(ratios[cut:after].mean() - ratios[before:cut].mean())
            if fails_more > FAILING_MORE and ratios[cut - 1] > NOTABLE and cut - 1 - before >= SIDE_LEAST:
                found.append(cut - 1)
            elif fails_more < -FAILING_MORE and ratios[cut] > NOTABLE and after - cut - 1 >= SIDE_LEAST:
                found.append(cut + 1)
            else:
                found.append(cut)
        return found

    def changes(self, cuts: Sequence[int]) -> list[Change]:
        """The changes at these cuts."""
        evidence = self._evidence(cuts) if cuts else {}
        return [Change(cut, max(evidence, key=lambda column: float(evidence[column][at]))) for at, cut in enumerate(cuts)]

    def _total(self, cuts: Sequence[int]) -> float:
        return math.fsum(float(self._cost(first, end)) for first, end in pairwise([0, *cuts, self.count]))

    def _cost(self, first: Index, end: Index) -> Series:
        """Negative log likelihood of the stretch between two indices, up to a constant."""
        costs = [each.cost(first, end) for each in self._normal]
        if self._failed[-1] or not costs:  # without failures they cost nothing, and took a third of the time
            costs.insert(0, _binomial(self._failed[end] - self._failed[first], self._sent[end] - self._sent[first]))
        return sum(costs[1:], costs[0])

    def _evidence(self, cuts: Sequence[int]) -> dict[Column, Series]:
        """Nats for each of these cuts, by what shows it; 0 where the change is small."""
        edges = np.array([0, *cuts, self.count])
        return {**{each.column: each.evidence(edges) for each in self._normal}, "failures": self._evidence_of_failures(edges)}

    def _evidence_of_failures(self, edges: NDArray[np.int_]) -> Series:
        failed, sent = np.diff(self._failed[edges]), np.diff(self._sent[edges])
        ratios = failed / np.maximum(sent, 1e-9)
        apart, together = _binomial(failed, sent), _binomial(failed[1:] + failed[:-1], sent[1:] + sent[:-1])
        is_large = (np.abs(np.diff(ratios)) >= FAILING_MORE) & (np.minimum(ratios[1:], ratios[:-1]) <= NOTABLE)
        found: Series = np.where(is_large, together - apart[1:] - apart[:-1], 0.0)
        return found


Index = NDArray[np.int_] | int
"""One index or many."""


def _sums(values: Series) -> Series:
    return np.append(0.0, np.cumsum(values))


def _binomial(failed: Series, sent: Series) -> Series:
    """Negative log likelihood of so many failures at their own ratio."""
    succeeded = sent - failed
    with np.errstate(divide="ignore", invalid="ignore"):
        by_kind = [np.where(count > 1e-9, count * np.log(count / sent), 0.0) for count in (failed, succeeded)]
    found: Series = -(by_kind[0] + by_kind[1])
    return found
