"""Converts observations of Locust's counters to the events of a session: differences to samples, constant user counts to levels.

A history does not contain warm-up, think times, percentiles, or separate latencies of successes and failures; none of these is
estimated. Pure: the same observations give the same events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Literal

import msgspec

from ...model.events import EndpointTick, Event, LevelClosed, LevelOpened, Log, Phase, Sample
from ...model.figures import LevelBin, LevelEndpoint, LevelFigures
from ...model.intervals import Latency
from ...model.level import LevelFold, RampFold
from ...model.slice import EndpointFold
from .locust_history import Counters, Key, Observation, adds_up

# -- stretches -----------------------------------------------------------------------------------------------------------------
# Divides user counts over time into stretches: constant, ramping, or moving to the next count. Pure; knows no files and
# events.


HOLD_LEAST_S = 8.0
"""A count that is constant for so long is a level: 2 s to settle at least, and six batches of one second."""

RAMP_LEAST_S = 10.0
"""Shorter rises of the count belong to the next level, whose users spawn in them."""

RAMP_SURE_S = 30.0
"""With enough levels for a curve (LADDER_LEAST), only rises of so many seconds are ramps."""

LADDER_LEAST = 3
"""Number of levels from which a knee can be found (docs/knee.md, section 5), so that short rises are not needed as ramps."""

BLIP_MOST_S = 3.0
BLIP_MOST_RATIO = 0.05
"""A change of at most this duration and relative size does not end a level: a user ended and was replaced."""

ROUNDING_S = 1e-9
"""Rounding error of a difference of two times."""

Kind = Literal["hold", "ramp", "move"]
"""`hold`: constant users. `ramp`: a long rise. `move`: any other change."""


class Stretch(msgspec.Struct, frozen=True):
    """The ticks from `first` to `last`, inclusive. Tick i is between the observations i - 1 and i."""

    kind: Kind
    first: int
    last: int
    users: int
    """The constant count; for a ramp the greatest count, for a move the last."""


def constant_counts(times_s: Sequence[float], users: Sequence[int]) -> list[int]:
    """The constant counts above 0, in order. `times_s`, `users`: one value per observation."""
    return [users[first] for first, _ in _holds(times_s, users) if users[first]]


def stretches(times_s: Sequence[float], users: Sequence[int], *, ladder: bool) -> list[Stretch]:
    """Stretches that together contain all ticks, in order. `ladder`: there are at least LADDER_LEAST constant counts."""
    found: list[Stretch] = []
    done = 0  # the last tick that is in a stretch; the first tick is 1
    for first, last in _holds(times_s, users):
        if first > done:
            found.append(_between(times_s, users, done + 1, first, ladder))
        found.append(Stretch("hold", first + 1, last, users[first]))
        done = last
    if done < len(users) - 1:
        found.append(_between(times_s, users, done + 1, len(users) - 1, ladder))
    return found


def _between(times_s: Sequence[float], users: Sequence[int], first: int, last: int, ladder: bool) -> Stretch:
    """The stretch of the ticks from `first` to `last`, which lie between constant counts."""
    counts = users[first - 1 : last + 1]
    rises = any(after > before for before, after in pairwise(counts))
    least_s = RAMP_SURE_S if ladder else RAMP_LEAST_S
    if rises and times_s[last] - times_s[first - 1] >= least_s:
        return Stretch("ramp", first, last, max(counts))
    return Stretch("move", first, last, users[last])


def _holds(times_s: Sequence[float], users: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Indices (first, last) of the observations of each constant count, including short changes that do not end it."""
    runs = [[index for index, _ in run] for _, run in groupby(enumerate(users), key=lambda each: each[1])]
    at = 0
    while at < len(runs):
        first, end = runs[at][0], at
        while (after := _after_blip(times_s, users, runs, end)) is not None:
            end = after
        last = runs[end][-1]
        if times_s[last] - times_s[first] >= HOLD_LEAST_S:
            yield first, last
        at = end + 1


def _after_blip(times_s: Sequence[float], users: Sequence[int], runs: list[list[int]], at: int) -> int | None:
    """Index of the run in which the count of run `at` returns after a short change; None if it does not."""
    last = runs[at][-1]
    count = users[last]
    for index in range(at + 1, len(runs)):
        first = runs[index][0]
        if times_s[first] - times_s[last] > BLIP_MOST_S + ROUNDING_S or abs(users[first] - count) > BLIP_MOST_RATIO * count:
            return None
        if users[first] == count:
            return index
    return None


