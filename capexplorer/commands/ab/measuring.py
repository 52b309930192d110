"""What an A/B run does: a search for the loads on A, a warm-up of both, then pairs of blocks until every question is answered.

Only one of the two has load at a time, and the order of the blocks is random, so that a slow minute of the machine hits both.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from time import monotonic

from msgspec.structs import replace

from ...model.controls import RestartTarget, SetAutopilot, StepTo, Zero
from ...model.events import Command
from ...model.intervals import PERCENTILE_VALUES_LEAST
from ...model.level import Level
from ...model.load import Load, Users
from ...model.sources import Clock
from ...model.timeline import Timeline
from ...report.ab import sentences
from ...report.ab.result import LETTERS, Block, Figures, Letter, Result, in_order, pairs_of
from ...wording import quantities
from ..run.exploring import level_line
from .child import ChildError, ChildRun

COUNTED_LEAST_S, COUNTED_MOST_S = 6, 20
"""Settled seconds of a block: as many as p95 needs, but short, since blocks near each other see the same machine."""
WARM_UP_S = 3
FIRST_PAIR_S = 22.0
"""What a pair takes that none is known of: two blocks, each of which settles in 3 s or more."""
SETTLES_WITHIN_S = 60.0
"""A level settles within 30 s of its last user's start."""
RESTARTS_WITHIN_S = 180.0
SEARCH_SHARE = 1 / 3
"""Of the time, at most for the search of A's knee."""
BELOW, BEYOND = 0.5, 1.5
"""The loads that are compared, in knees: where latency is that of the service without a queue, and where its goodput is the
capacity."""
VERIFIES = ("soak", "beyond", "return_to_first")
"""Reasons of the autopilot's steps once it has found a knee."""


