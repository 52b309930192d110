"""A rate limiter that lets a burst through before it refuses: 50/s, and users who need 0.3 s a request, so the knee is at 15."""

from __future__ import annotations

import pytest

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import KneeVerdict

from .regime_sessions import Seconds, clean, regimes, session

LINE = [(users, clean(round(users / 0.3))) for users in (4, 8, 12)]


def refused(users: int, seconds: int = 9) -> Seconds:
    """Seconds in which the limiter lets 50 requests through and refuses the others at once."""
    return [(2 * users + 50, 2 * users)] * seconds


def knee_of(timeline: Timeline) -> KneeVerdict:
    verdict = epoch_of(timeline, 0).verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    return verdict.capacity.knee


def used_up(status: int) -> Timeline:
    """The allowance is used up in the middle of the level of 24 users."""
    levels = [(24, [*clean(77, 12), *refused(24)]), (32, refused(32)), (48, refused(48)), (8, clean(27))]
    return session(*LINE, *levels, status=status, response_ms=100.0)


def test_a_burst_that_ends_within_a_level_is_no_capacity_and_its_end_no_fault() -> None:
    timeline = used_up(429)
    knee = knee_of(timeline)
    assert knee.kind == "knee"
    assert knee.users == pytest.approx(15, rel=0.1)
    assert knee.capacity_rps == pytest.approx(50, rel=0.05)
    assert regimes(epoch_of(timeline, 0)) == [(None, [4, 8, 12, 24, 32, 48, 8])]


def test_other_refusals_that_begin_within_a_level_stay_a_fault_in_time() -> None:
    assert [began for began, _ in regimes(epoch_of(used_up(503), 0))] == [None, "failures"]


def test_a_whole_level_of_a_burst_is_left_out_once_fewer_users_are_refused() -> None:
    levels = [(24, clean(77)), (48, refused(48)), (35, refused(35)), (16, refused(16))]
    timeline = session(*LINE, *levels, status=429, response_ms=100.0)
    assert regimes(epoch_of(timeline, 0)) == [(None, [4, 8, 12, 48, 35, 16])]


def test_a_limiter_by_window_refuses_again_and_again_without_a_change_of_the_service() -> None:
    window = [*clean(66, 7), *[(120, 118)] * 3]
    levels = [(20, window * 2), (28, window * 2), (40, window * 2)]
    timeline = session(*LINE, *levels, status=429, response_ms=100.0)
    assert [began for began, _ in regimes(epoch_of(timeline, 0))] == [None]