Settling = Callable[[float, float], float]
"""(mean wait, mean latency), in s -> time to settle, in s: `analysis.epoch.level_clock.settling_s`."""

WARM_UP_RATIO = 0.25
WARM_UP_MOST_S = 10.0
"""The first quarter of a level, but at most 10 s, counts as warm-up. A recorded session leaves out each user's `on_start` and
first cycle, which a history cannot: with the usual 2 s, goodput of ten published tables was up to 1.3% too low, with 10 s up to
0.5%."""


class History(msgspec.Struct, frozen=True):
    """The observations of one file."""

    name: str
    observations: Sequence[Observation]
    notes: Sequence[str] = ()

    @property
    def times_s(self) -> list[float]:
        """Times of the observations, in seconds since 1970."""
        return [each.at_s for each in self.observations]

    @property
    def users(self) -> list[int]:
        """User counts of the observations."""
        return [each.users for each in self.observations]

    @property
    def began(self) -> datetime:
        """Wall time of the first observation."""
        return datetime.fromtimestamp(self.observations[0].at_s, UTC)


class LevelWriter:
    """Converts the ticks of one file to levels, whose indices continue those of the files before it."""

    def __init__(self, history: History, begins_s: float, index: int, settling: Settling) -> None:
        self._history, self._settling = history, settling
        self._offset_s = begins_s - history.observations[0].at_s
        self._by_endpoint = adds_up(history.observations)
        self._timed = all(each.is_timed for each in history.observations)
        self.index = index
        """Index of the next level."""
        self.ended_s = begins_s
        self.requests = self.failures = 0

    def events(self, ladder: bool) -> Iterator[Event]:
        """The events of all levels of this file. `ladder`: as of `stretches`."""
        yield self._log(f"began {self._history.began.isoformat()}")
        for note in self._history.notes:
            yield self._log(note, "warning")
        if not self._by_endpoint and any(each.endpoints for each in self._history.observations):
            yield self._log("its endpoints do not add up to its total: only the total is used", "warning")
        first = None
        for stretch in stretches(self._history.times_s, self._history.users, ladder=ladder):
            if stretch.kind == "move" and stretch.last < len(self._history.observations) - 1:
                first = stretch.first  # users of the next level spawn in it
                continue
            yield from self._level(stretch.first if first is None else first, stretch)
            first = None

    def _level(self, first: int, stretch: Stretch) -> Iterator[Event]:
        """The events of one level: its ticks from `first` on; users spawn in those before `stretch`."""
        started_s = self._t_s(first - 1)
        yield LevelOpened(
            t_s=started_s,
            index=self.index,
            users=stretch.users,
            spawn_rate=self._spawn_rate(first, stretch),
            by="plan",
            ramp=stretch.kind == "ramp",
        )
        fold, ramp, settles_s = LevelFold(), RampFold(), self._settles_s(stretch)
        for tick in range(first, stretch.last + 1):
            sample = self._sample(tick, stretch, settles_s)
            if sample is None:
                line = self._history.observations[tick].line
                yield self._log(f"line {line}: the counters were reset: no rate for this second", "warning", self._t_s(tick))
                continue
            fold.add(sample)
            ramp.add(sample)
            yield sample
        self.ended_s = self._t_s(stretch.last)
        yield LevelClosed(
            t_s=self.ended_s,
            index=self.index,
            users=stretch.users,
            started_s=started_s,
            settled_s=fold.settled_s,
            figures=self._with_means(fold.figures()),
            endpoints=tuple(self._endpoint(each) for each in fold.merged.endpoints.values()),
            bins=self._bins(ramp) if stretch.kind == "ramp" else (),
        )
        self.index += 1

    def _sample(self, tick: int, stretch: Stretch, settles_s: float | None) -> Sample | None:
        """The sample of one tick, from differences of counters; None if the counters were reset in it."""
        before, after = self._history.observations[tick - 1 : tick + 1]
        endpoints = endpoint_ticks(before, after, by_endpoint=self._by_endpoint)
        if endpoints is None:
            return None
        started_s, ended_s = self._t_s(tick - 1), self._t_s(tick)
        settled = settles_s is not None and started_s >= settles_s
        phase: Phase = "settled" if settled else "settling"
        requests, failures = sum(each.requests for each in endpoints), sum(each.failures for each in endpoints)
        self.requests += requests
        self.failures += failures
        return Sample(
            t_s=ended_s,
            duration_s=ended_s - started_s,
            level=self.index,
            users=round((before.users + after.users) / 2),  # rows have the users at their time, rates are between rows
            wanted=stretch.users,
            phase="spawning" if tick < stretch.first or stretch.kind != "hold" else phase,
            settled=settled,
            endpoints=endpoints,
            work=max(0.0, float(requests - failures)),
        )

    def _settles_s(self, stretch: Stretch) -> float | None:
        """When a level with constant users settles, in seconds of the session; None for other stretches. The mean cycle is users
        divided by throughput (Little's law).
        """
        if stretch.kind != "hold" or not stretch.users:
            return None
        began_s, ended_s = self._t_s(stretch.first - 1), self._t_s(stretch.last)
        requests = sum(self._requests(tick) for tick in range(stretch.first, stretch.last + 1))
        cycle_s = stretch.users * (ended_s - began_s) / requests if requests else float("inf")
        warm_up_s = min(WARM_UP_MOST_S, WARM_UP_RATIO * (ended_s - began_s))
        return began_s + max(warm_up_s, self._settling(0.0, cycle_s))

    def _requests(self, tick: int) -> int:
        pair = self._history.observations[tick - 1 : tick + 1]
        before, after = (sum(one.requests for one in each.counters(by_endpoint=self._by_endpoint).values()) for each in pair)
        return max(0, after - before)

    def _spawn_rate(self, first: int, stretch: Stretch) -> float:
        """Users that started or stopped per second, until the count was constant."""
        last = max(first, stretch.first - 1) if stretch.kind == "hold" else stretch.last
        users = self._history.users[first - 1 : last + 1]
        return (max(users) - min(users)) / (self._t_s(last) - self._t_s(first - 1))

    def _bins(self, ramp: RampFold) -> tuple[LevelBin, ...]:
        return tuple(msgspec.structs.replace(each, figures=self._with_means(each.figures)) for each in ramp.bins())

    def _with_means(self, figures: LevelFigures) -> LevelFigures:
        """The figures with the mean latency of successes, which is known only if no request failed: then it is that of all."""
        if not self._timed:
            return msgspec.structs.replace(figures, response_ms=None, latency_se_ms=None)
        if figures.failures or figures.response_ms is None:
            return msgspec.structs.replace(figures, latency_se_ms=None)
        return msgspec.structs.replace(figures, latency_ms=Latency(mean=figures.response_ms))

    def _endpoint(self, fold: EndpointFold) -> LevelEndpoint:
        figures = fold.figures()
        if fold.failures or not fold.requests or not self._timed:
            return figures
        return msgspec.structs.replace(figures, latency_ms=Latency(mean=fold.sums_ms["total"] / fold.requests))

    def _t_s(self, observation: int) -> float:
        return self._history.observations[observation].at_s + self._offset_s

    def _log(self, text: str, level: Literal["info", "warning"] = "info", t_s: float | None = None) -> Log:
        message = f"{self._history.name}: {text}"
        return Log(t_s=self.ended_s if t_s is None else t_s, source="capexplorer", level=level, text=message)


