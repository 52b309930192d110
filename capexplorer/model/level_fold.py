"""Accumulates the seconds of a level, of which only settled ones count for rates, latencies and readings, or those of a ramp."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from .columns import Columns, append, empty, row
from .events import EndpointTick, LevelOpened, Sample
from .figures import LevelBin, LevelFigures
from .merged import Merged
from .offered import OfferedTick
from .reading_means import ReadingSums
from .slice import Slice


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
        self._seconds: dict[int, tuple[tuple[EndpointTick, ...], OfferedTick | None]] = {}
        """Endpoints and iterations of each second, by column index."""
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
        self._seconds[tick] = sample.endpoints, sample.offered
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
        for endpoints, offered in (self._seconds[tick] for tick in ticks):
            merged.add_endpoints(endpoints)
            merged.offered.add(offered)
        for load in loads:
            merged.readings.merge(self._readings[load])
        figures = Slice(self._columns, ticks).figures(merged, with_histogram=with_histogram)
        warmup = sum(each.warmup_failures for tick in ticks for each in self._seconds[tick][0])
        return LevelBin(
            users=figures.users_mean or 0.0,
            figures=msgspec.structs.replace(figures, failures_while_unsettled=warmup),
            endpoints=merged.endpoint_figures(with_histogram=with_histogram),
        )
