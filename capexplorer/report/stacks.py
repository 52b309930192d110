"""Sampled stacks in reports: the key of the JSON summary, a table for md and html, and the trees of the page's flame graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ..analysis.sampling_cost import sampling_cost
from ..analysis.stacks import ClockDifference, Sampling, StacksDifference, difference, function_of
from ..model.intervals import Z95
from ..model.level import Level
from ..model.stacks import Frame, FunctionTime, SampledStacks
from ..model.timeline import Timeline
from ..wording import numbers, quantities, stacks
from ..wording.verdict import epoch_title
from .tables import Table
from .values import fields, rounded, whole

FUNCTIONS_MOST = 50
"""Functions of a clock in the JSON summary: those that grew most, and those with the most time."""

ROWS_MOST = 12
"""Functions of a clock in a table."""


def epochs(timeline: Timeline) -> list[StacksDifference]:
    """What the stacks of each epoch say, in the order of the epochs; empty without any."""
    levels = {level.opened.index: level.opened.epoch for level in timeline.levels}
    of = sorted({levels[event.level] for event in timeline.stacks if event.level in levels})
    return [found for epoch in of if (found := difference(timeline, epoch)) is not None]


def every_sampling(timeline: Timeline) -> Iterator[tuple[Level, SampledStacks]]:
    """Each level in which stacks were sampled, with what each tool and clock saw; the raw stacks of the session."""
    levels = {level.opened.index: level for level in timeline.levels}
    for event in timeline.stacks:
        for sampled in event.sampled if event.level in levels else ():
            yield levels[event.level], sampled


# -- the JSON summary ----------------------------------------------------------------------------------------------------------


def entries(timeline: Timeline) -> list[dict[str, Any]]:
    """The key `stacks`: one entry for each epoch with stacks."""
    return [_entry(timeline, each) for each in epochs(timeline)]


def _entry(timeline: Timeline, found: StacksDifference) -> dict[str, Any]:
    named = found.named
    return {
        "epoch": found.epoch,
        "said": stacks.said(found),
        "low": _sampling(timeline, found.low),
        "high": _sampling(timeline, found.high),
        "named": None
        if named is None
        else {
            "how": named.how,
            "clock": named.clock,
            "share_ratio": rounded(named.share_ratio),
            "is_wait": named.is_wait,
            **_function(named.function),
        },
        "unnamed": found.unnamed,
        "failed": list(found.failed),
        "clocks": [
            {"runtime": each.runtime, "clock": each.clock, "functions": list(map(_function, _greatest(each)))}
            for each in found.clocks
        ],
    }


def _sampling(timeline: Timeline, found: Sampling | None) -> dict[str, Any] | None:
    if found is None:
        return None
    cost = sampling_cost(timeline, found.event)
    return {
        "level": found.level,
        "users": whole(found.load.users),
        "offered_per_s": rounded(found.load.per_s),
        "throughput_rps": rounded(found.per_s),
        "response_ms": rounded(found.response_ms),
        "tools": sorted({each.tool for each in found.event.sampled}),
        "seconds": rounded(max(each.seconds for each in found.event.sampled)),
        "lost": sum(each.lost for each in found.event.sampled),
        "cost": None if cost is None else fields(cost, ("change_ratio", "change_se_ratio", "p99_ms", "beside_p99_ms")),
    }


def _greatest(clock: ClockDifference, most: int = FUNCTIONS_MOST) -> list[FunctionTime]:
    """Half of them by growth, the others by their time at the high load; those by growth first."""
    shown = stacks.notable(clock)
    grown = shown[: most // 2]
    others = sorted(shown[most // 2 :], key=lambda each: -each.own.high_s)
    return [*grown, *others[: most - len(grown)]]


def _function(each: FunctionTime) -> dict[str, Any]:
    return {
        "function": each.frame.function,
        "file": each.frame.file,
        "line": each.frame.line or None,
        "is_own": each.frame.is_own,
        "calls": each.calls,
        "low_ms": rounded(1000 * each.own.low_s),
        "high_ms": rounded(1000 * each.own.high_s),
        "growth_ms": rounded(1000 * each.own.growth_s),
        "growth_se_ms": rounded(1000 * each.own.error_s),
        "total_low_ms": rounded(1000 * each.total.low_s),
        "total_high_ms": rounded(1000 * each.total.high_s),
        "threads_low": rounded(each.threads[0]),
        "threads_high": rounded(each.threads[1]),
        "grew": each.grew,
    }


# -- md and html ---------------------------------------------------------------------------------------------------------------


class Section(msgspec.Struct, frozen=True):
    """The stacks of one epoch. All texts are foreign."""

    sentences: list[str]
    tables: list[tuple[str, Table]]
    """Of each clock: its title, and its functions."""


def sections(timeline: Timeline) -> list[Section]:
    """One for each epoch with stacks."""
    return [_section(timeline, found) for found in epochs(timeline)]


def _section(timeline: Timeline, found: StacksDifference) -> Section:
    name = epoch_title(timeline, found.epoch)
    about = ", ".join(filter(None, (stacks.tools(found), stacks.loads(found))))
    said = stacks.said(found)
    costs = (sampling_cost(timeline, each.event) for each in (found.low, found.high) if each is not None)
    cost = [f"At {quantities.load(each.load.users, each.load.per_s)} {stacks.sampling_cost(each)}." for each in costs if each]
    sentences = [f"{name}: {said}" if name else said, *([f"{about[0].upper()}{about[1:]}."] if about else []), *cost]
    sentences += [f"{each}." for each in found.failed]
    return Section(sentences, [(stacks.clock_title(each), _table(found, each)) for each in found.clocks])


def _table(found: StacksDifference, clock: ClockDifference) -> Table:
    functions = _greatest(clock, ROWS_MOST)
    if found.low is None:
        rows = [(stacks.place(each), _ms(each.own.high_s), _threads(each)) for each in functions]
        return Table(("function", "time", "threads"), rows, words=(0,))
    rows_of_growth = [
        (
            stacks.place(each),
            _ms(each.own.growth_s),
            _ms(Z95 * each.own.error_s),
            _ms(each.own.low_s),
            _ms(each.own.high_s),
            _threads(each),
        )
        for each in functions
    ]
    return Table(("function", "growth", "±", "at low load", "at high load", "threads"), rows_of_growth, words=(0,))


def _ms(seconds: float) -> str:
    return quantities.latency_in_column(1000 * seconds)


def _threads(each: FunctionTime) -> str:
    return numbers.significant(each.threads[1], 2)


# -- flame graphs --------------------------------------------------------------------------------------------------------------


class _Node:
    """One function in one context: ms for each request at the low and at the high load, and what it calls."""

    def __init__(self) -> None:
        self.ms = [0.0, 0.0]
        self.calls: dict[tuple[str, str, bool, int], _Node] = {}


def flames(timeline: Timeline) -> list[dict[str, Any]]:
    """Trees for the page's script, one a clock of each epoch. A node is [index of its name, ms at low load, ms at high load, what
    it calls]; a name is [text, whether it is the service's own].
    """
    return [_flame(found, clock) for found in epochs(timeline) for clock in found.clocks]


def _flame(found: StacksDifference, clock: ClockDifference) -> dict[str, Any]:
    assert found.high is not None
    root = _Node()
    for index, sampling in enumerate((found.low, found.high)):
        for sampled in sampling.event.sampled if sampling is not None else ():
            if sampling is not None and (sampled.runtime, sampled.clock) == (clock.runtime, clock.clock):
                _grow(root, sampled, index, 1000 / sampled.seconds / sampling.per_s)
    names: dict[tuple[str, bool], int] = {}
    least_ms = stacks.SMALLEST * max(root.ms)
    nodes = [_plain(key, node, names, least_ms) for key, node in root.calls.items() if max(node.ms) >= least_ms]
    return {
        "title": stacks.clock_title(clock),
        "isOne": found.low is None,
        "names": [list(each) for each in names],
        "nodes": nodes,
    }


def _grow(root: _Node, sampled: SampledStacks, index: int, ms_of_second: float) -> None:
    for stack in sampled.stacks:
        node, ms = root, stack.seconds * ms_of_second
        node.ms[index] += ms
        for place, frame in enumerate(sampled.frames[each] for each in stack.frames):
            is_innermost = place == len(stack.frames) - 1
            key = (*function_of(frame), frame.line if frame.is_own or is_innermost else 0)
            node = node.calls.setdefault(key, _Node())
            node.ms[index] += ms


def _plain(key: tuple[str, str, bool, int], node: _Node, names: dict[tuple[str, bool], int], least_ms: float) -> list[Any]:
    function, file, is_own, line = key
    name = stacks.neighbour(Frame(function, file, line))
    calls: Sequence[list[Any]] = [
        _plain(each, below, names, least_ms) for each, below in node.calls.items() if max(below.ms) >= least_ms
    ]
    return [names.setdefault((name, is_own), len(names)), *(round(each, 4) for each in node.ms), calls]
