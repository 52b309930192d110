"""A generator is saturated by a busy load thread with a second ground, or a blocked loop; not by CPU that other processes use.

By the means of its readings over a level; over seconds: test_cause_detector.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from capexplorer.analysis.causes.generator_saturation import (
    SaturationReadings,
    is_saturated,
    little_ratio,
    others_cpu,
    readings_at_level,
    stretch,
    time_outside_requests_ms,
)
from capexplorer.model.figures import LevelFigures

RESOLVERS = {
    "generator.process_cpu_ratio": 1.134, "generator.cpu_ratio": 0.852, "generator.screen_cpu_ratio": 0.0,
    "generator.recorder_cpu_ratio": 0.022,
}  # fmt: skip
"""Measured: 20 users without think time, each request to a host name over a new connection: 3,438/s, nginx at 0.11 cores."""

SATURATED_BY_CPU = [
    ("time to spare", 0.30, {}, 0.1, False),
    ("busy, beside an idle service", 0.96, {}, 0.1, True),
    ("busy, beside a busy service", 0.96, {}, 1.6, False),
    ("without idle time", 0.98, {}, 1.6, True),
    ("busy with the threads that resolve names, beside an idle service", 0.852, RESOLVERS, 0.11, True),
    ("the same, beside a busy service", 0.852, RESOLVERS, 1.6, False),
    ("nearly busy, and its threads were not measured", 0.852, {"generator.process_cpu_ratio": 1.134}, 0.11, False),
    ("threads beside a loop that has time to spare", 0.5, RESOLVERS | {"generator.cpu_ratio": 0.5}, 0.11, False),
    ("its CPU was not measured", None, {}, 0.1, None),
]


@pytest.mark.parametrize(
    ("cpu_ratio", "readings", "target_ratio", "saturated"),
    [row[1:] for row in SATURATED_BY_CPU],
    ids=[row[0] for row in SATURATED_BY_CPU],
)
def test_a_busy_generator_is_saturated_beside_an_idle_service_or_without_idle_time(
    cpu_ratio: float | None, readings: dict[str, float], target_ratio: float, saturated: bool | None
) -> None:
    figures = LevelFigures(settled=True, generator_cpu_ratio=cpu_ratio, target_cpu_ratio=target_ratio, readings=readings)
    assert is_saturated(figures) is saturated


@pytest.mark.parametrize(
    ("why", "figures", "expected"),
    [
        ("nothing measured", {}, None),
        ("idle", {"generator_cpu_ratio": 0.4, "loop_lag_p99_ms": 3.0}, False),
        ("busy alone", {"generator_cpu_ratio": 0.97, "loop_lag_p99_ms": 3.0}, False),
        ("late alone", {"generator_cpu_ratio": 0.4, "loop_lag_p99_ms": 50.0}, False),
        ("busy and late", {"generator_cpu_ratio": 0.97, "loop_lag_p99_ms": 50.0}, True),
        ("waits for a core, and late",
         {"generator_cpu_ratio": 0.64, "generator_run_delay_ratio": 0.36, "loop_lag_p99_ms": 50.0}, True),
        ("waits for a core, and users missing from Little's law",
         {"generator_cpu_ratio": 0.64, "generator_run_delay_ratio": 0.36, "users_mean": 100.0, "throughput_rps": 50.0,
          "response_ms": 500.0, "wait_s": 1.0}, True),
        ("Little's law alone", {"generator_cpu_ratio": 0.4, "users_mean": 100.0, "throughput_rps": 50.0, "response_ms": 500.0,
                                "wait_s": 1.0}, False),
        ("no CPU measured, and late", {"loop_lag_p99_ms": 50.0}, None),
        ("late, users that sleep in their task, and time to spare",
         {"generator_cpu_ratio": 0.14, "generator_run_delay_ratio": 0.23, "loop_lag_p99_ms": 28.0, "users_mean": 20.0,
          "throughput_rps": 227.0, "response_ms": 24.0, "wait_s": 0.0}, False),
        ("Little's law kept", {"generator_cpu_ratio": 0.97, "users_mean": 75.0, "throughput_rps": 50.0, "response_ms": 500.0,
                               "wait_s": 1.0}, False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_generator_is_saturated_by_its_cpu_and_another_ground(
    why: str, figures: dict[str, float], expected: bool | None
) -> None:
    assert is_saturated(LevelFigures(settled=True, **figures)) is expected  # type: ignore[arg-type]


STARVED = {"generator_cpu_ratio": 0.08, "generator_run_delay_ratio": 0.87, "loop_lag_p99_ms": 60.0}


def other_processes(cores: float) -> dict[str, float]:
    return {"neighbours.cpu_ratio": cores, "target.cpu_ratio": 0.3, "generator.loop_lag_p50_ms": 25.0}


def test_a_load_thread_that_other_processes_keep_from_its_core_is_starved_and_not_saturated() -> None:
    """Measured: 0.08 cores and a run delay of 0.87, beside compilers that use 1.6 cores."""
    found = readings_at_level(LevelFigures(settled=True, readings=other_processes(1.6), **STARVED))  # type: ignore[arg-type]
    assert (found.saturated, found.starved) == (False, True)


@pytest.mark.parametrize(
    ("why", "cpu", "delay", "cores"),
    [
        ("others use little", 0.08, 0.87, 0.1),
        ("its load thread is busy by itself", 0.93, 0.06, 1.0),
        ("a call blocks its loop, and it seldom waits for a core", 0.05, 0.1, 1.9),
    ],
)
def test_the_generator_is_saturated_if_other_processes_take_little_of_its_time(
    why: str, cpu: float, delay: float, cores: float
) -> None:
    figures = LevelFigures(
        settled=True,
        readings=other_processes(cores),
        generator_cpu_ratio=cpu,
        generator_run_delay_ratio=delay,
        loop_lag_p99_ms=60.0,
    )
    assert (readings_at_level(figures).saturated, readings_at_level(figures).starved) == (True, False), why


def test_the_generator_is_saturated_if_the_cpu_of_other_processes_is_unknown() -> None:
    assert readings_at_level(LevelFigures(settled=True, **STARVED)).saturated is True  # type: ignore[arg-type]


def test_in_older_logs_the_cpu_of_other_processes_is_that_of_the_host_less_target_and_generator() -> None:
    readings = {"host.cpu_ratio": 1.98, "target.cpu_ratio": 0.83, "generator.process_cpu_ratio": 0.10}
    assert others_cpu(LevelFigures(settled=True, readings=readings)) == pytest.approx(1.05)
    del readings["target.cpu_ratio"]
    assert others_cpu(LevelFigures(settled=True, readings=readings)) is None, "the service itself may be what uses them"


def test_time_that_users_lose_at_low_load_as_well_is_spent_in_user_code() -> None:
    """A task that sleeps for 60 ms, on a load thread that is busy and keeps up."""
    few = LevelFigures(settled=True, generator_cpu_ratio=0.2, users_mean=5.0, throughput_rps=62.0, response_ms=20.0, wait_s=0.0)
    many = msgspec.structs.replace(few, generator_cpu_ratio=0.96, users_mean=75.0, throughput_rps=930.0, loop_lag_p99_ms=16.0)
    assert time_outside_requests_ms([many, few]) == pytest.approx(60.6, abs=0.1)
    assert is_saturated(many) is True
    assert is_saturated(many, time_outside_requests_ms([many, few])) is False
    slower = msgspec.structs.replace(many, throughput_rps=600.0)
    assert is_saturated(slower, time_outside_requests_ms([slower, few])) is True


def test_a_busy_level_is_not_used_for_the_time_outside_requests() -> None:
    busy = LevelFigures(settled=True, generator_cpu_ratio=0.96, users_mean=5.0, throughput_rps=62.0, response_ms=20.0, wait_s=0.0)
    assert time_outside_requests_ms([busy]) == time_outside_requests_ms([]) == 0.0


def test_a_cycle_without_duration_has_no_ratio() -> None:
    figures = LevelFigures(settled=True, users_mean=4.0, throughput_rps=10.0, response_ms=0.0, wait_s=0.0)
    assert little_ratio(figures) is None


@pytest.mark.parametrize("stolen", [0.0, 0.1, 0.4])
def test_a_thread_that_the_hypervisor_robs_was_busier_than_its_cpu_time_says(stolen: float) -> None:
    """Two cores in 20,000 slots: the hypervisor takes slots of cores that are in use, whose threads then have no CPU time."""
    random = np.random.default_rng(7)
    wanted = random.random((20_000, 2)) < (0.9, 0.4)
    taken = wanted & (random.random(wanted.shape) < stolen)
    had = (wanted & ~taken).mean(axis=0)
    stretched = stretch(float(had.sum()), float(taken.mean(axis=0).sum()))
    assert had[0] * stretched == pytest.approx(0.9, rel=0.02)
    figures = LevelFigures(settled=True, generator_cpu_ratio=float(had[0]), readings={
        "host.cpu_ratio": float(had.sum()), "host.steal_ratio": float(taken.mean(axis=0).sum())})  # fmt: skip
    assert readings_at_level(figures).busy_ratio == pytest.approx(0.9, rel=0.02)


GROUNDS: dict[str, tuple[dict[str, Any], tuple[str, ...], bool | None, bool]] = {
    "nothing was measured": ({}, (), None, False),
    "it has time to spare": ({"busy_ratio": 0.5}, (), False, False),
    "busy, and keeps up": ({"busy_ratio": 0.96}, ("busy",), False, False),
    "busy beside an idle service": ({"busy_ratio": 0.96, "target_cpu_ratio": 0.2}, ("busy", "idle_target"), True, False),
    "busy beside a service with a full queue": (
        {"busy_ratio": 0.96, "target_cpu_ratio": 0.2, "listen_queue": 5.0}, ("busy",), False, False,
    ),
    "busy with late timers": ({"busy_ratio": 0.96, "loop_lag_p99_ms": 30.0}, ("busy", "loop_lag"), True, False),
    "busy with lost time": ({"busy_ratio": 0.96, "little_ratio": 1.3}, ("busy", "little"), True, False),
    "lost time that the loop's lag cannot explain": (
        {"busy_ratio": 0.96, "little_ratio": 1.3, "loop_lag_p99_ms": 10.0, "unaccounted_ms": 1_400.0}, ("busy",), False, False,
    ),
    "without any idle time": ({"busy_ratio": 0.99}, ("busy",), True, False),
    "its other threads hold the lock": (
        {"busy_ratio": 0.85, "threads_ratio": 0.2, "little_ratio": 1.3}, ("busy", "little"), True, False,
    ),
    "its other threads work while it idles": (
        {"busy_ratio": 0.3, "threads_ratio": 0.9, "little_ratio": 1.3}, ("little",), False, False,
    ),
    "a blocked loop": ({"busy_ratio": 0.02, "loop_lag_p50_ms": 120.0}, ("blocked",), True, False),
    "other processes used the core": ({"busy_ratio": 0.99, "run_delay_ratio": 0.87, "others_cpu_ratio": 1.5},
     ("busy",), False, True),
    "other processes used little of the core": ({"busy_ratio": 0.99, "run_delay_ratio": 0.05, "others_cpu_ratio": 1.5},
     ("busy",), True, False),
    "workers wait for a core that other processes use": (
        {"busy_ratio": 0.89, "run_delay_ratio": 0.57, "others_cpu_ratio": 1.5, "loop_lag_p99_ms": 60.0},
        ("loop_lag",), False, True,
    ),
    "workers wait for a core, yet are punctual": (
        {"busy_ratio": 0.89, "run_delay_ratio": 0.57, "others_cpu_ratio": 1.5, "loop_lag_p99_ms": 8.0}, (), False, False,
    ),
    "its own code blocks the loop while other processes are busy": (
        {"busy_ratio": 0.3, "run_delay_ratio": 0.2, "others_cpu_ratio": 1.5, "loop_lag_p50_ms": 120.0}, ("blocked",), True, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("measured", "reasons", "saturated", "starved"), GROUNDS.values(), ids=GROUNDS)
def test_the_readings_decide_whether_the_generator_is_saturated_or_starved(
    measured: dict[str, Any], reasons: tuple[str, ...], saturated: bool | None, starved: bool
) -> None:
    found = SaturationReadings(**measured)
    assert {"reasons": found.reasons, "saturated": found.saturated, "starved": found.starved} == {
        "reasons": reasons,
        "saturated": saturated,
        "starved": starved,
    }
