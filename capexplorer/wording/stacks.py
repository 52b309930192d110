"""Sentences about sampled stacks: the function to look at first, or why none can be named, and where a function is."""

# mypy: implicit-reexport
# ruff: noqa: F401
from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..analysis.sampling_cost import SamplingCost
from ..analysis.stacks import ClockDifference, Neighbour, StacksDifference, Unnamed, around, difference, function_of
from ..model.events import StacksSampled
from ..model.intervals import Z95
from ..model.stacks import Clock, Frame, FunctionBlamed, FunctionTime, Runtime, SampledStacks
from . import numbers, quantities

_CLOCKS: dict[Clock, str] = {"wall": "time of threads, waits included", "cpu": "CPU time", "blocked": "waits of threads"}

_RUNTIMES: dict[Runtime, str] = {"python": "Python", "go": "Go", "jvm": "JVM", "node": "Node.js", "native": "native code"}

_WHAT = {True: "wait", False: "CPU time", None: "time"}
"""What grew, by whether it is waiting."""

_UNNAMED: dict[Unnamed, str] = {
    "one_load": "stacks of a second load are needed: a low one and one at the knee tell what grew between them",
    "not_counted": "no requests were counted while stacks were sampled",
    "not_slower": "requests did not become slower between the two loads",
    "elsewhere": "what grew in the service's functions is less than half of what requests became slower by: they wait where no "
    "stack shows it (before a thread takes them, in an event loop, in another service), or the samples are too few",
}


def file_and_line(frame: Frame) -> str:
    """`FILE:41`, FILE without its folders; without a line `FILE`; empty if the file is not known."""
    name = frame.file.replace("\\", "/").rpartition("/")[2]
    return f"{name}:{frame.line}" if name and frame.line else name


def place(function: FunctionTime) -> str:
    """`checkout (FILE:41, in acquire)`: the function, where it is, and what it calls there. Foreign text."""
    where = ", ".join(filter(None, (file_and_line(function.frame), f"in {function.calls}" if function.calls else "")))
    return f"{function.frame.function} ({where})" if where else function.frame.function


def short_place(function: FunctionTime) -> str:
    """`checkout (FILE:41)`. Foreign text."""
    return place(msgspec.structs.replace(function, calls=""))


def neighbour(frame: Frame, *, line: bool = False) -> str:
    """A caller or a callee: `handle (FILE:12)`; of a `line` only that: `FILE:41`. Foreign text."""
    where = file_and_line(frame)
    if line:
        return where or frame.function
    return f"{frame.function} ({where})" if where else frame.function or "nothing: here the thread begins"


def blamed(found: FunctionBlamed) -> str:
    """`per request 12 ms more wait in checkout (FILE:41, in acquire), 94% of the growth in its own code`."""
    share, where, time = numbers.percent(found.share_ratio), place(found.function), found.function.own
    mean = f" (mean of {found.endpoints} endpoints)" if found.endpoints > 1 else ""
    match found.how:
        case "grew":
            more = f"{quantities.latency(1000 * time.growth_s)} more {_WHAT[found.is_wait]}"
            return f"per request{mean} {more} in {where}, {share} of the growth in its own code"
        case "busy":
            threads = numbers.number(round(found.function.threads[1], 2))
            return f"requests wait for a free thread: {threads} at a time are in {where}, {share} of those in its own code"
        case "cpu":
            return f"{share} of its CPU time is in {where}, {quantities.latency(1000 * time.high_s)} of each request{mean}"


def said(found: StacksDifference) -> str:
    """What the stacks of an epoch say, in a whole sentence. Foreign text."""
    if found.named is not None:
        sentence = blamed(found.named)
        return f"{sentence[0].upper()}{sentence[1:]}." if found.named.how != "cpu" else f"{sentence}."
    return f"No function can be named: {_UNNAMED[found.unnamed or 'elsewhere']}."


def loads(found: StacksDifference) -> str:
    """`at 2 users (40/s, 25 ms) and at 16 users (50/s, 310 ms)`; of one load alone only that."""
    at = [
        f"at {quantities.load(each.load.users, each.load.per_s)} ({quantities.rate(each.per_s)}"
        + (f", {quantities.latency(each.response_ms)})" if each.response_ms is not None else ")")
        for each in (found.low, found.high)
        if each is not None
    ]
    return " and ".join(at)


SMALLEST = 0.002
"""Share of the greatest time of a clock below which a function is left out of tables and graphs: 2 of 1,000 pixels."""


def notable(clock: ClockDifference) -> list[FunctionTime]:
    """Its functions that threads were seen in often enough to be shown."""
    times_s = [max(each.own.low_s, each.own.high_s) for each in clock.functions]
    least_s = SMALLEST * max(times_s, default=0.0)
    return [each for each, time_s in zip(clock.functions, times_s, strict=True) if time_s and time_s >= least_s]


def clock_title(clock: ClockDifference) -> str:
    """`Python: CPU time, ms per request`."""
    unit = quantities.latency_title("", "")
    return f"{_RUNTIMES[clock.runtime]}: {_CLOCKS[clock.clock]}, {f'{unit} ' if unit else ''}per request"


def tools(found: StacksDifference) -> str:
    """`sampled by py-spy 0.4.1 for 10 s`; empty if nothing sampled."""
    return _tools(found.high.event.sampled) if found.high is not None else ""


def _tools(sampled: Sequence[SampledStacks]) -> str:
    names = ", ".join(dict.fromkeys(each.tool for each in sampled))
    return f"sampled by {names} for {numbers.span(max(each.seconds for each in sampled))}" if names else ""


def sampled(event: StacksSampled) -> str:
    """`stacks sampled by py-spy 0.4.1 for 10 s`; without a result the log has the reasons."""
    return f"stacks {_tools(event.sampled)}" if event.sampled else "no stacks were sampled"


def sampling_cost(cost: SamplingCost) -> str:
    """`while stacks were sampled 101/s (-2.1% ± 3.0%), p99 690 ms (without 681 ms)`. A percentile of 10 s has no useful error."""
    change = f"{numbers.signed_percent(cost.change_ratio)} ± {numbers.percent(Z95 * cost.change_se_ratio)}"
    p99 = f", p99 {quantities.latency(cost.p99_ms)} (without {quantities.latency(cost.beside_p99_ms)})"
    known = cost.p99_ms is not None and cost.beside_p99_ms is not None
    return f"while stacks were sampled {quantities.rate(cost.per_s)} ({change}){p99 if known else ''}"