def endpoint_ticks(before: Observation, after: Observation, *, by_endpoint: bool) -> tuple[EndpointTick, ...] | None:
    """Requests of each endpoint between two observations; None if a counter fell, since Locust's statistics were reset."""
    then, now = before.counters(by_endpoint=by_endpoint), after.counters(by_endpoint=by_endpoint)
    if any(key not in now for key in then) or any(_fell(then.get(key, Counters()), counters) for key, counters in now.items()):
        return None
    return tuple(_tick(key, then.get(key, Counters()), counters) for key, counters in now.items())


def _fell(then: Counters, now: Counters) -> bool:
    return now.requests < then.requests or now.failures < then.failures


def _tick(key: Key, then: Counters, now: Counters) -> EndpointTick:
    """One endpoint between two observations.

    Locust's mean response time is that of all requests. Without failures it is that of the successes. With failures it cannot be
    divided, and all of the time counts as that of failures: so the mean of all requests is right, and successes have none. Means
    in the file are rounded, so the sum of one second may even be negative; in a level's sum the errors cancel.
    """
    failures = now.failures - then.failures
    response_sum_ms = (now.response_sum_ms or 0.0) - (then.response_sum_ms or 0.0)
    return EndpointTick(
        name=key[0],
        method=key[1],
        requests=now.requests - then.requests,
        failures=failures,
        received_bytes=round(now.received_bytes - then.received_bytes),
        latency_sum_ms=0.0 if failures else response_sum_ms,
        failure_latency_sum_ms=response_sum_ms if failures else 0.0,
    )
