"""A level in a timeline: its figures so far while it is open, and the recorded ones once it has closed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from .columns import Columns, append, empty, row
from .events import EndpointTick, LevelClosed, LevelOpened, Sample
from .figures import LevelBin, LevelEndpoint, LevelFigures
from .histogram import LatencyHistogram, merged
from .load import Load, OfferedTick, Users
from .reading_means import ReadingSums
from .slice import Merged, Slice
from .stages import LatencyKind, texts


class LevelFold:
    """The seconds of a level so far; `figures` may be called at any time."""

    def __init__(
        self,
        columns: Columns | None = None,
        own: Iterable[int] = (),
        ticks: Iterable[int] = (),
        merged: Merged | None = None,
    ) -> None:
        """`columns`: those of the timeline that the level belongs to; None: its own. `own`, `ticks`: column indices of its
        seconds, and of the settled ones among them. `merged`: the sums over these; None: there are none.
        """
        self._columns = empty() if columns is None else columns
        self._own, self.ticks = array("I", own), array("I", ticks)
        self.merged = Merged() if merged is None else merged

    @property
    def settled(self) -> Slice:
        """The settled seconds so far."""
        return Slice(self._columns, self.ticks)

    @property
    def settled_s(self) -> float | None:
        """When the first of them began."""
        return self.settled.began_s

    def add(self, sample: Sample, tick: int | None = None) -> None:
        """Add one tick of this level. `tick`: its index in the columns of the timeline; None: it goes to those of its own."""
        if tick is None:
            tick = len(self._own)
            append(self._columns, row(sample))
        self._own.append(tick)
        if sample.settled:
            self.ticks.append(tick)
            self.merged.add(sample)

    def without(self, samples: Sequence[Sample]) -> LevelFold:
        """A copy without the level's last ticks, `samples`, at whose beginning a shift was found."""
        settled = [sample for sample in samples if sample.settled]
        own, ticks = self._own[: len(self._own) - len(samples)], self.ticks[: len(self.ticks) - len(settled)]
        return LevelFold(self._columns, own, ticks, self.merged.without(settled))

    def figures(self, *, with_histogram: bool = False) -> LevelFigures:
        """The level's figures so far; rates are None while it has not settled."""
        return msgspec.structs.replace(
            self.settled.figures(self.merged, with_histogram=with_histogram),
            failures_while_unsettled=int(sum(Slice(self._columns, self._own).values("unsettled_failures"))),
            warm_ratio=self._warm_ratio(),
        )

    def _warm_ratio(self) -> float | None:
        """The share of warm users in the latest second with users."""
        warm, users = self._columns["warm_users"], self._columns["users"]
        return next((warm[tick] / users[tick] for tick in reversed(self._own) if users[tick] and warm[tick] == warm[tick]), None)


RAMP_BINS = 24
"""Greatest number of bins of a ramp: with more, a bin of a short ramp would have too few seconds."""


