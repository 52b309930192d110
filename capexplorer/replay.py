"""A saved session at any of its moments: the log's events, indexed while they are read, and a timeline for each requested moment.

A moment is a prefix of the log. What is small (levels, marks, notes, commands) is kept and folded again by the same
`Timeline.apply`; what there is of each second are columns, shared by all moments; a second itself, and a line of output, is read
again where it stands in the file. So a day needs 40 MB, and a jump back costs what a jump forwards does.

There is no index file: reading and decoding a day's 200 MB takes a second, and continues while the screen is in use. Must not
know the screen or its pace.
"""

from __future__ import annotations

import gc
import math
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple, overload

from .model.columns import Columns, extend, rows, ticks_of
from .model.events import Ended, Event, LevelOpened, Log, Mark, Note, Sample
from .model.level import Folded, Level, LevelFold, RampFold
from .model.slice import Merged
from .model.sources import Landmark
from .model.timeline import LOG_LINES, ReadLatencies, Timeline
from .session.reader import open_session

# -- seconds -------------------------------------------------------------------------------------------------------------------
# A level's accumulated seconds up to any moment of a recording, from columns and from the log.
#
# Columns have no histograms of endpoints and only some readings, so samples are read again from the log for these. To accumulate
# a level of 1,440 s from its start takes 20 ms. The latest state is continued if possible, and states are kept at intervals, so
# that any moment is near one.


KEEP_EVERY = 64
"""Settled seconds between states that are kept, each of about 8 KB: to continue from one takes at most 5 ms, for each second's
line is read and decoded again. A day has 1,350 of them.
"""


