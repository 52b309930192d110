"""Short stalls inside a level: counts and longest responses of each second in, stalls out."""

from __future__ import annotations

import numpy as np
import pytest

from capexplorer.analysis.epoch.level_seconds import stalls

CALM = 100.0
"""Longest response of a usual second, in ms."""

CASES: dict[str, tuple[list[int], dict[int, float], list[tuple[int, int]]]] = {
    "no reply for two seconds, after which replies have waited for them": ([55, 54, 48, 0, 0, 10, 58, 56], {5: 2990.0}, [(3, 2)]),
    "two stalls": ([40, 0, 0, 60, 40, 40, 40, 0, 0, 0, 80, 40], {3: 2100.0, 10: 3200.0}, [(1, 2), (7, 3)]),
    "a pause of 1.5 s leaves one second without a reply": ([40, 20, 0, 60, 40, 40], {3: 1500.0}, []),
    "users who pause together wait for no reply": ([40, 40, 0, 0, 40, 40], {}, []),
    "a service with few requests": ([4, 5, 0, 0, 6, 5], {4: 2100.0}, []),
    "six seconds are a state of the service": ([40, 40, 0, 0, 0, 0, 0, 0, 60, 40, 40, 40, 40], {8: 6100.0}, []),
    "no reply until the end of the level": ([40, 40, 40, 0, 0], {}, []),
    "no reply from its beginning": ([0, 0, 40, 40, 40], {2: 2100.0}, []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stall_is_a_time_without_replies_for_which_requests_waited(name: str) -> None:
    requests, slow, expected = CASES[name]
    longest = np.array([slow.get(second, CALM) for second in range(len(requests))])
    nothing = np.zeros(len(requests))
    assert list(stalls(np.array(requests, float), nothing, longest, nothing)) == expected


def test_a_generator_that_stalls_is_no_stall_of_the_service() -> None:
    requests, longest = np.array([40.0, 0, 0, 60, 40]), np.array([CALM, 0, 0, 2100.0, CALM])
    assert list(stalls(requests, np.zeros(5), longest, np.array([3.0, 3, 3, 2000, 3]))) == []


def test_requests_that_fail_after_it_are_no_stall_but_failures() -> None:
    requests, longest = np.array([40.0, 0, 0, 60, 40]), np.array([CALM, 0, 0, 2100.0, CALM])
    assert list(stalls(requests, np.array([0.0, 0, 0, 30, 0]), longest, np.zeros(5))) == []


def test_loop_lag_that_was_not_measured_is_no_generator_that_stalls() -> None:
    requests, longest = np.array([40.0, 0, 0, 60, 40]), np.array([CALM, 0, 0, 2100.0, CALM])
    assert list(stalls(requests, np.zeros(5), longest, np.full(5, np.nan))) == [(1, 2)]
