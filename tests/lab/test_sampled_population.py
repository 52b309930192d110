"""Simulated stacks: the closed network behind them, and what is named of a clear case."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capexplorer.analysis import stacks
from lab.population.sampled import Service, report, session, solved
from lab.simulation import exact


def test_a_network_of_one_station_is_the_known_queue() -> None:
    rate, waiting, _ = solved(30, 1.0, 0.05, 0.0, 1)
    known_rate, response_s = exact.mva(30, 1.0, 0.05)
    assert (rate, waiting) == pytest.approx((known_rate, known_rate * response_s))
    rate, _, _ = solved(30, 1.0, 0.0, 0.2, 4)
    assert rate == pytest.approx(exact.throughput_rps(30, 1.0, exact.servers(4, 0.2)))


@pytest.mark.parametrize(
    ("service", "named"),
    [
        (Service("interpreter", 0.5, cpu_s=0.02), "compute"),
        (Service("lock", 0.5, cpu_s=0.001, hold_s=0.05), "checkout"),
        (Service("threads", 0.5, hold_s=0.05, worker_threads=4), "work"),
    ],
)
def test_the_function_that_limits_a_clear_case_is_named(service: Service, named: str) -> None:
    assert service.limits == {named}
    found = stacks.difference(session(service, math.ceil(1.5 * service.knee), np.random.default_rng(1)))
    assert found is not None
    assert found.named is not None
    assert found.named.function.frame.function == named


def test_the_report_has_a_line_for_each_number_and_leaves_them_as_they_were() -> None:
    before = stacks.INTERPRETER_FULL, stacks.IDLE_LEFT_MOST
    lines = report(range(3)).splitlines()
    assert [line.partition(":")[0] for line in lines][1:4] == ["at 1 N*", "at 1.2 N*", "at 1.5 N*"]
    assert (stacks.INTERPRETER_FULL, stacks.IDLE_LEFT_MOST) == before
