"""The trials of `make ab`: a simulated run from end to end, and what is counted."""

from __future__ import annotations

from typing import Any

from lab.trial import Result
from lab.trials.ab import Queue, counts, simulated


def test_half_the_capacity_is_found_in_a_simulated_run() -> None:
    found = simulated(Queue(seed=1, slower=1.0, slow_minute=False))
    assert (found["capacity"]["answer"], found["exit_code"]) == ("lower", 3)


def ran(answer: str, low: float | None, high: float | None) -> Result:
    figure: dict[str, Any] = {"answer": answer, "low": low, "high": high}
    code = {"lower": 3, "equal": 0}.get(answer, 5)
    return Result(case="x", figures={"capacity": figure, "p95": figure, "failures_differ": False, "exit_code": code, "took_s": 9})


def test_answers_are_counted_and_intervals_without_the_truth() -> None:
    runs = [ran("equal", -0.01, 0.01), ran("lower", -0.09, -0.02), ran("undecided", None, None), Result(case="failed")]
    found = counts(runs, slower=0.0)
    assert (found["runs"], found["failed"]) == (3, 1)
    assert found["capacity"] == {"lower": 1, "equal": 1, "undecided": 1}
    assert found["capacity_intervals_without_the_truth"] == found["p95_intervals_without_the_truth"] == 1
    assert found["exit_codes"] == {0: 1, 3: 1, 5: 1}
    assert counts(runs, slower=0.05)["capacity_intervals_without_the_truth"] == 1, "5% slower is 4.8% less capacity"
