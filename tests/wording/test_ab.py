"""Sentences about A/B runs."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.model.load import Rate, Users
from capexplorer.report.ab import sentences
from capexplorer.report.ab.result import Block, Figures, Finding, Result, Side


def finding(
    figure: Any, users: int, a: float, b: float, low: float | None, high: float | None, answer: Any, least: float
) -> Finding:
    return Finding(
        figure=figure, load=Users(users), a=a, b=b, change=b / a - 1 if a else b, low=low, high=high, pairs=7, answer=answer,
        least=least,
    )  # fmt: skip


CAPACITY = finding("capacity", 60, 151.0, 144.0, -0.061, -0.035, "lower", 0.05)
SAME_CAPACITY = finding("capacity", 60, 151.0, 150.5, -0.021, 0.015, "equal", 0.05)
OPEN_CAPACITY = finding("capacity", 60, 151.0, 147.0, None, None, "undecided", 0.05)
P95 = finding("p95", 20, 85.1, 95.3, 0.08, 0.162, "higher", 0.1)
FASTER = finding("p95", 20, 95.3, 85.1, -0.162, -0.06, "lower", 0.1)
FAILING = finding("failures", 60, 0.0, 0.015, 0.004, 0.026, "higher", 0.0)
NOT_FAILING = finding("failures", 60, 0.0, 0.0, 0.0, 0.0, "undecided", 0.0)


def result(*findings: Finding, ended: Any = "decided") -> Result:
    """One with these findings, after no block."""
    found = Result(
        a=Side(given="a", understood="profile a"), b=Side(given="b", understood="profile b"), loads=(Users(20), Users(60)),
        beyond_knee=True, until=0.05, within_s=600.0, repeats=1, seed=1, took_s=365.0, ended=ended,
    )  # fmt: skip
    found.__dict__["findings"] = findings  # in place of those of its blocks
    return found


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            result(P95, CAPACITY, NOT_FAILING),
            "B is worse than A: capacity 151 to 144/s (-4.6% [-6.1% to -3.5%]); p95 at 20 users 85.1 to 95.3 ms"
            " (+12% [+8.0% to +16%]); decided after 0 pairs, 6 min 5 s",
        ),
        (
            result(SAME_CAPACITY, FASTER),
            "B is better than A: capacity 151 to 150/s (-0.3% [-2.1% to +1.5%], less than 5%); p95 at 20 users 95.3 to 85.1 ms"
            " (-11% [-16% to -6.0%]); decided after 0 pairs, 6 min 5 s",
        ),
        (
            result(CAPACITY, FASTER),
            "B is better than A in p95 at 20 users, and worse in capacity: capacity 151 to 144/s (-4.6% [-6.1% to -3.5%]);"
            " p95 at 20 users 95.3 to 85.1 ms (-11% [-16% to -6.0%]); decided after 0 pairs, 6 min 5 s",
        ),
        (
            result(SAME_CAPACITY, FAILING),
            "B is worse than A: capacity 151 to 150/s (-0.3% [-2.1% to +1.5%], less than 5%); failed requests at 60 users"
            " 0% to 1.50% (+1.5 points [+0.4 points to +2.6 points]); decided after 0 pairs, 6 min 5 s",
        ),
        (
            result(SAME_CAPACITY),
            "B is as good as A: capacity 151 to 150/s (-0.3% [-2.1% to +1.5%], less than 5%); decided after 0 pairs, 6 min 5 s",
        ),
        (
            result(OPEN_CAPACITY, ended="budget"),
            "It is not decided whether B is better or worse than A: capacity 151 to 147/s (-2.6%, undecided); the time"
            " was over after 0 pairs, 6 min 5 s",
        ),
        (
            result(ended="failed"),
            "It is not decided whether B is better or worse than A: a run failed after 0 pairs, 6 min 5 s",
        ),
    ],
)  # fmt: skip
def test_the_verdict_has_each_answer_with_its_interval(found: Result, expected: str) -> None:
    assert sentences.verdict(found) == expected


def test_the_rows_of_a_load_name_it_once() -> None:
    assert list(sentences.rows(result(P95, FASTER, FAILING, OPEN_CAPACITY))) == [
        ["20 users", "p95", "85.1 ms", "95.3 ms", "+12%", "+8.0% to +16%", "7", "worse"],
        ["", "p95", "95.3 ms", "85.1 ms", "-11%", "-16% to -6.0%", "7", "better"],
        ["60 users", "failed requests", "0%", "1.50%", "+1.5 points", "+0.4 points to +2.6 points", "7", "worse"],
        ["", "capacity", "151/s", "147/s", "-2.6%", "", "7", "undecided"],
    ]


def test_the_line_of_a_pair_has_its_figures_and_what_is_known_so_far() -> None:
    def block(side: Any, p95_ms: float) -> Block:
        figures = Figures(level=3, seconds=6.0, goodput_per_s=40.0, mean_ms=50.0, p95_ms=p95_ms, requests=240, failures=0)
        return Block(side=side, load=Rate(40.0), repeat=1, pair=3, began_s=0.0, figures=figures)

    assert (
        sentences.pair_line(block("A", 85.0), block("B", 96.4), P95)
        == "pair 3 at 40/s: A 85.0 ms, B 96.4 ms; p95 so far +12% [+8.0% to +16%]"
    )
