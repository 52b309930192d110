"""Failures that begin in the middle of a level are a fault in time; failures that come and go with load are caused by load."""

from __future__ import annotations

import pytest

from capexplorer.analysis.epoch.epoch import epoch_of

from .regime_sessions import CLIMB, FALLEN, clean, failing, regimes, session, verdict_of


@pytest.mark.parametrize("good", range(2, 8))
def test_failures_that_begin_inside_a_short_level_end_the_regime_there(good: int) -> None:
    epoch = epoch_of(session(*CLIMB[:2], (24, clean(120, good) + failing(120, 9 - good)), (32, failing(160))), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [24, 32])]
    assert epoch.has_fault
    assert epoch.judged is epoch.regimes[0]


@pytest.mark.parametrize("clean_s", [0, 1])
def test_failures_that_begin_while_a_level_settles_are_a_fault_if_all_users_had_sent_requests_without_failures(
    clean_s: int,
) -> None:
    settled = [*clean(144, clean_s), *[(144, 60)] * 8]
    epoch = epoch_of(session(*CLIMB, (32, settled), settling=clean(144, 4)), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [32])]
    assert epoch.has_fault
    assert epoch.regimes[1].levels[0].failure_ratio == pytest.approx(60 / 144)


def test_failures_that_passed_while_a_level_settled_are_not_in_its_figures() -> None:
    epoch = epoch_of(session(*CLIMB, (32, clean(160)), settling=[*clean(160, 4), *failing(160, 3), *clean(160, 3)]), 0)
    assert regimes(epoch) == [(None, [8, 16, 24, 32])]


@pytest.mark.parametrize(
    ("clean_s", "failed_after_ms"),
    [(1, 1.0), (4, 3000.0)],
    ids=["sent by users of the step", "sent before the step, timed out after 3 s"],
)
def test_failures_that_the_step_may_have_caused_leave_the_cause_undecided(clean_s: int, failed_after_ms: float) -> None:
    timeline = session(*CLIMB, (32, failing(144)), settling=clean(144, clean_s), failed_after_ms=failed_after_ms)
    epoch = epoch_of(timeline, 0)
    assert not epoch.has_fault
    assert epoch.is_undecided


def test_a_first_second_with_a_few_failures_does_not_hide_when_most_requests_began_to_fail() -> None:
    epoch = epoch_of(session(*CLIMB[:2], (24, [(120, 7), (120, 0), *[(120, 60)] * 7])), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [24])]


def test_failures_that_began_with_a_step_and_continue_at_a_load_without_failures_before_are_a_fault() -> None:
    epoch = epoch_of(session(*CLIMB, (32, failing(160)), (8, failing(40))), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [32, 8])]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "no_knee"


@pytest.mark.parametrize("fallen", FALLEN)
def test_failures_that_come_and_go_with_load_are_caused_by_load(fallen: str) -> None:
    epoch = epoch_of(session(*CLIMB, (32, FALLEN[fallen]), (16, clean(80))), 0)
    assert regimes(epoch) == [(None, [8, 16, 24, 32, 16])]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "knee"
    assert epoch.verdict.capacity.knee.users == pytest.approx(24, rel=0.02)


