"""Judges of the load that is recommended: of the trial, and of simulated services."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.model.recommended import Estimate
from lab.population.operated import Operated, operated, report
from lab.trials.operating import judged

PROMISED = {
    "users": 20.0, "measured": True, "failure_ratio": 0.0,
    "goodput_per_s": {"value": 50.0, "low": 48.0, "high": 52.0}, "p95_ms": {"value": 80.0, "low": 70.0, "high": 90.0},
}  # fmt: skip
SOAKED = {"goodput_rps": 49.0, "latency_ms": {"p95": 85.0}, "failure_ratio": 0.0, "settled_s": 5.0, "ended_s": 605.0}


@pytest.mark.parametrize(
    ("soaked", "wrong"),
    [
        ({}, ()),
        ({"goodput_rps": 47.0}, ()),
        ({"goodput_rps": 44.0}, ("goodput",)),
        ({"latency_ms": {"p95": 120.0}}, ("p95",)),
        ({"failure_ratio": 0.01}, ("failures",)),
    ],
    ids=["as promised", "nearly", "less goodput", "slower", "failures"],
)
def test_a_soak_is_wrong_if_it_is_worse_than_the_promised_interval(soaked: dict[str, Any], wrong: tuple[str, ...]) -> None:
    assert judged(PROMISED, {**SOAKED, **soaked}).wrong == wrong


def test_what_was_not_promised_is_missing() -> None:
    assert judged({**PROMISED, "p95_ms": None}, SOAKED).missing == ("p95",)


def test_a_simulated_service_runs_on_at_the_recommended_load() -> None:
    found = operated(("ladder-equal", 0))
    assert found is not None and found.goodput_per_s is not None and found.knee is not None
    assert found.load < found.knee
    assert found.soak_per_s == pytest.approx(found.goodput_per_s.value, rel=0.1)


def test_the_report_counts_what_held() -> None:
    usual: dict[str, Any] = {"seed": 0, "load": 20.0, "knee": 30.0, "measured": True, "soak_per_s": 49.0}
    promised: dict[str, Any] = {
        "goodput_per_s": Estimate(value=50.0, low=48.0),
        "p95_ms": Estimate(value=80.0, low=70.0, high=90.0),
    }
    found = [
        Operated(family="a", soak_p95_ms=85.0, **usual, **promised),
        Operated(family="a", soak_p95_ms=93.0, **usual, **promised),
    ]
    (row,) = (line.split() for line in report(found, 5).splitlines() if line.startswith("a "))
    assert " ".join(row) == "a 2 2 of 2 2 of 2 1 of 2 2 of 2 2 of 2 1.29"
