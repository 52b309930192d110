"""A service's own series and lines of its log, level by level.

Of a level only the means of its series remain once it has closed, and counts of groups of lines, so that a day of it stays small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import msgspec

from ...model import one_blas_thread  # noqa: F401  before numpy is loaded
from ...model.events import LevelClosed, LevelOpened, Log, Sample
from ...model.level import Level
from ...model.telemetry import SeriesKind
from ..log_text import Tracebacks, grouped, without_tokens

# isort: split
import numpy as np
from numpy.typing import NDArray

from .bends import LevelMeans, means_and_errors

SERIES_MOST = 1_000
"""Series of one session that are compared, in order of appearance."""

GROUPS_MOST = 500
"""Groups of lines of one session; lines of further ones are not counted."""

SECONDS_LEAST = 4
"""A level needs more of them: three means and a growth to spare. The levels of a search have six or seven settled seconds."""

SECONDS_KEPT = 512
"""Seconds of the open level that are kept one by one; then pairs of them are averaged."""


# -- series


class SeriesKey(msgspec.Struct, frozen=True):
    """A series: the part that has it (empty: the target's own metrics; None: lines of its log), and its name."""

    part: str | None
    name: str


class LevelSeries(msgspec.Struct):
    """The means of a level's series, and of their growth per second, with standard errors; each of length S or shorter."""

    times_s: float
    means: NDArray[np.float64]
    errors: NDArray[np.float64]
    growths: NDArray[np.float64]
    growth_errors: NDArray[np.float64]


class Rows:
    """The settled seconds of the open level."""

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self.values: list[NDArray[np.float64]] = []

    def add(self, t_s: float, values: NDArray[np.float64]) -> None:
        """Add one second."""
        if len(self.values) >= SECONDS_KEPT:
            self.times_s = self.times_s[1::2]
            pairs = zip(self.values[::2], self.values[1::2], strict=True)
            self.values = [(_padded(first, len(second)) + second) / 2 for first, second in pairs]
        self.times_s.append(t_s)
        self.values.append(values)

    def split(self, since_s: float) -> Rows:
        """Take the seconds after `since_s`."""
        later = Rows()
        while self.times_s and self.times_s[-1] > since_s:
            later.times_s.insert(0, self.times_s.pop())
            later.values.insert(0, self.values.pop())
        return later

    def folded(self, counts: Sequence[int]) -> LevelSeries | None:
        """Their means; None for too few of them. `counts`: columns that are 0 where they are not known."""
        if len(self.values) <= SECONDS_LEAST:
            return None
        width = len(self.values[-1])
        rows, times_s = np.array([_padded(each, width) for each in self.values]), np.array(self.times_s)
        lines = [each for each in counts if each < width]
        rows[:, lines] = np.nan_to_num(rows[:, lines])
        growth = np.diff(rows, axis=0) / np.maximum(np.diff(times_s), 1e-3)[:, np.newaxis]
        return LevelSeries(float(times_s.mean()), *means_and_errors(rows), *means_and_errors(growth))


def _padded(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    return np.concatenate([values, np.full(width - len(values), math.nan)]) if len(values) < width else values


_COUNTER = re.compile(r"(?:_total|_count|_sum|_bucket|_created)(?:\{|$)")
_RATE, _MEAN = re.compile(r"_per_s(?=\{|$)"), re.compile(r"_mean(?=\{|$)")
_SUM = re.compile(r"_sum(?=\{|$)")


class RecordedSeries:
    """All series of a session."""

    def __init__(self) -> None:
        self.columns: dict[SeriesKey, int] = {}
        self.levels: dict[int, LevelSeries] = {}
        self._open: dict[int, Rows] = {}
        self._counts: list[int] = []
        """Columns of groups of lines."""
        self._last = np.empty(0)
        self.has_fallen: set[int] = set()
        """Columns whose value decreased while the target ran on: no counters."""
        self._shifted = Rows()
        """Seconds after the end of a level that a shift ended."""

    def add(self, sample: Sample, lines: Mapping[str, int]) -> None:
        """Add one second. `lines`: printed in it, by group."""
        sources = (("", sample.app), *((each.name, each.server) for each in sample.parts), (None, lines))
        values = np.full(len(self.columns) + sum(len(figures) for _, figures in sources), math.nan)
        for part, figures in sources:
            for name, value in figures.items():
                column = self.columns.get(key := SeriesKey(part, name))
                if column is None and len(self.columns) < SERIES_MOST:
                    column = self.columns[key] = len(self.columns)
                    self._counts += [column] if part is None else []
                if column is not None:
                    values[column] = value
        if not self.columns:
            return
        values = values[: len(self.columns)]
        before = _padded(self._last, len(values))
        self.has_fallen.update(np.flatnonzero(values < before).tolist())
        self._last = np.where(np.isnan(values), before, values)
        if sample.settled:
            self._open.setdefault(sample.level, Rows()).add(sample.t_s, values)

    def restarted(self) -> None:
        """Counters begin again."""
        self._last = np.empty(0)

    def closed(self, event: LevelClosed) -> None:
        """Fold the level's seconds, without those after the shift that ended it."""
        rows = self._open.pop(event.index, None)
        if rows is None or event.void is not None:
            return
        if event.ended_s is not None:
            self._shifted = rows.split(event.ended_s)
        if (found := rows.folded(self._counts)) is not None:
            self.levels[event.index] = found

    def opened(self, event: LevelOpened) -> None:
        """A level that a shift opened has the seconds since then."""
        if event.since_s is not None:
            self._open[event.index], self._shifted = self._shifted, Rows()

    def at(self, levels: Sequence[Level]) -> tuple[list[NamedSeries], LevelMeans]:
        """Names and kinds of S series, and their means at these levels, which have folded seconds; NaN: not known.

        A counter is compared by its growth. One that appears later has not grown before.
        """
        width, folded_levels = len(self.columns), [self.levels[each.opened.index] for each in levels]

        def table(name: str) -> NDArray[np.float64]:
            return np.array([_padded(getattr(each, name), width) for each in folded_levels]).reshape(len(levels), width)

        means, errors, growths, growth_errors = map(table, ("means", "errors", "growths", "growth_errors"))
        named: list[NamedSeries] = []
        columns: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        for key, column in self.columns.items():
            kind = self._kind(key, column)
            if key.part == "" and kind == "rate":
                found = growths[:, column], growth_errors[:, column]
                if _SUM.search(key.name):
                    count = self.columns.get(SeriesKey("", _SUM.sub("_count", key.name)))
                    if count is None:
                        continue
                    kind, found = "mean", _ratio(found, (growths[:, count], growth_errors[:, count]))
            else:
                found = means[:, column], errors[:, column]
            named.append(NamedSeries(key.name if key.part is None else _shown(key.name, kind), key.part, kind))
            columns.append(_from_zero(*found) if kind == "rate" else found)
        shape = (len(levels), len(named))
        return named, LevelMeans(
            loads=np.array([each.load.amount for each in levels]),
            goodput=np.array([each.figures.goodput_rps or 0.0 for each in levels]),
            times_s=np.array([each.times_s for each in folded_levels]),
            means=np.array([each for each, _ in columns]).T.reshape(shape),
            errors=np.array([error for _, error in columns]).T.reshape(shape),
        )

    def _kind(self, key: SeriesKey, column: int) -> SeriesKind:
        """By its name and, of the target's own metrics, which have no types: what never decreases is a counter."""
        if key.part is None:
            return "rate"
        if key.part:
            return "rate" if _RATE.search(key.name) else "mean" if _MEAN.search(key.name) else "gauge"
        return "rate" if _COUNTER.search(key.name) or column not in self.has_fallen else "gauge"


class NamedSeries(msgspec.Struct, frozen=True):
    """A series as it is compared: `name` as the service knows it."""

    name: str
    part: str | None
    kind: SeriesKind


def _shown(name: str, kind: SeriesKind) -> str:
    """The name by which the service knows it."""
    return _MEAN.sub("", _SUM.sub("", name)) if kind == "mean" else _RATE.sub("", name)


def _ratio(
    above: tuple[NDArray[np.float64], NDArray[np.float64]], below: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and error of the ratio of two growths: what a summary observed on average."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(below[0] > 0, above[0] / below[0], math.nan)
        error = np.abs(mean) * np.hypot(above[1] / above[0], below[1] / below[0])
    return mean, np.where(above[0] == 0, 0.0, error)


def _from_zero(means: NDArray[np.float64], errors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """With zeros before the first value: labels of a counter appear with its first event."""
    first = int(np.argmax(~np.isnan(means)))
    return np.where(np.arange(len(means)) < first, 0.0, means), np.where(np.arange(len(means)) < first, 0.0, errors)


# -- lines


class LineGroup(msgspec.Struct):
    """Lines that are equal but for what varies: their number in settled seconds, and the time of the first line in any second, by
    index of the level."""

    text: str
    is_exception: bool
    lines: dict[int, int] = msgspec.field(default_factory=dict)
    first_s: dict[int, float] = msgspec.field(default_factory=dict)


class LineGroups:
    """All lines of the target's log."""

    def __init__(self) -> None:
        self.groups: dict[str, LineGroup] = {}
        self._new: dict[str, int] = {}
        self._tracebacks = Tracebacks()

    def add(self, log: Log, level: int) -> None:
        """Add a line that was printed in a level."""
        for line in log.text.split("\\n") if "Traceback (most" in log.text else (log.text,):  # a traceback as text of JSON
            read = self._tracebacks.read(line)
            key = grouped(line if read.reason is None else read.reason)
            if read.is_frame or not key:
                continue
            group = self.groups.get(key)
            if group is None:
                if len(self.groups) >= GROUPS_MOST:
                    continue
                text = key if read.reason is None else without_tokens(read.reason)
                group = self.groups[key] = LineGroup(text, read.reason is not None)
            group.first_s.setdefault(level, log.t_s)
            self._new[key] = self._new.get(key, 0) + log.repeated

    def take(self, sample: Sample) -> Mapping[str, int]:
        """Lines of the second that the sample ends, by group."""
        found, self._new = self._new, {}
        for key, count in found.items() if sample.settled else ():
            lines = self.groups[key].lines
            lines[sample.level] = lines.get(sample.level, 0) + count
        return found