@pytest.mark.parametrize("fallen", FALLEN)
def test_a_return_to_a_third_of_the_users_does_not_decide_whether_load_caused_the_fall(fallen: str) -> None:
    epoch = epoch_of(session(*CLIMB, (32, FALLEN[fallen]), (8, clean(40))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[8, 16, 24, 8], [32]]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "no_knee"


def test_a_return_to_half_of_few_users_does_not_decide_whether_load_caused_the_fall() -> None:
    epoch = epoch_of(session((4, clean(20)), (8, clean(40)), (13, failing(60)), (17, failing(80)), (4, clean(20))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[4, 8, 4], [13, 17]]


def test_failures_that_do_not_recur_at_the_same_number_of_users_are_a_fault_in_time() -> None:
    epoch = epoch_of(session(*CLIMB, (32, failing(160)), (16, clean(80)), (32, clean(160))), 0)
    assert regimes(epoch) == [(None, [8, 16, 24, 16, 32]), ("failures", [32])]
    assert epoch.regimes[1].began_without_load(epoch.regimes[:1])


@pytest.mark.parametrize("fallen", FALLEN)
def test_the_next_step_after_a_fall_is_a_return_to_the_most_users_that_were_served_well(fallen: str) -> None:
    timeline = session(*CLIMB, (32, FALLEN[fallen]))
    verdict = epoch_of(timeline, 0).verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    assert verdict.capacity.knee.kind == "no_knee"
    wanted = verdict.capacity.missing[0]
    assert (wanted.kind, wanted.users_below) == ("return_to_clean", 24)


def test_a_fault_gives_no_knee_even_if_goodput_at_more_users_is_that_of_another_service() -> None:
    epoch = epoch_of(session(*CLIMB[:2], (24, [(110, 40)] * 9), (28, clean(190)), (32, clean(215))), 0)
    assert regimes(epoch) == [(None, [8, 16]), ("failures", [24]), ("goodput", [28, 32])]
    assert epoch.verdict is None or epoch.verdict.capacity.knee is None


def test_failures_after_a_level_within_two_standard_errors_of_the_low_load_line_are_a_fault() -> None:
    noisy = [(rate, 0) for rate in (80, 50, 75, 45, 80, 50, 78, 52, 70)]
    levels = (8, clean(40)), (12, clean(60)), (16, noisy), (24, [(100, 60)] * 9), (30, [(120, 72)] * 9), (8, [(40, 24)] * 9)
    epoch = epoch_of(session(*levels), 0)
    assert regimes(epoch) == [(None, [8, 12, 16]), ("failures", [24, 30, 8])]
    assert epoch.has_fault


def test_levels_after_a_fault_that_passes_belong_to_the_regime_before_it() -> None:
    passing = clean(80, 3) + failing(80, 4) + clean(80, 4)
    epoch = epoch_of(session(CLIMB[0], (16, passing), CLIMB[2]), 0)
    assert regimes(epoch) == [(None, [8, 16, 16, 24]), ("failures", [16])]


def test_seconds_without_any_response_count_as_failures() -> None:
    epoch = epoch_of(session(*CLIMB[:2], (24, clean(120, 4) + [(0, 0)] * 5), (32, [(0, 0)] * 9)), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [24, 32])]


def test_refusals_that_vary_at_the_limit_are_one_regime() -> None:
    wave = [(120, failures) for failures in (2, 9, 14, 6, 3, 18, 12, 7, 4)]
    assert regimes(epoch_of(session(*CLIMB[:2], (24, wave)), 0)) == [(None, [8, 16, 24])]


def test_equal_failures_at_more_users_do_not_count_as_falling_goodput() -> None:
    failing_levels = [(21, [(20, 19)] * 9), (25, [(24, 23), *[(24, 24)] * 8]), (33, [(32, 31)] * 9)]
    epoch = epoch_of(session(*CLIMB[:2], *failing_levels), 0)
    assert regimes(epoch) == [(None, [8, 16]), ("failures", [21, 25, 33])]
    assert epoch.is_undecided


def test_failures_that_began_with_a_step_and_continue_after_a_step_down_are_reported_as_a_fault_inside_a_level() -> None:
    timeline = session(*CLIMB, (32, failing(160)), (16, failing(80)))
    *_, last = verdict_of(timeline).regimes
    assert last.began == "failures"
    assert last.inside


def test_failures_that_begin_late_in_a_level_beyond_the_line_may_be_those_of_a_queue_that_filled() -> None:
    timeline = session(*CLIMB, (64, [*clean(150, 6), *failing(150, 6)]))
    *_, last = verdict_of(timeline).regimes
    assert last.began == "failures"
    assert not last.inside
    on_the_line = session(*CLIMB, (64, [*clean(320, 6), *failing(320, 6)]))
    *_, last = verdict_of(on_the_line).regimes
    assert last.began == "failures"
    assert last.inside


def test_failures_in_the_first_seconds_after_a_step_are_not_a_change_of_the_service() -> None:
    timeline = session(*CLIMB, (32, [*failing(160, 4), *clean(160, 12)]))
    assert regimes(epoch_of(timeline, 0)) == [(None, [8, 16, 24, 32])]


def test_an_endpoint_that_starts_to_fail_inside_a_level_is_a_fault_and_not_the_first_to_degrade_with_load() -> None:
    climb = [(users, clean(round(2.5 * users))) for users in (4, 8, 16, 24)]
    timeline = session(*climb, (36, [*clean(90, 6), *[(90, 90)] * 6]), endpoints=("/a", "/b"))
    found = verdict_of(timeline)
    assert [regime.began for regime in found.regimes] == [None, "failures"]
    assert found.first_endpoint is None


def test_an_endpoint_that_fails_at_all_seconds_of_the_highest_level_degrades_first() -> None:
    climb = [(users, clean(round(2.5 * users))) for users in (4, 8, 16, 24)]
    found = verdict_of(session(*climb, (36, [(90, 20)] * 12), endpoints=("/a", "/b")))
    assert found.first_endpoint is not None
    assert (found.first_endpoint.name, found.first_endpoint.users) == ("/a", 36)


def test_a_level_during_which_the_service_changed_is_one_of_both_regimes() -> None:
    timeline = session(*CLIMB, (32, [*clean(160, 6), *failing(160, 6)]), (32, failing(160)))
    assert [regime.levels for regime in verdict_of(timeline).regimes] == [(0, 1, 2, 3), (3, 4)]