class RampFold:
    """The seconds of a ramp, to be binned by user count or offered rate."""

    def __init__(self, columns: Columns | None = None, binned_by: Literal["users", "offered_per_s"] = "users") -> None:
        """`columns`: as of a LevelFold. `binned_by`: the column by which seconds are binned."""
        self._columns = empty() if columns is None else columns
        self._binned_by = binned_by
        self._seconds: dict[int, tuple[tuple[EndpointTick, ...], tuple[EndpointTick, ...], OfferedTick | None]] = {}
        """Endpoints, metrics and iterations of each second, by column index."""
        self._readings: dict[float, ReadingSums] = {}
        """Sums of readings by user count or rate: each belongs to one bin as a whole."""
        self._ticks = 0

    @classmethod
    def of(cls, opened: LevelOpened, columns: Columns | None = None) -> RampFold:
        """For a ramp of users, or of an offered rate."""
        return cls(columns, opened.load.column)

    def add(self, sample: Sample, tick: int | None = None) -> None:
        """Add one tick, unless the process was suspended in it. `tick`: as of a LevelFold."""
        if tick is None:
            tick, self._ticks = self._ticks, self._ticks + 1
            append(self._columns, row(sample))
        at = self._columns[self._binned_by][tick]
        if sample.suspended_s is not None or at != at:
            return
        self._seconds[tick] = sample.endpoints, sample.metrics, sample.offered
        self._readings.setdefault(at, ReadingSums()).add(sample)

    def bins(self, *, with_histogram: bool = False) -> tuple[LevelBin, ...]:
        """At most RAMP_BINS bins of equal width, without empty ones, ascending."""
        if not self._seconds:
            return ()
        loads = {tick: self._columns[self._binned_by][tick] for tick in self._seconds}
        least = min(loads.values())
        width = max(1.0, (max(loads.values()) - least + 1) / RAMP_BINS)
        members: dict[int, list[int]] = {}
        for tick, load in loads.items():
            members.setdefault(int((load - least) / width), []).append(tick)
        return tuple(
            self._bin(members[index], {loads[tick] for tick in members[index]}, with_histogram) for index in sorted(members)
        )

    def _bin(self, ticks: Sequence[int], loads: Iterable[float], with_histogram: bool) -> LevelBin:
        merged = Merged()
        for endpoints, metrics, offered in (self._seconds[tick] for tick in ticks):
            merged.add_endpoints(endpoints, metrics)
            merged.offered.add(offered)
        for load in loads:
            merged.readings.merge(self._readings[load])
        figures = Slice(self._columns, ticks).figures(merged, with_histogram=with_histogram)
        warmup = sum(each.warmup_failures for tick in ticks for each in self._seconds[tick][0])
        return LevelBin(
            users=figures.users_mean or 0.0,
            figures=msgspec.structs.replace(figures, failures_while_unsettled=warmup),
            endpoints=merged.endpoint_figures(with_histogram=with_histogram),
            metrics=merged.metric_figures(),
        )


Void = Literal["worker_lost"]
"""Reason why a level has no figures."""

Folded = tuple[LevelFold, RampFold | None]
"""The accumulated seconds of a level, or of a ramp."""


def histogram_of(figures: LevelFigures, endpoints: Sequence[LevelEndpoint], kind: LatencyKind = "total") -> LatencyHistogram:
    """The latency histogram that was recorded with the figures of a level or of a ramp's bin; in total at an offered rate that of
    times from plan.
    """
    if figures.offered is not None and kind == "total":
        return merged([figures.offered.from_plan] if figures.offered.from_plan else [])
    return merged(texts(endpoints, kind))


def _nothing_folded(opened: LevelOpened, columns: Columns | None) -> Folded:
    return LevelFold(columns), RampFold.of(opened, columns) if opened.ramp else None


