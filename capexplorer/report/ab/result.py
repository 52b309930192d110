"""An A/B run as a value: two builds, their blocks of load in pairs, and what these decide. Pure.

One figure is asked for at each load: the goodput at the greatest load, which is the capacity if the service is at its limit
there, and p95 at each lower one; both if there is one load. The share of failed requests is asked for at every load. All
questions share an error of 5%: the chance that any of their intervals ever leaves out the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal

import msgspec

from ...analysis.paired import Change, change, mean_difference
from ...errors import ExitCode
from ...model.histogram import LatencyHistogram
from ...model.level import Level
from ...model.load import Load, Users

FALSE_MOST = 0.04
FALSE_FAILURES_MOST = 0.01
"""Probability with which one of the intervals of all questions, and one of those about failures, may ever leave out the truth.
Failures get less: where they differ, they differ by far."""

Letter = Literal["A", "B"]
LETTERS: tuple[Letter, Letter] = ("A", "B")


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two builds."""

    given: str
    """As on the command line, without passwords."""
    understood: str
    """What that means, in words: `git ref main (a08169b8)`."""
    session: str = ""
    path: str = ""
    """Its session and the log of it; empty: none began."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a block: of its level, or of the levels into which a change of the service split it."""

    level: int
    """Index of the first of them in the session."""
    seconds: float
    """Settled seconds."""
    goodput_per_s: float
    """Work, at an offered rate iterations, finished a second."""
    mean_ms: float
    p95_ms: float
    """Latency of successes, at an offered rate from plan."""
    requests: int
    failures: int

    @property
    def failure_ratio(self) -> float:
        """Share of the requests that failed."""
        return self.failures / self.requests if self.requests else 0.0

    @classmethod
    def of(cls, levels: Sequence[Level]) -> Figures | None:
        """None: no settled second, or no success in them."""
        settled = [each for each in levels if each.figures.settled_seconds > 0]
        figures, histogram = [each.figures for each in settled], LatencyHistogram()
        for each in settled:
            histogram.add(each.histogram)
        p95_ms, seconds = histogram.percentile_ms(0.95), math.fsum(each.settled_seconds for each in figures)
        if p95_ms is None or not seconds:
            return None
        means = [
            (each.offered.finished, each.offered.from_plan_ms.mean)
            if each.offered is not None
            else (each.requests - each.failures, each.latency_ms.mean)
            for each in figures
        ]
        done = sum(count for count, _ in means)
        per_s = [each.offered.finished_per_s if each.offered is not None else each.goodput_rps or 0.0 for each in figures]
        return cls(
            level=settled[0].opened.index,
            seconds=seconds,
            goodput_per_s=math.fsum(rate * each.settled_seconds for rate, each in zip(per_s, figures, strict=True)) / seconds,
            mean_ms=math.fsum(count * (mean or 0.0) for count, mean in means) / done,
            p95_ms=p95_ms,
            requests=sum(each.requests for each in figures),
            failures=sum(each.failures for each in figures),
        )


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A build under one load for some seconds."""

    side: Letter
    load: Load
    repeat: int
    """Starts of both targets before it, from 1."""
    pair: int
    """Number of its pair among those of this load, from 1."""
    began_s: float
    """Since the A/B run began."""
    figures: Figures


# -- questions -----------------------------------------------------------------------------------------------------------------

Figure = Literal["capacity", "goodput", "mean", "p95", "failures"]

GREATER_IS_BETTER: tuple[Figure, ...] = ("capacity", "goodput")


class Question(msgspec.Struct, frozen=True):
    """Whether a figure differs between A and B, and which change of it matters."""

    figure: Figure
    load: Load
    least: float | None
    """The smallest change that matters, relative to A. 0: any, and the run does not wait for it; None: it is shown only."""
    error: float
    """Probability with which the interval of the change may ever leave out the truth."""


def questions(loads: Sequence[Load], until: float, *, beyond_knee: bool) -> tuple[Question, ...]:
    """All figures of each load. `until`: the smallest change of goodput that matters; for latency it is twice that."""
    if not loads:
        return ()
    top: Figure = "capacity" if beyond_knee else "goodput"
    least: dict[tuple[Figure, Load], float] = {("p95", load): 2 * until for load in loads[:-1] or loads}
    least[top, loads[-1]] = until
    errors = FALSE_MOST / len(least), FALSE_FAILURES_MOST / len(loads)
    found = list[Question]()
    for load in loads:
        shown: tuple[Figure, ...] = (top if load == loads[-1] else "goodput", "mean", "p95")
        found += [Question(figure, load, least.get((figure, load)), errors[0]) for figure in shown]
        found.append(Question("failures", load, 0.0, errors[1]))
    return tuple(found)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of both builds, and the change from A to B with its interval."""

    figure: Figure
    load: Load
    a: float
    b: float
    """Per second, ms, or a share: geometric means over the blocks, of failures their share of all requests."""
    change: float
    low: float | None
    high: float | None
    """Relative to A: -0.05 is 5% less; of failures the difference of the shares. None: not known yet."""
    pairs: int
    differences: tuple[float, ...] = ()
    """Of each pair, or with repeats of each repeat, in order: those whose mean is `change`, before it is made relative: of
    logarithms, of failures of shares."""
    error: float = FALSE_MOST
    """Probability with which the interval may ever leave out the truth."""
    answer: Change | None = None
    """None: this figure was not asked for."""
    least: float = 0.0
    """The smallest change that matters; 0: any."""

    @property
    def is_better(self) -> bool | None:
        """Whether the change is for the better, or for the worse; None: neither is decided."""
        if self.answer not in ("lower", "higher"):
            return None
        return (self.answer == "higher") == (self.figure in GREATER_IS_BETTER)

    @property
    def is_open(self) -> bool:
        """Whether the run goes on for it."""
        return self.answer == "undecided" and self.least > 0


