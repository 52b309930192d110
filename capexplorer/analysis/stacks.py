"""What sampled stacks say: in which function the time of a request grew between a low load and the knee.

With L threads in a function on average and X requests a second, each request has spent L / X seconds of a thread there (Little's
law). Of two samplings this file makes that time by function, its growth with a standard error, and the function to look at first.

A stack belongs to the deepest of its functions that is the service's own: the place that its developers can change. If it has
none, to its innermost one. A thread that waits outside the service's own code may as well wait for work, so there only CPU time
is blamed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from ..model.events import StacksSampled
from ..model.level import Level
from ..model.load import Load, Users
from ..model.stacks import Clock, Frame, FunctionBlamed, FunctionTime, RequestTime, Runtime, SampledStacks, Stack
from ..model.timeline import Timeline
from .epoch_view import EpochView
from .statistics import MOSTLY, NOTABLE, RELEVANT, SURE_ERRORS

Function = tuple[str, str, bool]
"""(name, file, whether it is the service's own): one function, whatever its line."""

CPU_BOUND = ("target_cpu_saturated", "gil_bound", "single_thread_cpu_saturated", "host_cpu_saturated", "cpu_throttled")
"""Bottlenecks of CPU time: what to change then is the code that takes most of it. Longer waits are only its consequence."""

IDLE_LEFT_MOST = RELEVANT
"""Share of the low load's idle waits that may be left where all threads are busy. A thread that is busy for 0.3 of the low
load and for 0.85 at the knee, where requests already queue, has 0.21 of its idle time left. Of simulated pools of threads 97 to
100% are named with it, with 0.1 84 to 90%, none wrongly."""

INTERPRETER_FULL = 0.8
"""Share of the time in which an interpreter that runs one thread at a time is taken, from which on it is the limit: 0.90 with 40
threads of Python that compute, 0.02 to 0.3 with a lock, a pool or a slow query. Of 600 simulated services
(`python -m lab.population sampled`) all of the interpreter are named, with 0.9 and 0.95 3 and 8% of them wrongly; where a lock
is nearly as full, within 2 times, 14 to 25% are, with 0.7 22 to 31%."""

Unnamed = Literal["one_load", "not_counted", "not_slower", "elsewhere"]
"""Why no function is named: stacks of one load only; no requests were counted; requests did not become slower; what made them
slower is not in the functions whose time is known to have grown."""


class Sampling(msgspec.Struct, frozen=True):
    """The stacks of one level, and the requests of the same seconds."""

    level: int
    load: Load
    event: StacksSampled
    per_s: float
    """Requests that ended, also with a failure."""
    response_ms: float | None
    """Their mean latency."""
    target_cores: float | None = None
    """Cores that all processes and threads of the service used; None: not read."""
    endpoints: int = 1
    """Number of endpoints among the requests."""


class ClockDifference(msgspec.Struct, frozen=True):
    """What one clock shows of one runtime."""

    runtime: Runtime
    clock: Clock
    functions: tuple[FunctionTime, ...]
    """Those with the greatest growth first. A function in which threads left some lines for others is there twice: a worker waits
    for work at one line, and works at the next."""


class StacksDifference(msgspec.Struct, frozen=True):
    """The samplings of an epoch at its least and at its greatest load."""

    epoch: int
    low: Sampling | None
    """None: there is one load only."""
    high: Sampling | None
    """None: no requests were counted."""
    clocks: tuple[ClockDifference, ...] = ()
    named: FunctionBlamed | None = None
    unnamed: Unnamed | None = None
    """Why none is named."""
    failed: tuple[str, ...] = ()
    """Stacks that could not be sampled, and why."""

    @property
    def slower_ms(self) -> float | None:
        """By how much the mean latency is more at the high load; None: not known."""
        if self.low is None or self.high is None or self.low.response_ms is None or self.high.response_ms is None:
            return None
        return self.high.response_ms - self.low.response_ms


# -- one sampling --------------------------------------------------------------------------------------------------------------


class _Sum:
    """Threads in one function on average: as the deepest own one, by line and by what it calls there; and anywhere."""

    def __init__(self) -> None:
        self.own = self.total = 0.0
        self.lines: defaultdict[int, float] = defaultdict(float)
        self.calls: defaultdict[tuple[int, str], float] = defaultdict(float)


PERIOD_MOST_S = 0.05
"""Most seconds between two samples of a thread that are assumed: the smallest stack has one sample, unless there are few."""


class _Folded:
    """The stacks of one runtime and clock in one sampling, of all of its processes."""

    def __init__(self) -> None:
        self.seconds, self.period_s = 0.0, PERIOD_MOST_S
        self.threads = 0.0
        self.pids: set[int] = set()
        self.functions: dict[Function, _Sum] = {}

    def add(self, sampled: SampledStacks) -> None:
        self.seconds = max(self.seconds, sampled.seconds)
        self.period_s = min((self.period_s, *(stack.seconds for stack in sampled.stacks if stack.seconds > 0)))
        self.threads += (sum(stack.seconds for stack in sampled.stacks) + sampled.omitted_s) / sampled.seconds
        self.pids |= set(sampled.pids)
        for stack in sampled.stacks:
            self._add(stack, sampled.frames, stack.seconds / sampled.seconds)

    def _add(self, stack: Stack, frames: Sequence[Frame], threads: float) -> None:
        place = site(stack, frames)
        if place is None:
            return
        frame = frames[stack.frames[place]]
        found = self.functions.setdefault(function_of(frame), _Sum())
        found.own += threads
        found.lines[frame.line] += threads
        called = frames[stack.frames[place + 1]].function if place + 1 < len(stack.frames) else ""
        found.calls[frame.line, called] += threads
        around = {function_of(frames[index]) for index in stack.frames if frames[index].is_own} | {function_of(frame)}
        for each in around:
            self.functions.setdefault(each, _Sum()).total += threads


def function_of(frame: Frame) -> Function:
    """The function of a frame."""
    return frame.function, frame.file, frame.is_own


def site(stack: Stack, frames: Sequence[Frame]) -> int | None:
    """The place in the stack of its deepest own function, else of its innermost one; None: it is empty."""
    own = (place for place in range(len(stack.frames) - 1, -1, -1) if frames[stack.frames[place]].is_own)
    return next(own, len(stack.frames) - 1 if stack.frames else None)


@lru_cache(maxsize=8)
def _folded(event: StacksSampled) -> Mapping[tuple[Runtime, Clock], _Folded]:
    """Cached: it costs some 10 ms for a thousand stacks, and the screen asks once a second."""
    found: dict[tuple[Runtime, Clock], _Folded] = {}
    for sampled in event.sampled:
        if sampled.seconds > 0:
            found.setdefault((sampled.runtime, sampled.clock), _Folded()).add(sampled)
    return found


# -- two samplings -------------------------------------------------------------------------------------------------------------


def difference(timeline: Timeline, epoch: int | None = None) -> StacksDifference | None:
    """What the stacks of an epoch say (default: the latest one with stacks); None without any."""
    levels = {level.opened.index: level for level in timeline.levels}
    known = [(event, levels[event.level]) for event in timeline.stacks if event.level in levels]
    chosen = known[-1][1].opened.epoch if epoch is None and known else epoch
    events = [(event, level) for event, level in known if level.opened.epoch == chosen]
    if not events or chosen is None:
        return None
    failed = tuple(dict.fromkeys(why for event, _ in events for why in event.failed))
    of_users = isinstance(events[-1][1].load, Users)
    alike = [(event, level) for event, level in events if isinstance(level.load, Users) is of_users and event.sampled]
    samplings = {level.load.amount: taken for event, level in alike if (taken := _sampling(event, level)) is not None}
    if not samplings:
        return StacksDifference(chosen, None, None, unnamed="not_counted", failed=failed)
    low, high = samplings[min(samplings)], samplings[max(samplings)]
    if low is high:
        return StacksDifference(chosen, None, high, _clocks(high, high), unnamed="one_load", failed=failed)
    both = StacksDifference(chosen, low, high, _clocks(low, high), failed=failed)
    named = _named(both, {mark.id for mark in EpochView(timeline, chosen).bottlenecks()})
    if isinstance(named, FunctionBlamed):
        return msgspec.structs.replace(both, named=msgspec.structs.replace(named, endpoints=high.endpoints))
    return msgspec.structs.replace(both, unnamed=named)


def _sampling(event: StacksSampled, level: Level) -> Sampling | None:
    """None: no requests were counted in its seconds."""
    figures = level.figures
    if not figures.throughput_rps:
        return None
    endpoints = sum(bool(each.requests) for each in level.endpoints)
    rates = figures.throughput_rps, figures.response_ms, figures.target_cpu_ratio
    return Sampling(level.opened.index, level.load, event, *rates, max(1, endpoints))


@lru_cache(maxsize=8)
def _clocks(low: Sampling, high: Sampling) -> tuple[ClockDifference, ...]:
    before, after = _folded(low.event), _folded(high.event)
    both = [key for key in after if key in before]
    return tuple(ClockDifference(*key, _functions(low, before[key], high, after[key])) for key in both)


def _functions(low: Sampling, before: _Folded, high: Sampling, after: _Folded) -> tuple[FunctionTime, ...]:
    def part(function: Function, lines: frozenset[int]) -> FunctionTime:
        return _function(function, lines, low, before, high, after)

    found = []
    for each in {**before.functions, **after.functions}:
        sums = [folded.functions.get(each, _Sum()) for folded in (before, after)]
        lines = [part(each, frozenset((line,))) for line in {line for one in sums for line in one.lines}]
        left = frozenset(one.frame.line for one in lines if one.is_less) if any(one.is_more for one in lines) else frozenset()
        rest = frozenset(one.frame.line for one in lines) - left
        found += [part(each, rest), *([part(each, left)] if left else [])]
    return tuple(sorted(found, key=lambda each: (-each.own.growth_s, -each.own.high_s, each.frame.function)))


def _function(
    function: Function, lines: frozenset[int], low: Sampling, before: _Folded, high: Sampling, after: _Folded
) -> FunctionTime:
    """The time at these lines of a function."""
    was, now = before.functions.get(function, _Sum()), after.functions.get(function, _Sum())
    threads = sum(was.lines.get(line, 0.0) for line in lines), sum(now.lines.get(line, 0.0) for line in lines)
    gained = {line: now.lines.get(line, 0.0) - was.lines.get(line, 0.0) * high.per_s / low.per_s for line in sorted(lines)}
    line = max(gained, key=gained.__getitem__, default=0)
    calls = {called: count for (at, called), count in (now if threads[1] else was).calls.items() if at == line}
    most = max(calls, key=calls.__getitem__, default="")
    errors_s = _error_s(low, before, threads[0]), _error_s(high, after, threads[1])
    own = RequestTime(threads[0] / low.per_s, threads[1] / high.per_s, math.hypot(*errors_s))
    threads_error = math.hypot(errors_s[0] * low.per_s, errors_s[1] * high.per_s)
    is_more = threads[1] - threads[0] > SURE_ERRORS * threads_error
    total_error_s = math.hypot(_error_s(low, before, was.total), _error_s(high, after, now.total))
    return FunctionTime(
        Frame(function[0], function[1], line, function[2]),
        most if most and calls[most] >= MOSTLY * sum(calls.values()) else "",
        own,
        RequestTime(was.total / low.per_s, now.total / high.per_s, total_error_s),
        threads,
        is_more=is_more,
        is_less=threads[0] - threads[1] > SURE_ERRORS * threads_error,
        grew=is_more and own.growth_s > SURE_ERRORS * own.error_s,
    )


def _error_s(sampling: Sampling, folded: _Folded, threads: float) -> float:
    """Standard error of a request's time in a function: requests differ by about as much as that time (as exponential times do),
    and of each the sampler sees multiples of its period. Of a function that was never seen, that of one sample.
    """
    requests = max(1.0, sampling.per_s * folded.seconds)
    time_s = max(threads / sampling.per_s, folded.period_s / requests)
    return math.sqrt(time_s * (time_s + folded.period_s) / requests)


# -- the function to look at first ---------------------------------------------------------------------------------------------


def _named(found: StacksDifference, bottlenecks: Iterable[str]) -> FunctionBlamed | Unnamed:
    """What takes the CPU if that is full; else where the time of requests grew, if this is most of what they became slower by;
    else what keeps all threads busy.
    """
    assert found.low is not None and found.high is not None
    after = _folded(found.high.event)
    is_full = any(_is_full(*each) for each in after.items()) or _waits_everywhere(found.clocks)
    is_cpu_bound = is_full or any(each in CPU_BOUND for each in bottlenecks)
    on_cpu = [each for each in found.clocks if each.clock == "cpu"]
    if is_cpu_bound and (of_cpu := _of_cpu(on_cpu, found.high.target_cores or 0.0)) is not None:
        return of_cpu
    if found.slower_ms is not None and found.slower_ms <= 0:
        return "not_slower"
    of_wall = {each.runtime for each in found.clocks if each.clock == "wall"}
    waiting = [each for each in found.clocks if each.clock == "wall" or (each.clock == "blocked" and each.runtime not in of_wall)]
    return _grown(found, waiting) or _busy(waiting) or _grown(found, on_cpu) or "elsewhere"


def _waits_everywhere(clocks: Sequence[ClockDifference]) -> bool:
    """Whether threads also wait longer outside the service's own code, while CPU time is used for at least half of the time: then
    they wait for the CPU or the interpreter, wherever they are. In five services with a lock, a pool or a slow query nothing
    outside grew, or by 1% of what own code did; in two that compute in threads by 30 and 110% of it.
    """
    wall = [each for clock in clocks if clock.clock == "wall" for each in clock.functions if each.grew]
    own, others = (sum(each.own.growth_s for each in wall if each.frame.is_own is is_own) for is_own in (True, False))
    cpu = sum(each.threads[1] for clock in clocks if clock.clock == "cpu" for each in clock.functions)
    return others > NOTABLE * own and cpu >= MOSTLY


def _is_full(key: tuple[Runtime, Clock], folded: _Folded) -> bool:
    """Whether the interpreter of one process is always taken: it runs one thread at a time, whatever cores there are."""
    runtime, clock = key
    return clock == "cpu" and runtime in ("python", "node") and len(folded.pids) <= 1 and folded.threads >= INTERPRETER_FULL


def _of_cpu(clocks: Sequence[ClockDifference], target_cores: float) -> FunctionBlamed | None:
    """The function that takes most CPU time at the high load. None: the stacks have less than half of what the service used, as
    where threads without a stack compute (libuv's, a garbage collector's).
    """
    every = [each for clock in clocks for each in clock.functions]
    sampled_cores = sum(each.threads[1] for each in every)
    if not sampled_cores or sampled_cores < MOSTLY * target_cores:
        return None
    most = max(every, key=lambda each: each.threads[1])
    return FunctionBlamed("cpu", "cpu", most, most.threads[1] / sampled_cores, is_wait=False)


def _grown(found: StacksDifference, clocks: Sequence[ClockDifference]) -> FunctionBlamed | None:
    """The own function whose time for each request grew most; None if all that grew explains less than half of the latency.

    CPU time need not: threads that wait for a core have none. It is work, which load should not change: that it doubled suffices.
    """
    grown = [(clock.clock, each) for clock in clocks for each in clock.functions if each.grew and each.frame.is_own]
    explained_s = sum(each.own.growth_s for _, each in grown)
    doubled = all(clock.clock == "cpu" for clock in clocks) and explained_s >= MOSTLY * _time_s(clocks)
    if not grown or (found.slower_ms is not None and 1000 * explained_s < MOSTLY * found.slower_ms and not doubled):
        return None
    clock, most = max(grown, key=lambda each: each[1].own.growth_s)
    return FunctionBlamed("grew", clock, most, most.own.growth_s / explained_s, _is_wait(found, clock, most))


def _time_s(clocks: Sequence[ClockDifference]) -> float:
    """Seconds of each request at the high load."""
    return sum(each.own.high_s for clock in clocks for each in clock.functions)


def _is_wait(found: StacksDifference, clock: Clock, grown: FunctionTime) -> bool | None:
    """Whether less than half of the growth is CPU time of the same function."""
    if clock != "wall":
        return clock == "blocked"
    if not any(each.clock == "cpu" for each in found.clocks):
        return None
    function = function_of(grown.frame)
    cpu = (each for of in found.clocks if of.clock == "cpu" for each in of.functions if function_of(each.frame) == function)
    return sum(each.own.growth_s for each in cpu) < MOSTLY * grown.own.growth_s


def _busy(clocks: Sequence[ClockDifference]) -> FunctionBlamed | None:
    """The own function in which most threads are, of those that now have more, if these were idle at the low load and no thread
    is idle any more. Then requests wait before a thread takes them. None: threads are idle, or it is not known.

    Threads are idle where there are fewer at the high load: in own code (a worker's own loop) or outside. Those that always are
    in one place, such as a timer's, are no worker's; and threads that are new were not idle.
    """
    for clock in (each for each in clocks if each.clock == "wall"):
        busier = [each for each in clock.functions if each.frame.is_own and each.is_more]
        idle = [each.threads for each in clock.functions if each.threads[1] < each.threads[0]]
        was, now = sum(each[0] for each in idle), sum(each[1] for each in idle)
        added = sum(each.threads[1] - each.threads[0] for each in busier)
        if busier and now <= IDLE_LEFT_MOST * was and was - now >= MOSTLY * added:
            most = max(busier, key=lambda each: each.threads[1])
            return FunctionBlamed("busy", "wall", most, most.threads[1] / sum(each.threads[1] for each in busier))
    return None


# -- around one function -------------------------------------------------------------------------------------------------------


class Neighbour(msgspec.Struct, frozen=True):
    """A caller, a callee, or a line of a function, with the time of a request that passes there."""

    frame: Frame
    time: RequestTime


class Around(msgspec.Struct, frozen=True):
    """Who calls a function, what it calls, and at which lines it is; in each list the greatest growth first."""

    callers: tuple[Neighbour, ...]
    callees: tuple[Neighbour, ...]
    """The function itself is the time that it spends in none of them."""
    lines: tuple[Neighbour, ...]


def around(found: StacksDifference, clock: ClockDifference, function: Function) -> Around:
    """The neighbours of a function in all stacks that contain it; of one that calls itself, those of the deepest call."""
    low, high = found.low or found.high, found.high
    assert low is not None and high is not None
    sums: list[dict[Frame, list[float]]] = [{}, {}, {}]
    for index, sampling in enumerate((low, high)):
        for sampled in (each for each in sampling.event.sampled if (each.runtime, each.clock) == (clock.runtime, clock.clock)):
            for stack in sampled.stacks if sampled.seconds > 0 else ():
                _pass(stack, sampled, function, index, sums)
    folded = _folded(low.event)[clock.runtime, clock.clock], _folded(high.event)[clock.runtime, clock.clock]
    callers, callees, lines = (_neighbours(each, (low, high), folded) for each in sums)
    return Around(callers, callees, lines)


def _pass(stack: Stack, sampled: SampledStacks, function: Function, index: int, sums: Sequence[dict[Frame, list[float]]]) -> None:
    frames = [sampled.frames[each] for each in stack.frames]
    place = next((each for each in range(len(frames) - 1, -1, -1) if function_of(frames[each]) == function), None)
    if place is None:
        return
    here = frames[place]
    above = frames[place - 1] if place else Frame("")
    below = frames[place + 1] if place + 1 < len(frames) else msgspec.structs.replace(here, line=0)
    for into, frame in zip(sums, (above, msgspec.structs.replace(below, line=0), here), strict=True):
        into.setdefault(frame, [0.0, 0.0])[index] += stack.seconds / sampled.seconds


def _neighbours(
    sums: Mapping[Frame, Sequence[float]], samplings: tuple[Sampling, Sampling], folded: tuple[_Folded, _Folded]
) -> tuple[Neighbour, ...]:
    found = []
    for frame, threads in sums.items():
        errors_s = [_error_s(*each) for each in zip(samplings, folded, threads, strict=True)]
        times_s = [count / each.per_s for count, each in zip(threads, samplings, strict=True)]
        found.append(Neighbour(frame, RequestTime(times_s[0], times_s[1], math.hypot(*errors_s))))
    return tuple(sorted(found, key=lambda each: (-each.time.growth_s, -each.time.high_s, each.frame.function)))
