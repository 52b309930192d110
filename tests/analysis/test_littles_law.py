from __future__ import annotations

import pytest

from capexplorer.analysis.ladder import Little, requests_inside


def test_users_of_a_closed_system_are_accounted_for_by_responses_and_pauses() -> None:
    found = Little.of(20, 10.0, 0.5, 1.5)
    assert (found.accounted, found.ratio, found.share) == (20.0, 1.0, 1.0)


def test_users_that_lose_half_of_their_time_are_twice_those_accounted_for() -> None:
    found = Little.of(20, 5.0, 0.5, 1.5)
    assert (found.ratio, found.share) == (2.0, 0.5)


def test_levels_count_by_their_users_and_seconds() -> None:
    found = Little.of(10, 5.0, 0.5, 1.5) * 30.0 + Little.of(20, 5.0, 0.5, 1.5) * 10.0
    assert (found.users, found.accounted) == (500.0, 400.0)


def test_requests_inside_are_their_rate_times_their_response_time() -> None:
    assert requests_inside(200.0, 50.0) == pytest.approx(10.0)