class LevelSeconds:
    """Accumulates the seconds of levels of a recording. `sample(tick)` reads the sample with this column index from the log."""

    def __init__(self, columns: Columns, sample: Callable[[int], Sample]) -> None:
        self._columns, self._sample = columns, sample
        self._latest: tuple[int, int, Merged] = (-1, 0, Merged())
        """The latest state: first tick of its level, number of settled seconds in it, and the sums."""
        self._states: dict[int, list[Merged]] = {}
        """By a level's first tick: the states after each KEEP_EVERY settled seconds."""

    def fold(self, opened: LevelOpened, first: int, stop: int, named: int) -> Folded:
        """The accumulated seconds of a level. Arguments as of `ticks_of`."""
        own = ticks_of(self._columns, opened.index, first, stop, named, settled=False)
        ticks = ticks_of(self._columns, opened.index, first, stop, named, settled=True)
        fold = LevelFold(self._columns, own, ticks, self._merged(first, ticks))
        return fold, self._ramp(opened, own) if opened.ramp else None

    def walk(self, opened: LevelOpened, first: int, stop: int, named: int) -> Iterator[None]:
        """Compute the states of a level in advance, one per step of the iterator."""
        ticks = ticks_of(self._columns, opened.index, first, stop, named, settled=True)
        for count in range(KEEP_EVERY, len(ticks), KEEP_EVERY):
            self._merged(first, ticks[:count])
            yield

    def _ramp(self, opened: LevelOpened, ticks: Sequence[int]) -> RampFold:
        ramp = RampFold.of(opened, self._columns)
        for tick in ticks:
            ramp.add(self._sample(tick), tick)
        return ramp

    def _merged(self, first: int, ticks: Sequence[int]) -> Merged:
        states = self._states.setdefault(first, [])
        done, merged = self._nearest(first, len(ticks), states)
        for count in range(done, len(ticks)):
            if count and count % KEEP_EVERY == 0 and count // KEEP_EVERY > len(states):
                states.append(merged.copy())
            merged.add(self._sample(ticks[count]))
        self._latest = first, len(ticks), merged
        return merged.copy()

    def _nearest(self, first: int, wanted: int, states: Sequence[Merged]) -> tuple[int, Merged]:
        """The longest kept state of at most `wanted` settled seconds: their number, and the state to continue from."""
        kept = min(wanted // KEEP_EVERY, len(states))
        level, latest, merged = self._latest
        if level == first and kept * KEEP_EVERY <= latest <= wanted:
            return latest, merged
        return (kept * KEEP_EVERY, states[kept - 1].copy()) if kept else (0, Merged())


_KINDS: dict[Landmark, type[Event]] = {"level": LevelOpened, "mark": Mark, "note": Note}

_LINES_REMEMBERED = 4_096
"""Number of output lines that are cached while the user scrolls."""


class _Kept(NamedTuple):
    """An event that is kept in memory, and the number of ticks before it."""

    event: Event
    ticks: int


class Replay:
    """A Recording of the log at `path`. Raises SessionError, in one line, for what is no session."""

    def __init__(self, path: Path, *, follow: bool = False) -> None:
        self.path, self.follows = path, follow
        self._reader = open_session(path)
        self.id = self._reader.header.id
        self.ended: Ended | None = None
        self._times = array("d")
        """For each event the latest time so far, which ascends even if an event was logged late."""
        self._whole = Timeline()
        """Only its columns, failures and their examples, of all that was read."""
        self._columns = self._whole.columns
        self._tick_numbers, self._tick_places = array("Q"), array("Q")
        """Of each tick: its event's number, and where its line begins."""
        self._log_numbers, self._log_places = array("Q"), array("Q")
        self._kept: list[_Kept] = []
        self._kept_numbers = array("Q")
        self._examples_from = array("Q")
        """The tick of each example of a failure, in their order."""
        self._seconds = LevelSeconds(self._columns, self._sample)
        self._latency_seconds = ReadLatencies(self._sample)
        self._moment: tuple[int, Timeline] | None = None
        """The timeline of the latest request, by its number of events."""
        self._preparing = self._prepare()
        self._line = lru_cache(_LINES_REMEMBERED)(self._log_line)
        self._take(0, self._reader.header)

    # -- reading

    @property
    def notes(self) -> Sequence[str]:
        """What was left out, a line each."""
        return self._reader.notes

    @property
    def duration_s(self) -> float:
        """Time of the latest event."""
        return self._times[-1]

    @property
    def read_ratio(self) -> float:
        """Bytes of the file now."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return 1.0
        return min(1.0, self._reader.position / size) if size else 1.0

    def read_on(self, for_s: float = math.inf) -> bool:
        """Read for about `for_s`; False when there was nothing new."""
        until_s, found = time.perf_counter() + for_s, False
        collects = gc.isenabled()
        gc.disable()  # a hundred thousand short-lived events a second, none in a cycle: collecting takes a third of the time
        try:
            while part := self._reader.read_on(wait=self.follows):
                found = True
                self._take_all(part)
                if time.perf_counter() >= until_s:
                    break
        finally:
            if collects:
                gc.enable()
        return found

    def prepare(self, for_s: float = math.inf) -> bool:
        """Once all is read: get ready, for about `for_s`, what makes jumps quick. False when there is nothing left to do."""
        until_s = time.perf_counter() + for_s
        return any(time.perf_counter() >= until_s for _ in self._preparing)

    def _prepare(self) -> Iterator[None]:
        opened = [kept for kept in self._kept if isinstance(kept.event, LevelOpened)]
        for kept, following in pairwise([*opened, None]):
            if kept is not None and isinstance(kept.event, LevelOpened):
                stop = following.ticks if following is not None else len(self._tick_numbers)
                since_s, first = kept.event.since_s, kept.ticks
                if since_s is not None:
                    first = bisect_right(self._columns["t_s"], since_s, 0, kept.ticks)
                yield from self._seconds.walk(kept.event, first, stop, kept.ticks)

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._reader.close()

    def _take_all(self, part: Sequence[tuple[int, Event | None]]) -> None:
        samples = []
        for place, event in part:
            if isinstance(event, Sample):
                samples.append(event)
                self._whole.endpoint_columns.add(event)
                self._tick(place, event)
            elif event is not None:
                self._take(place, event)
        if samples:
            extend(self._columns, rows(samples))

    def _tick(self, place: int, sample: Sample) -> None:
        tick = len(self._tick_numbers)
        self._tick_numbers.append(self._numbered(sample.t_s))
        self._tick_places.append(place)
        self._whole.count_failures(sample, tick)
        self._examples_from.extend([tick] * (len(self._whole.examples) - len(self._examples_from)))

    def _take(self, place: int, event: Event) -> None:
        number = self._numbered(event.t_s)
        if isinstance(event, Log):
            self._log_numbers.append(number)
            self._log_places.append(place)
            if event.source != "capexplorer":
                return  # read again when it is looked at; ours are few, and may be alarms
        if isinstance(event, Ended):
            self.ended = event
        self._kept_numbers.append(number)
        self._kept.append(_Kept(event, len(self._tick_numbers)))

    def _numbered(self, t_s: float) -> int:
        self._times.append(max(t_s, self._times[-1]) if self._times else max(t_s, 0.0))
        return len(self._times) - 1

    # -- moments

    def landmarks(self, kind: Landmark) -> Sequence[float]:
        """When levels opened, marks were made, closed or retracted, notes were written."""
        wanted = _KINDS[kind]
        return [
            self._times[number]
            for number, kept in zip(self._kept_numbers, self._kept, strict=True)
            if isinstance(kept.event, wanted) and not (isinstance(kept.event, Mark) and kept.event.state == "updated")
        ]

    def at(self, t_s: float) -> Timeline:
        """The timeline of all events up to `t_s`."""
        events = max(1, bisect_right(self._times, t_s))
        if self._moment is None or self._moment[0] != events:
            self._moment = events, self.after(events)
        return self._moment[1]

    def next_tick(self, t_s: float, direction: int) -> float | None:
        """Time of the tick after (1) or before (-1) the one that is known at `t_s`."""
        tick = bisect_left(self._tick_numbers, bisect_right(self._times, t_s)) - 1 + direction
        return self._times[self._tick_numbers[tick]] if 0 <= tick < len(self._tick_numbers) else None

    def after(self, events: int) -> Timeline:
        """The timeline of the first `count` events, as if only those had been folded."""
        events = min(max(events, 1), len(self._times))
        timeline = Timeline(seconds_of=self._whole)
        timeline.latency_seconds = self._latency_seconds
        for event, timeline.ticks in self._kept[: bisect_left(self._kept_numbers, events)]:
            timeline.apply(event)
        ticks = timeline.ticks = bisect_left(self._tick_numbers, events)
        for level in timeline.levels:
            if level.closed is None:
                level.fold_lazily(self._fold(level, timeline.levels, ticks))
        timeline.last = self._sample(ticks - 1) if ticks else None
        timeline.last_s = self._times[events - 1]
        timeline.log = self._log_until(events)
        failures, times = self._whole.failures.items(), self._columns["t_s"]
        timeline.failures = {key: found for key, each in failures if (found := each.until(ticks, times)) is not None}
        timeline.examples = dict(islice(self._whole.examples.items(), bisect_left(self._examples_from, ticks)))
        return timeline

    def _fold(self, level: Level, levels: Sequence[Level], ticks: int) -> Callable[[], Folded]:
        """A changed log may open one level index twice; from then on seconds belong to the later level."""
        later = [each.first_index for each in levels if each.opened.index == level.opened.index and each is not level]
        stop = min((first for first in later if first > level.first_index), default=ticks)
        return partial(self._seconds.fold, level.opened, level.first_index, stop, level.opened_index)

    def _sample(self, tick: int) -> Sample:
        event = self._reader.event_at(self._tick_places[tick])
        assert isinstance(event, Sample)
        return event

    # -- output

    def _log_until(self, events: int) -> Sequence[Log]:
        stop = bisect_left(self._log_numbers, events)
        return _Lines(self._line, max(0, stop - LOG_LINES), stop)

    def _log_line(self, index: int) -> Log:
        event = self._reader.event_at(self._log_places[index])
        assert isinstance(event, Log)
        return event


class _Lines(Sequence[Log]):
    """Lines of output, each read when it is looked at."""

    def __init__(self, line: Callable[[int], Log], first: int, stop: int) -> None:
        self._line, self._range = line, range(first, stop)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, index: int) -> Log: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Log]: ...

    def __getitem__(self, index: int | slice) -> Log | Sequence[Log]:
        if isinstance(index, slice):
            return [self._line(each) for each in self._range[index]]
        return self._line(self._range[index])
