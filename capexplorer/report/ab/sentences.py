"""What is said of an A/B run: the verdict in one sentence, a line for each pair, and the cells of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...wording import numbers, quantities
from ...wording.numbers import brief_percent
from .result import GREATER_IS_BETTER, Block, Figure, Finding, Result, figure_of

INTERVALS = "Brackets hold all true changes with a probability of 95%, whenever the run ends."

TITLES: dict[Figure, str] = {
    "capacity": "capacity",
    "goodput": "goodput",
    "mean": "mean latency",
    "p95": "p95",
    "failures": "failed requests",
}

_ENDED = {
    "decided": "decided after",
    "budget": "the time was over after",
    "interrupted": "ended after",
    "failed": "a run failed after",
}


def verdict(result: Result) -> str:
    """`B is worse than A: capacity 151 to 144/s (-4.6% [-6.1% to -3.5%]); ...; decided after 14 pairs, 365 s`."""
    clauses = [
        *map(clause, told(result)),
        f"{_ENDED[result.ended]} {numbers.several(result.pairs, 'pair')}, {numbers.span(result.took_s)}",
    ]
    return f"{_head(result)}: {'; '.join(clauses)}"


def told(result: Result) -> Sequence[Finding]:
    """What was asked for, the capacity first; failures only if their share differs."""
    asked = [each for each in result.answers if each.least or each.is_better is not None]
    return sorted(asked, key=lambda each: each.figure not in GREATER_IS_BETTER)


def _head(result: Result) -> str:
    if len(result.directions) == 2:
        return f"B is better than A in {_names(result, True)}, and worse in {_names(result, False)}"
    if result.directions:
        return f"B is {'better' if True in result.directions else 'worse'} than A"
    if result.is_decided:
        return "B is as good as A"
    return "It is not decided whether B is better or worse than A"


def _names(result: Result, is_better: bool) -> str:
    return " and ".join(named(each) for each in told(result) if each.is_better is is_better)


def named(found: Finding) -> str:
    """`capacity`, `p95 at 20 users`."""
    if found.figure == "capacity":
        return TITLES[found.figure]
    return f"{TITLES[found.figure]} at {quantities.requested(found.load)}"


def clause(found: Finding) -> str:
    """`p95 at 20 users 85.1 to 95.3 ms (+12% [+8.1% to +16%])`."""
    said = {"equal": f", less than {numbers.percent(found.least)}", "undecided": ", undecided"}.get(found.answer or "", "")
    return f"{named(found)} {values(found)} ({change(found)}{said})"


def values(found: Finding) -> str:
    """`151 to 144/s`."""
    pair = (found.a, found.b)
    match found.figure:
        case "failures":
            return " to ".join(map(numbers.percent_in_full, pair))
        case "mean" | "p95":
            return quantities.latencies(pair, " to ", quantities.rate_cell)
        case "capacity" | "goodput":
            return quantities.rates(pair, " to ", quantities.rate_cell)


def value(figure: Figure, one: float) -> str:
    """One of both: `151/s`."""
    match figure:
        case "failures":
            return numbers.percent_in_full(one)
        case "mean" | "p95":
            return quantities.latency_figure(one)
        case "capacity" | "goodput":
            return quantities.rate_figure(one)


def change(found: Finding) -> str:
    """`-4.6% [-6.1% to -3.5%]`; without the interval while there is none."""
    known = interval(found)
    return f"{_change(found, found.change)} [{known}]" if known else _change(found, found.change)


def interval(found: Finding) -> str:
    """`-6.1% to -3.5%`; empty while there is none."""
    if found.low is None or found.high is None:
        return ""
    return f"{_change(found, found.low)} to {_change(found, found.high)}"


def _change(found: Finding, value: float) -> str:
    """`-4.6%`; of a share `+1.5 points`."""
    return brief_percent(value).replace("%", " points") if found.figure == "failures" else brief_percent(value)


def pair_line(a: Block, b: Block, so_far: Finding) -> str:
    """`pair 3 at 40 users: A 151/s, B 144/s; capacity so far -4.8% [-9.1% to -0.3%]`: what is asked for at that load."""
    of_a, of_b = (value(so_far.figure, figure_of(so_far.figure, each)) for each in (a, b))
    known = f"{TITLES[so_far.figure]} so far {change(so_far)}"
    return f"pair {a.pair} at {quantities.requested(a.load)}: A {of_a}, B {of_b}; {known}"


TABLE_TITLES = ("load", "figure", "A", "B", "change", "interval", "pairs", "answer")
WORDS = (0, 1, 7)
"""Indices of the columns that have words."""


def rows(result: Result) -> Iterator[list[str]]:
    """The cells of the table, a row a figure of a load."""
    shown = None
    for each in result.findings:
        load = quantities.requested(each.load)
        both = (value(each.figure, one) for one in (each.a, each.b))
        changed = (_change(each, each.change), interval(each), str(each.pairs), answer(each))
        yield [load if load != shown else "", TITLES[each.figure], *both, *changed]
        shown = load


def table(result: Result) -> Iterator[str]:
    """The same as lines of text; none without a pair."""
    found = list(rows(result))
    if not found:
        return
    widths = [max(map(len, column)) for column in zip(TABLE_TITLES, *found, strict=True)]
    for cells in (TABLE_TITLES, *found):
        padded = [
            cell.ljust(width) if at in WORDS else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()


def answer(found: Finding) -> str:
    """`better`, `worse`, `less than 5%`, `undecided`; empty if it was not asked for."""
    if found.is_better is not None:
        return "better" if found.is_better else "worse"
    if found.answer == "equal":
        return f"less than {numbers.percent(found.least)}"
    return "" if found.answer is None or not found.least else "undecided"