class Result(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All that an A/B run has measured so far."""

    a: Side
    b: Side
    loads: tuple[Load, ...]
    """Ascending."""
    beyond_knee: bool
    """Whether the greatest load is beyond the knee that was found in A, so that goodput there is the capacity."""
    until: float
    within_s: float
    repeats: int
    seed: int
    """Of the order of the blocks."""
    blocks: tuple[Block, ...] = ()
    took_s: float = 0.0
    ended: Literal["decided", "budget", "interrupted", "failed"] = "interrupted"
    why: str = ""
    """Of a run that failed or was interrupted."""
    warnings: tuple[str, ...] = ()
    """What else differs between the two."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All figures of each load that has a pair, those that were asked for with their answers."""
        asked = questions(self.loads, self.until, beyond_knee=self.beyond_knee)
        found = (_finding(each, self.blocks, by_repeat=self.repeats > 1) for each in asked)
        return tuple(each for each in found if each is not None)

    @property
    def answers(self) -> tuple[Finding, ...]:
        """Those that were asked for."""
        return tuple(each for each in self.findings if each.answer is not None)

    @property
    def directions(self) -> frozenset[bool]:
        """Whether B is better (True) or worse (False) in something."""
        return frozenset(each.is_better for each in self.answers if each.is_better is not None)

    @property
    def is_decided(self) -> bool:
        """Whether every question has an answer."""
        return bool(self.answers) and not any(each.is_open for each in self.answers)

    @property
    def pairs(self) -> int:
        """Pairs of all loads."""
        return len(self.blocks) // 2

    @property
    def exit_code(self) -> ExitCode:
        """Not met: B is worse."""
        if self.ended == "failed":
            return ExitCode.FAILED
        if False in self.directions:
            return ExitCode.NOT_MET
        return ExitCode.DONE if self.is_decided else ExitCode.UNDECIDED


def _finding(question: Question, blocks: Sequence[Block], *, by_repeat: bool) -> Finding | None:
    """None without a pair."""
    pairs = pairs_of([each for each in blocks if each.load == question.load])
    if not pairs:
        return None
    of_pair = _difference(question.figure)
    differences = _means_of_repeats(pairs, of_pair) if by_repeat else [of_pair(a, b) for a, b in pairs]
    found = mean_difference(differences, question.error)
    a, b = (_mean(question.figure, side) for side in zip(*pairs, strict=True))
    low, high = (relative(question.figure, end) if math.isfinite(end) else None for end in (found.low, found.high))
    return Finding(
        figure=question.figure,
        load=question.load,
        a=a,
        b=b,
        change=relative(question.figure, found.mean),
        low=low,
        high=high,
        pairs=len(pairs),
        differences=tuple(differences),
        error=question.error,
        answer=None if question.least is None else change(found, question.least),
        least=question.least or 0.0,
    )


def relative(figure: Figure, difference: float) -> float:
    """The change that a difference means: 0.05 is 5%; of failures the difference of the shares itself."""
    return difference if figure == "failures" else math.expm1(difference)


def pairs_of(blocks: Sequence[Block]) -> list[tuple[Block, Block]]:
    """(A, B) of each pair that is complete, in order."""
    found: dict[tuple[Load, int], dict[Letter, Block]] = {}
    for each in blocks:
        found.setdefault((each.load, each.pair), {})[each.side] = each
    return [(pair["A"], pair["B"]) for pair in found.values() if len(pair) == 2]


def figure_of(figure: Figure, block: Block) -> float:
    """A figure of a block: per second, ms, or a share."""
    found = block.figures
    match figure:
        case "capacity" | "goodput":
            return found.goodput_per_s
        case "mean":
            return found.mean_ms
        case "p95":
            return found.p95_ms
        case "failures":
            return found.failure_ratio


def _difference(figure: Figure) -> Callable[[Block, Block], float]:
    """Of logarithms; of failures that of the shares."""
    if figure == "failures":
        return lambda a, b: figure_of(figure, b) - figure_of(figure, a)
    return lambda a, b: math.log(figure_of(figure, b) / figure_of(figure, a))


def _means_of_repeats(pairs: Sequence[tuple[Block, Block]], of_pair: Callable[[Block, Block], float]) -> list[float]:
    """The mean difference of each repeat. What a start decides, such as where memory lies, is common to all pairs of a repeat:
    with pairs as the units, their number would hide it.
    """
    by_repeat: dict[int, list[float]] = {}
    for a, b in pairs:
        by_repeat.setdefault(a.repeat, []).append(of_pair(a, b))
    return [math.fsum(each) / len(each) for each in by_repeat.values()]


def _mean(figure: Figure, blocks: Sequence[Block]) -> float:
    if figure == "failures":
        return sum(each.figures.failures for each in blocks) / max(sum(each.figures.requests for each in blocks), 1)
    return math.exp(math.fsum(math.log(figure_of(figure, each)) for each in blocks) / len(blocks))


def in_order(loads: Sequence[Load]) -> tuple[Load, ...]:
    """Ascending, each once."""
    return tuple(sorted(dict.fromkeys(loads), key=lambda each: each.users if isinstance(each, Users) else each.per_s))