class Orders:
    """Which build comes first in each pair of a load: each two pairs have both orders, the first of them at random."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._next: dict[Load, tuple[Letter, Letter]] = {}

    def draw(self, load: Load) -> tuple[Letter, Letter]:
        """Of the next pair of this load."""
        if load in self._next:
            return self._next.pop(load)
        order, self._next[load] = self._random.choice([(LETTERS, LETTERS[::-1]), (LETTERS[::-1], LETTERS)])
        return order


class Measuring:
    """`result` is what is known at any time, also after an exception."""

    def __init__(
        self,
        runs: Sequence[ChildRun],
        result: Result,
        pause: Callable[[], None],
        say: Callable[[float, str], None],
        clock: Clock = monotonic,
    ) -> None:
        """`result`: without loads, they are found. `pause`: waits for a moment; may raise. `say`: takes seconds and a line."""
        self._runs: dict[Letter, ChildRun] = dict(zip(LETTERS, runs, strict=True))
        self.result = result
        self._pause, self._say_at, self._clock = pause, say, clock
        self._orders, self._began_s = Orders(result.seed), clock()
        self._counted_s: dict[Load, int] = {}
        """Of the blocks of each load; where p95 is asked for, from the second pair on as many as it needs."""
        self._pair_s: dict[Load, float] = {}
        """How long the next pair of each load takes, by the latest."""

    @property
    def _passed_s(self) -> float:
        return self._clock() - self._began_s

    def _say(self, line: str) -> None:
        self._say_at(self._passed_s, line)

    def carry_out(self) -> None:
        """All of it. Raises ChildError: a run failed."""
        try:
            if not self.result.loads:
                self._find_loads()
            loads = " and ".join(map(quantities.requested, self.result.loads))
            self._say(f"both are compared at {loads}, in the order of --seed {self.result.seed}")
            began_s, within_s = self._passed_s, self.result.within_s
            for repeat in range(1, self.result.repeats + 1):
                self._begin(repeat)
                self._measure(repeat, until_s=began_s + (within_s - began_s) * repeat / self.result.repeats)
                if self.result.is_decided or self._passed_s > within_s:
                    break
            self.result = replace(self.result, ended="decided" if self.result.is_decided else "budget")
        finally:
            self.result = replace(self.result, took_s=self._passed_s)

    # -- the loads

    def _find_loads(self) -> None:
        """By A's knee, as the autopilot finds it; without one, the greatest load that it measured and half of it."""
        run, most_s = self._runs["A"], SEARCH_SHARE * self.result.within_s
        self._say("looking for A's knee: one load below it and one beyond it are compared")
        run.do(SetAutopilot(on=True))
        told = 0
        while not self._search_is_over(run) and self._passed_s < most_s:
            self._wait_a_moment()
            closed = [each.closed for each in run.timeline.levels if each.closed is not None]
            for each in closed[told:]:
                self._say(f"A: {level_line(each)}")
            told = len(closed)
        run.do(SetAutopilot(on=False))
        self._stop(run)
        loads, beyond_knee = loads_around_knee(run.timeline, min(each.max_users for each in self._runs.values()))
        if not loads:
            raise ChildError(f"A: no level settled in {most_s:.0f} s: name the loads by --users or --rates")
        self.result = replace(self.result, loads=loads, beyond_knee=beyond_knee)

    @staticmethod
    def _search_is_over(run: ChildRun) -> bool:
        """Whether the autopilot has ended, or verifies a knee."""
        steps = [each.args for each in run.timeline.journal if isinstance(each, Command) and each.by == "autopilot"]
        return any(each.get("on") is False or each.get("why") in VERIFIES for each in steps)

    # -- repeats and pairs

    def _begin(self, repeat: int) -> None:
        """Restart both targets, except at first, and warm up both."""
        if repeat > 1:
            self._say(f"repeat {repeat} of {self.result.repeats}: both targets start again")
            for run in self._runs.values():  # in turn: both may build the same file
                run.do(RestartTarget({}))
                self._wait(partial(_has_started, run, repeat), RESTARTS_WITHIN_S, f"{run.name}: its target again")
        for run in self._runs.values():
            self._load(run, self.result.loads[-1], WARM_UP_S)

    def _measure(self, repeat: int, until_s: float) -> None:
        """Rounds of a pair at each load until these are decided, or the next pair would end after `until_s`. A repeat is one
        difference, so nothing is decided within it; it has a round at least.
        """
        by_pair, loads = self.result.repeats == 1, self._open_loads()
        for number in count(1):
            for load in loads:
                ends_s = self._passed_s + self._pair_s.get(load, FIRST_PAIR_S)
                if ends_s > (until_s if by_pair or number > 1 else self.result.within_s):
                    return
                self._pair(load, repeat)
            loads = self._open_loads() if by_pair else loads
            if not loads:
                return

    def _open_loads(self) -> Sequence[Load]:
        """Those at which a question is open."""
        decided = {each.load for each in self.result.answers} - {each.load for each in self.result.answers if each.is_open}
        return [each for each in self.result.loads if each not in decided]

    def _pair(self, load: Load, repeat: int) -> None:
        began_s, number = self._passed_s, 1 + len(self._pairs(load))
        counted_s = self._counted_s.setdefault(load, COUNTED_LEAST_S)
        blocks: dict[Letter, Block] = {}
        for letter in self._orders.draw(load):
            block_s, figures = self._passed_s, self._load(self._runs[letter], load, counted_s)
            blocks[letter] = Block(side=letter, load=load, repeat=repeat, pair=number, began_s=block_s, figures=figures)
        self.result = replace(self.result, blocks=(*self.result.blocks, *blocks.values()))
        asked = [each for each in self.result.answers if each.load == load]
        if number == 1 and any(each.figure == "p95" for each in asked):
            self._counted_s[load] = counted_s_of([each.figures for each in blocks.values()])
        longer_s = len(blocks) * (self._counted_s[load] - counted_s)
        self._pair_s[load] = self._passed_s - began_s + longer_s
        self._say(sentences.pair_line(blocks["A"], blocks["B"], asked[0]))

    def _pairs(self, load: Load) -> Sequence[tuple[Block, Block]]:
        return pairs_of([each for each in self.result.blocks if each.load == load])

    # -- one block

    def _load(self, run: ChildRun, load: Load, counted_s: float) -> Figures:
        """A build under a load until so many seconds of it are settled, then without load."""
        first, requested = len(run.timeline.levels), quantities.requested(load)
        run.do(StepTo(load))
        self._wait(
            lambda: sum(each.figures.settled_seconds for each in _with_load(run, first)) >= counted_s,
            SETTLES_WITHIN_S + counted_s,
            f"{run.name}: {counted_s:g} settled seconds at {requested}",
        )
        self._stop(run)
        levels = _with_load(run, first)
        if any(each.opened.by == "guard" for each in run.timeline.levels[first:]):
            raise ChildError(f"{run.name}: a guard took the load away at {requested}")
        figures = Figures.of(levels)
        if figures is None:
            raise ChildError(f"{run.name}: no request succeeded at {requested}")
        return figures

    def _stop(self, run: ChildRun) -> None:
        """Take its load away, and wait until its level has closed."""
        run.do(Zero())
        self._wait(
            lambda: all(each.closed is not None for each in _with_load(run, 0)),
            SETTLES_WITHIN_S,
            f"{run.name}: the end of its level",
        )

    def _wait(self, condition: Callable[[], bool], within_s: float, what: str) -> None:
        """Raises ChildError: it is not so in time."""
        ends_s = self._clock() + within_s
        while not condition():
            if self._clock() > ends_s:
                raise ChildError(f"{what}: not within {within_s:g} s")
            self._wait_a_moment()

    def _wait_a_moment(self) -> None:
        self._pause()
        for run in self._runs.values():
            run.follow()


def _has_started(run: ChildRun, times: int) -> bool:
    return run.starts >= times


def _with_load(run: ChildRun, first: int) -> Sequence[Level]:
    return [each for each in run.timeline.levels[first:] if each.has_load]


def loads_around_knee(timeline: Timeline, max_users: int) -> tuple[tuple[Load, ...], bool]:
    """(loads to compare, whether the greatest is beyond the knee): none if no level settled."""
    verdict = timeline.current_verdict.capacity.knee if timeline.current_verdict is not None else None
    settled = [each.users for each in timeline.levels if each.has_load and each.figures.settled]
    if verdict is not None and verdict.kind == "knee" and verdict.users is not None:
        beyond = math.ceil(BEYOND * verdict.users)
        return _users(round(BELOW * verdict.users), min(beyond, max_users)), beyond <= max_users
    return (_users(round(BELOW * max(settled)), max(settled)), False) if settled else ((), False)


def _users(*numbers: int) -> tuple[Load, ...]:
    return in_order([Users(max(1, each)) for each in numbers])


def counted_s_of(figures: Sequence[Figures]) -> int:
    """Settled seconds of further blocks: so many that the slower build's p95 has values enough."""
    slowest_per_s = min(each.goodput_per_s for each in figures)
    return min(max(math.ceil(PERCENTILE_VALUES_LEAST["p95"] / slowest_per_s), COUNTED_LEAST_S), COUNTED_MOST_S)