class Level:
    """A level, open or closed. It computes figures, and does not judge them."""

    def __init__(
        self, opened: LevelOpened, first_index: int, opened_index: int | None = None, columns: Columns | None = None
    ) -> None:
        """`columns`: those of the timeline that it belongs to; None: no tick is added to it."""
        self.opened = opened
        self.first_index = first_index
        """Column index of its first tick."""
        self.opened_index = first_index if opened_index is None else opened_index
        """Column index of the first tick after the level was opened. Later than `first_index` for a level opened by a shift,
        which is detected with a delay."""
        self.closed: LevelClosed | None = None
        self._folded: Folded | None = None
        self._fold_again: Callable[[], Folded] | None = partial(_nothing_folded, opened, columns)
        """Makes `_folded` when it is first needed: most levels of a replay never need it."""
        self._figures: LevelFigures | None = None
        self._endpoints: tuple[LevelEndpoint, ...] | None = None

    def fold_lazily(self, fold: Callable[[], Folded]) -> None:
        """Replace the accumulated seconds by the result of `fold`, which is called only when a figure is needed."""
        self._folded, self._fold_again, self._figures, self._endpoints = None, fold, None, None

    @property
    def fold(self) -> LevelFold | None:
        """The accumulated seconds; None once the level has closed."""
        folded = self._seconds()
        return folded[0] if folded is not None else None

    def _seconds(self) -> Folded | None:
        if self._folded is None and self._fold_again is not None:
            self._folded, self._fold_again = self._fold_again(), None
        return self._folded

    @property
    def load(self) -> Load:
        """The requested load, by which the level is named."""
        return self.opened.load

    @property
    def users(self) -> int:
        """The requested user count, by which the level is named."""
        return self.opened.users

    @property
    def has_load(self) -> bool:
        """Whether users or a rate above 0 were requested, so that requests are expected."""
        return not self.load.is_zero

    @property
    def started_s(self) -> float:
        """Start of the level's seconds: when it opened, or the time of the shift that opened it."""
        return self.opened.t_s if self.opened.since_s is None else self.opened.since_s

    @property
    def settled_s(self) -> float | None:
        """When it settled, in seconds of the session; None if it has not."""
        if self.closed is not None:
            return self.closed.settled_s
        return self.fold.settled_s if self.fold else None

    @property
    def ended_s(self) -> float | None:
        """When it ended, in seconds of the session; None while it is open."""
        if self.closed is None:
            return None
        return self.closed.t_s if self.closed.ended_s is None else self.closed.ended_s

    @property
    def void(self) -> Void | None:
        """Why it has no figures; None if it has some."""
        return self.closed.void if self.closed is not None else None

    @property
    def figures(self) -> LevelFigures:
        """The figures recorded when the level closed, or the figures so far."""
        if self.closed is not None:
            return self.closed.figures
        if self._figures is None:
            assert self.fold is not None  # an open level always has a fold
            self._figures = self.fold.figures()
        return self._figures

    @property
    def endpoints(self) -> tuple[LevelEndpoint, ...]:
        """Figures of each endpoint over its settled seconds."""
        if self.closed is not None:
            return self.closed.endpoints
        if self._endpoints is None:
            assert self.fold is not None
            self._endpoints = self.fold.merged.endpoint_figures()
        return self._endpoints

    @property
    def metrics(self) -> tuple[LevelEndpoint, ...]:
        """Figures of each metric of user code over its settled seconds."""
        if self.closed is not None:
            return self.closed.metrics
        assert self.fold is not None
        return self.fold.merged.metric_figures()

    @property
    def histogram(self) -> LatencyHistogram:
        """Latencies of successes in its settled seconds; at an offered rate times from plan. Empty in logs without histograms."""
        return self.histogram_of("total")

    def histogram_of(self, kind: LatencyKind) -> LatencyHistogram:
        """As `histogram`, of a stage of these successes."""
        fold = self.fold
        if fold is None:
            return histogram_of(self.figures, self.endpoints, kind)
        return (
            fold.merged.offered.histogram if kind == "total" and not isinstance(self.load, Users) else fold.merged.histogram(kind)
        )

    @property
    def bins(self) -> tuple[LevelBin, ...]:
        """The seconds of a ramp, binned by user count; empty for other levels."""
        if self.closed is not None:
            return self.closed.bins
        folded = self._seconds()
        return folded[1].bins() if folded is not None and folded[1] is not None else ()

    def ending(
        self, t_s: float, ended_s: float | None = None, later: Sequence[Sample] = (), void: Void | None = None
    ) -> LevelClosed:
        """The event that closes the level at `t_s`. For a shift, `ended_s` is its time, and `later` are the ticks since then,
        which belong to the next level. `void`: why the level has no figures.
        """
        folded = self._seconds()
        assert folded is not None  # an open level always has a fold
        fold, ramp = (folded[0].without(later) if later else folded[0]), folded[1]
        measured: dict[str, Any] = {
            "ended_s": ended_s,
            "settled_s": fold.settled_s,
            "figures": fold.figures(with_histogram=True),
            "endpoints": fold.merged.endpoint_figures(with_histogram=True),
            "metrics": fold.merged.metric_figures(),
            "bins": ramp.bins(with_histogram=True) if ramp is not None else (),
        }
        if void is not None:
            failures = measured["figures"].failures + measured["figures"].failures_while_unsettled
            measured = {"void": void, "figures": LevelFigures(settled=False, failures_while_unsettled=failures)}
        return LevelClosed(
            t_s=t_s,
            index=self.opened.index,
            users=self.load.users,
            offered_per_s=self.load.per_s,
            started_s=self.started_s,
            **measured,
        )

    def add(self, sample: Sample, tick: int) -> None:
        """Add one tick; ignored once the level has closed, whose figures include it. `tick`: its column index."""
        folded = self._seconds()
        if folded is not None:
            self._figures = self._endpoints = None
            folded[0].add(sample, tick)
            if folded[1] is not None:
                folded[1].add(sample, tick)

    def close(self, closed: LevelClosed) -> None:
        """Adopt the recorded figures and drop the accumulated seconds."""
        self.closed = closed
        self._folded = self._fold_again = self._figures = self._endpoints = None
