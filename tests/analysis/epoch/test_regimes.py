"""A service that changes in time is not one curve: what begins in the middle of a level is no limit of load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from session.samples import HEADER

from capexplorer import wording
from capexplorer.analysis.epoch.epoch import Epoch, epoch_of
from capexplorer.analysis.reanalysis import reanalyse_events, reanalysed
from capexplorer.model.events import EndpointTick, Event, LevelOpened, Sample, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read

from ..loads import Load, closed_session

RECORDED = Path(__file__).parents[2] / "data" / "sessions"
WAIT_S = 0.2

Seconds = list[tuple[int, int]]
"""(requests, failures) of each settled second."""


def found_in(name: str) -> Timeline:
    """A recording with the marks of today."""
    events = list(read(RECORDED / name))
    return reanalysed(Timeline(events), reanalyse_events(events), "now")


def session(
    *levels: tuple[int, Seconds],
    settling: Sequence[tuple[int, int]] = (),
    failed_after_ms: float = 1.0,
    response_ms: float = 15.0,
) -> Timeline:
    """`settling`: seconds before the settled ones of the last level."""
    events: list[Event] = [HEADER]
    t_s = 1.0
    for index, (users, settled) in enumerate(levels):
        events.append(LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=10.0, by="plan"))
        before = settling if index == len(levels) - 1 else ()
        for second, (requests, failures) in enumerate([*before, *settled]):
            t_s += 1.0
            is_settled = second >= len(before)
            good = requests - failures
            tick = EndpointTick(
                name="/", requests=requests, failures=failures, latency_sum_ms=response_ms * good,
                failure_latency_sum_ms=failed_after_ms * failures,
            )  # fmt: skip
            events.append(
                Sample(
                    t_s=t_s, duration_s=1.0, level=index, users=users, wanted=users, settled=is_settled,
                    phase="settled" if is_settled else "settling",
                    endpoints=(tick,), work=float(good), waits=requests, wait_sum_s=WAIT_S * requests,
                )
            )  # fmt: skip
        events.append(Timeline(events).levels[-1].ending(t_s))
    return Timeline(events)


def clean(rate: int, seconds: int = 9) -> Seconds:
    return [(rate + (-1) ** second, 0) for second in range(seconds)]


def failing(rate: int, seconds: int = 9) -> Seconds:
    return [(rate, rate)] * seconds


CLIMB = [(8, clean(40)), (16, clean(80)), (24, clean(120))]


def regimes(epoch: Epoch) -> list[tuple[str | None, list[int]]]:
    return [(regime.began, [round(level.users) for level in regime.levels]) for regime in epoch.regimes]


# -- recordings


def test_an_upstream_that_dies_at_constant_load_is_a_fault_with_its_time_and_no_knee() -> None:
    timeline = found_in("upstream-dies-at-24-users.jsonl")
    assert {mark.kind for mark in timeline.marks.values()} == {"cause", "bottleneck"}
    verdict = timeline.verdicts[0]
    assert verdict.capacity.knee is not None
    assert (verdict.capacity.knee.kind, verdict.capacity.knee.users) == ("no_knee", 24)
    healthy, failed = verdict.regimes
    assert healthy.most_users == 24
    assert healthy.most_rps == pytest.approx(112, rel=0.01)
    assert failed.began == "failures"
    assert failed.inside
    assert failed.began_s == pytest.approx(35.5, abs=0.1)
    assert failed.after_step_s == pytest.approx(11, abs=0.1)
    line = wording.verdict(timeline)
    assert line.startswith("Bad gateway (HTTP 502)")
    assert "a fault at that time, not a load limit" in line
    assert "knee" not in line


def test_a_capacity_that_doubles_gives_both_truths_and_when_it_changed() -> None:
    timeline = found_in("capacity-doubles-at-60-s.jsonl")
    knee = timeline.verdicts[0].capacity.knee
    assert knee is not None
    assert knee.kind == "knee"
    assert knee.users == pytest.approx(24, rel=0.05)
    assert knee.until_s == pytest.approx(61.2, abs=0.1)
    line = wording.verdict(timeline)
    assert line.startswith("Knee at 24 users [21–27] and 95.4/s until 01:01")
    assert "at 01:01 and 48 users goodput rose from 95.4 to 191/s" in line
    assert "since then 48 users reached 191/s" in line


def test_a_knee_of_a_service_that_changed_since_cannot_be_verified_and_the_advice_is_about_the_service_as_it_is() -> None:
    timeline = found_in("capacity-doubles-at-60-s.jsonl")
    capacity = timeline.verdicts[0].capacity
    assert capacity.knee is not None
    assert capacity.knee.provisional
    assert [wording.missing(each) for each in capacity.missing] == [
        "2 more levels at other user counts would give a first result"
    ]
    assert "would verify it" not in wording.verdict(timeline)


# -- faults


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
    ("why", "clean_s", "failed_after_ms"),
    [("the step's own users sent them", 1, 1.0), ("they were sent before they timed out after 3 s", 4, 3000.0)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_failures_that_the_step_may_have_caused_are_open(why: str, clean_s: int, failed_after_ms: float) -> None:
    timeline = session(*CLIMB, (32, failing(144)), settling=clean(144, clean_s), failed_after_ms=failed_after_ms)
    epoch = epoch_of(timeline, 0)
    assert not epoch.has_fault
    assert epoch.is_undecided


def test_a_first_second_with_a_few_failures_does_not_hide_when_most_requests_began_to_fail() -> None:
    epoch = epoch_of(session(*CLIMB[:2], (24, [(120, 7), (120, 0), *[(120, 60)] * 7])), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [24])]


def test_failures_that_continue_at_a_load_that_was_clean_are_a_fault_though_they_came_with_a_step() -> None:
    epoch = epoch_of(session(*CLIMB, (32, failing(160)), (8, failing(40))), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [32, 8])]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "no_knee"


FALLEN: dict[str, Seconds] = {"failing": failing(160), "slow": clean(60)}


@pytest.mark.parametrize("fallen", FALLEN)
def test_failures_that_come_and_go_with_load_are_caused_by_load(fallen: str) -> None:
    epoch = epoch_of(session(*CLIMB, (32, FALLEN[fallen]), (16, clean(80))), 0)
    assert regimes(epoch) == [(None, [8, 16, 24, 32, 16])]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "knee"
    assert epoch.verdict.capacity.knee.users == pytest.approx(24, rel=0.02)


@pytest.mark.parametrize("fallen", FALLEN)
def test_a_return_to_a_third_of_the_users_leaves_open_whether_load_or_time_is_the_cause(fallen: str) -> None:
    epoch = epoch_of(session(*CLIMB, (32, FALLEN[fallen]), (8, clean(40))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[8, 16, 24, 8], [32]]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "no_knee"


def test_a_return_to_half_of_the_users_is_too_far_below_to_decide_however_few_they_are() -> None:
    epoch = epoch_of(session((4, clean(20)), (8, clean(40)), (13, failing(60)), (17, failing(80)), (4, clean(20))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[4, 8, 4], [13, 17]]


def test_a_fall_inside_a_level_near_the_knee_counts_though_the_level_was_a_little_below_the_line() -> None:
    level = [(rate, 0) for rate in (108, 114, 102, 110, 106, 60, 54, 62, 58, 60, 56)]
    levels = (8, clean(40)), (16, clean(80)), (24, level), (32, [(rate, 0) for rate in (58, 62, 56, 60, 58, 62, 57, 60, 59)])
    assert [users for _, users in regimes(epoch_of(session(*levels), 0))] == [[8, 16, 24], [24, 32]]


def test_failures_that_a_later_level_with_as_many_users_is_without_are_a_fault_in_time() -> None:
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
    assert wording.missing(wanted) == "a return to 24 users would show whether load caused the fall"
    timeline.apply(verdict)
    assert "caused by load or by a change of the service; a return to 24 users would show which" in wording.verdict(timeline)


def test_a_fall_that_is_open_does_not_take_the_verdict_from_the_levels_before_it() -> None:
    epoch = epoch_of(session(*CLIMB, (32, clean(60)), (40, clean(62)), (48, clean(61))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[8, 16, 24], [32, 40, 48]]
    assert epoch.is_undecided
    assert epoch.judged is epoch.regimes[0]


def test_a_fault_is_no_limit_of_load_though_more_users_after_it_seem_to_have_another_service() -> None:
    epoch = epoch_of(session(*CLIMB[:2], (24, [(110, 40)] * 9), (28, clean(190)), (32, clean(215))), 0)
    assert regimes(epoch) == [(None, [8, 16]), ("failures", [24]), ("goodput", [28, 32])]
    assert epoch.verdict is None or epoch.verdict.capacity.knee is None


def test_a_level_below_the_line_by_less_than_two_standard_errors_is_on_it_when_requests_begin_to_fail() -> None:
    noisy = [(rate, 0) for rate in (80, 50, 75, 45, 80, 50, 78, 52, 70)]
    levels = (8, clean(40)), (12, clean(60)), (16, noisy), (24, [(100, 60)] * 9), (30, [(120, 72)] * 9), (8, [(40, 24)] * 9)
    epoch = epoch_of(session(*levels), 0)
    assert regimes(epoch) == [(None, [8, 12, 16]), ("failures", [24, 30, 8])]
    assert epoch.has_fault


@pytest.mark.parametrize(("response_ms", "retrograde"), [(1000.0, True), (6000.0, False)], ids=["shorter", "longer"])
def test_goodput_does_not_go_on_falling_in_a_level_that_was_shorter_than_its_responses(
    response_ms: float, retrograde: bool
) -> None:
    epoch = epoch_of(session(*CLIMB, (32, clean(60)), (40, clean(20, 3)), response_ms=response_ms), 0)
    assert (len(epoch.regimes) == 1) is retrograde


def test_a_level_that_still_recovers_beyond_the_line_is_not_a_plateau_of_the_levels_before_a_fault() -> None:
    stalled: Seconds = [(0, 0)] * 9
    epoch = epoch_of(session(*CLIMB, (32, stalled), (40, [(110, 12)] * 9)), 0)
    assert [levels for _, levels in regimes(epoch)][0] == [8, 16, 24]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "no_knee"


def test_noise_between_levels_after_a_fall_does_not_make_the_service_retrograde() -> None:
    epoch = epoch_of(session((20, clean(100)), (40, clean(200)), (60, clean(140)), (80, clean(152)), (100, clean(130))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[20, 40], [60, 80, 100]]


def test_a_level_far_beyond_an_earlier_regime_does_not_continue_it() -> None:
    epoch = epoch_of(session((2, clean(10)), (4, clean(20)), (8, clean(80)), (16, clean(160)), (48, clean(90))), 0)
    assert [levels for _, levels in regimes(epoch)] == [[2, 4], [8, 16], [48]]


def test_after_a_fault_that_passes_the_service_is_in_its_old_regime() -> None:
    passing = clean(80, 3) + failing(80, 4) + clean(80, 4)
    epoch = epoch_of(session(CLIMB[0], (16, passing), CLIMB[2]), 0)
    assert regimes(epoch) == [(None, [8, 16, 16, 24]), ("failures", [16])]


def test_a_service_that_answers_nothing_has_failed() -> None:
    epoch = epoch_of(session(*CLIMB[:2], (24, clean(120, 4) + [(0, 0)] * 5), (32, [(0, 0)] * 9)), 0)
    assert regimes(epoch) == [(None, [8, 16, 24]), ("failures", [24, 32])]


def test_refusals_that_vary_at_the_limit_are_one_regime() -> None:
    wave = [(120, failures) for failures in (2, 9, 14, 6, 3, 18, 12, 7, 4)]
    assert regimes(epoch_of(session(*CLIMB[:2], (24, wave)), 0)) == [(None, [8, 16, 24])]


# -- another capacity


@pytest.mark.parametrize("good", range(3, 7))
def test_a_capacity_that_halves_inside_a_level_makes_no_knee_between_the_truths(good: int) -> None:
    levels = [*CLIMB, (32, clean(160, good) + clean(80, 9 - good)), (40, clean(80)), (48, clean(80))]
    epoch = epoch_of(session(*levels), 0)
    assert regimes(epoch) == [(None, [8, 16, 24, 32]), ("goodput", [32, 40, 48])]
    for reported in epoch.verdict.regimes if epoch.verdict is not None else ():
        assert reported.knee is None or reported.knee.kind != "knee"


def test_low_loads_after_the_capacity_halved_belong_to_the_changed_service() -> None:
    halved = (48, clean(163, 8) + clean(72, 11))
    before, after = [(6, clean(21)), (12, clean(42)), (24, clean(84)), halved], [(63, clean(71)), (82, clean(70))]
    epoch = epoch_of(session(*before, *after, (12, clean(41)), (3, clean(11))), 0)
    assert regimes(epoch) == [(None, [6, 12, 24, 48]), ("goodput", [48, 63, 82, 12, 3])]
    assert epoch.verdict is not None
    assert epoch.verdict.capacity.knee is not None
    assert epoch.verdict.capacity.knee.kind == "knee"
    assert epoch.verdict.capacity.knee.users == pytest.approx(20.5, rel=0.05)


def test_equal_failures_at_more_users_do_not_count_as_falling_goodput() -> None:
    dead = [(21, [(20, 19)] * 9), (25, [(24, 23), *[(24, 24)] * 8]), (33, [(32, 31)] * 9)]
    epoch = epoch_of(session(*CLIMB[:2], *dead), 0)
    assert regimes(epoch) == [(None, [8, 16]), ("failures", [21, 25, 33])]
    assert epoch.is_undecided


def test_a_plateau_from_which_more_users_return_to_the_low_load_line_belongs_to_another_regime() -> None:
    loads = [Load(users, rate, 50.0, WAIT_S) for users, rate in ((8, 40), (16, 80), (24, 100), (32, 100), (40, 200), (48, 240))]
    assert regimes(epoch_of(closed_session(*loads), 0)) == [(None, [8, 16, 24, 32]), ("goodput", [40, 48])]


def test_a_fall_in_one_step_stays_undecided_and_one_that_continues_with_load_is_retrograde() -> None:
    line = [Load(users, 5.0 * users, 50.0, WAIT_S) for users in (8, 16, 24)]
    one = epoch_of(closed_session(*line, Load(32, 60, 300.0, WAIT_S)), 0)
    two = epoch_of(closed_session(*line, Load(32, 60, 300.0, WAIT_S), Load(40, 35, 900.0, WAIT_S)), 0)
    assert regimes(one) == [(None, [8, 16, 24]), ("goodput", [32])]
    assert not one.has_fault
    assert regimes(two) == [(None, [8, 16, 24, 32, 40])]


def test_a_knee_is_not_proven_where_the_first_load_makes_less_when_it_returns() -> None:
    up = [Load(users, min(5.0 * users, 100.0), 50.0, WAIT_S) for users in (8, 16, 24, 32, 40)]
    for back, kind in ((40.0, "knee"), (25.0, "bend")):
        verdict = epoch_of(closed_session(*up, Load(8, back, 50.0, WAIT_S)), 0).verdict
        assert verdict is not None
        assert verdict.capacity.knee is not None
        assert verdict.capacity.knee.kind == kind


def test_a_return_after_another_change_that_began_with_a_step_disputes_the_knee_as_well() -> None:
    rising = [(2, clean(20)), (3, clean(26)), (5, clean(27)), (6, clean(31)), (8, clean(36))]
    collapsed = (11, [(45, 40)] * 9)
    known = epoch_of(session(*rising, collapsed, (2, clean(20))), 0).verdict
    slower = epoch_of(session(*rising, collapsed, (2, [(14, 2)] * 9)), 0)
    assert known is not None
    assert known.capacity.knee is not None
    assert known.capacity.knee.kind == "knee"
    assert slower.verdict is not None
    assert slower.verdict.capacity.knee is not None
    assert slower.verdict.capacity.knee.kind == "bend"
    assert slower.verdict.capacity.knee.evidence.return_agrees is False


def test_failures_that_begin_with_a_step_and_continue_at_a_load_that_was_clean_are_a_fault_in_time() -> None:
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


def test_seconds_after_a_step_that_are_worse_than_those_that_follow_are_not_a_change_of_the_service() -> None:
    timeline = session(*CLIMB, (32, [*failing(160, 4), *clean(160, 12)]))
    assert regimes(epoch_of(timeline, 0)) == [(None, [8, 16, 24, 32])]


def verdict_of(timeline: Timeline) -> Verdict:
    found = epoch_of(timeline, 0).verdict
    assert found is not None
    return found
