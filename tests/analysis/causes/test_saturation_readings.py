"""A generator is saturated by a busy load thread with a second ground, or a blocked loop; not by CPU that other processes use."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.analysis.causes.saturation_readings import SaturationReadings

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
