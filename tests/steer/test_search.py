"""Single decisions of the autopilot: levels and a verdict in, the decision out. Whole explorations: test_search_simulated."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from capexplorer.model.proposals import Done, GoTo
from capexplorer.model.verdicts import CapacityVerdict, CurveFit
from capexplorer.steer.search import Search

from .search_levels import LOW, RATE, STEPS, level, search_input, step, stepped, verdict

FAILING_AT_EVERY_LOAD = [level(users, failures=int(users * RATE * 8 * 0.07)) for users in (3, 6, 12)]

STEEP = CapacityVerdict(curve=CurveFit(low_load_rps_per_user=1.3 * RATE, low_load_se=0.1, baseline_users=(1.0,)))


@pytest.mark.parametrize(
    ("levels", "more", "decision"),
    [
        pytest.param([], {}, (1, "first"), id="it begins with one user"),
        pytest.param([level(10), level(0)], {}, (1, "first"), id="and so after a level without users"),
        pytest.param([level(1)], {}, (3, "double"), id="from one user it triples"),
        pytest.param(LOW, {}, (24, "double"), id="while scaling is linear it doubles"),
        pytest.param([*LOW, level(24, seconds=0.0)], {}, "settling", id="a level settles"),
        pytest.param([*LOW, level(24, seconds=5.0)], {}, "measuring", id="a level lasts six seconds at least"),
        pytest.param([*LOW, level(24, seconds=12.0, goodput=40.0, error=0.05)], {}, "measuring", id="and until it is precise"),
        pytest.param([*LOW, level(24, seconds=18.0, goodput=40.0, error=0.2)], {}, (34, "bend_near"), id="or its time is over"),
        pytest.param([*LOW, level(24, seconds=6.0, error=0.1)], {}, (48, "double"), id="on the line it ends early"),
        pytest.param(
            [level(users, seconds=11.0, response_ms=6_000.0) for users in (3, 6, 12)], {}, "measuring",
            id="levels of replies that take twice as long as usual last twice as long",
        ),
        pytest.param(
            [level(3, seconds=8.0), *(level(users, seconds=8.0, response_ms=9_000.0) for users in (6, 12))], {}, (24, "double"),
            id="but not those of a service whose replies take so long under load alone",
        ),
        pytest.param(
            [level(1, seconds=7.0, error=0.05)], {"current": STEEP}, (3, "double"),
            id="a line that is likely steeper than its only level holds nobody back",
        ),
        pytest.param([*LOW, level(24, seconds=7.0, goodput=44.4, error=0.15)], {}, (48, "double"), id="chance is no bend"),
        pytest.param(LOW, {"max_users": 20}, (20, "double"), id="max_users"),
        pytest.param([level(100), level(25), level(6)], {"current": verdict("at_or_below", 6.0)}, (1, "lower"), id="lower"),
        pytest.param(
            [*LOW, level(24), level(48), level(96)], {"current": verdict("knee", baseline=(1.0,))}, (116, "plateau"),
            id="a low-load line of few requests wants one more level on the plateau",
        ),
        pytest.param(
            [*LOW, level(48), level(96, seconds=6.0, failures=80)], {"current": verdict("knee")}, (35, "soak"),
            id="failures beyond a known knee are left for the soak",
        ),
        pytest.param(FAILING_AT_EVERY_LOAD, {}, (24, "double"), id="failures at every load are not caused by load"),
        pytest.param([*LOW, level(24, seconds=6.0, error=0.2)], {"generator": True}, (7, "retreat"), id="a saturated generator"),
        pytest.param(LOW, {"ports": (0.6, 100.0)}, ("gave up", 1, "ports"), id="100 s of ports at 12 users are 50 s at 24"),
        pytest.param([*LOW, level(24, seconds=0.0)], {"ports": (0.8, 20.0)}, ("gave up", 1, "ports"), id="ports run out"),
        pytest.param(LOW, {"ports": (0.1, 20.0)}, (24, "double"), id="most ports are free: sockets just opened"),
        pytest.param([*LOW, level(24, seconds=0.0)], {"open_s": 60.0}, "settling", id="a level may take a minute to settle"),
        pytest.param([*LOW, level(24, seconds=0.0)], {"open_s": 95.0}, ("gave up", 1, "not_settling"), id="but not 95 s"),
        pytest.param(
            [level(1, seconds=90.0, goodput=0.0)], {"current": CapacityVerdict()}, ("gave up", 1, "nothing_done"),
            id="a service that finishes nothing",
        ),
        pytest.param(
            [level(1, seconds=80.0, goodput=0.0)], {"current": CapacityVerdict()}, "measuring",
            id="but its replies may take so long",
        ),
    ],
)  # fmt: skip
def test_a_new_search_decides(levels: list[Any], more: dict[str, Any], decision: object) -> None:
    assert step(Search().due(search_input(*levels, **more))) == decision


def at_limit(low: float, high: float) -> CapacityVerdict:
    """A knee in this interval, at which a limit on a single request breaks."""
    found = verdict("knee", math.sqrt(low * high))
    assert found.knee is not None
    return replace(found, knee=replace(found.knee, users_low=low, users_high=high, limit="tpot", within_limits=True))


def test_a_wide_knee_at_a_limit_on_a_request_is_narrowed_by_levels_inside_it_each_after_fewer_users() -> None:
    late = level(48, goodput=0.0)
    late = replace(late, figures=replace(late.figures, served_rps=96.0, served_se_rps=1.0, requests=768))
    pilot, levels = Search(), [*LOW, level(24), late]
    assert step(pilot.due(search_input(*levels, current=at_limit(24, 48)))) == (20, "retreat")
    levels.append(level(20))
    assert step(pilot.due(search_input(*levels, current=at_limit(24, 48)))) == (34, "between")
    levels.append(level(34, goodput=60.0))
    assert step(pilot.due(search_input(*levels, current=at_limit(30, 36)))) == (24, "soak")


def test_a_level_that_served_all_requests_beyond_a_limit_does_not_end_the_search() -> None:
    late = level(1, seconds=18.0, goodput=0.0)
    served = replace(late, figures=replace(late.figures, served_rps=2.0, requests=36))
    assert step(Search().due(search_input(served, current=CapacityVerdict()))) == (3, "double")


def test_a_search_begins_at_the_given_users_and_goes_lower_from_a_high_start() -> None:
    assert step(Search(5).due(search_input())) == (5, "first")
    assert step(Search(100).due(search_input(level(100)))) == (25, "lower")


def test_near_the_bend_steps_are_smaller_and_stay_small() -> None:
    pilot, bent = Search(), level(24, goodput=40.0)
    assert step(pilot.due(search_input(*LOW, bent))) == (34, "bend_near")  # 1.7 times the crossing of both lines
    assert step(pilot.due(search_input(*LOW, bent, level(34, goodput=66.0)))) == (51, "double")


def test_a_search_ends_at_max_users() -> None:
    pilot = Search()
    pilot.due(search_input(*LOW, max_users=20))
    ended = pilot.due(search_input(*LOW, level(20), current=verdict("no_knee", 20.0), max_users=20))
    assert step(ended) == ("gave up", 1, "max_users")


# -- the knee


def test_a_knee_gets_a_level_on_its_plateau_and_is_verified_by_a_soak_a_level_beyond_and_a_return() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(48)]
    assert step(pilot.due(search_input(*levels, current=verdict("knee")))) == (68, "plateau")
    levels.append(level(68))
    assert step(pilot.due(search_input(*levels, current=verdict("knee")))) == (35, "soak")
    levels.append(level(35, seconds=15.0))
    assert step(pilot.due(search_input(*levels, current=verdict("knee")))) == "measuring"
    levels[-1] = level(35, seconds=20.0)
    assert step(pilot.due(search_input(*levels, current=verdict("knee", agree=["soak"])))) == (60, "beyond")
    levels.append(level(60, seconds=6.0))
    assert step(pilot.due(search_input(*levels, current=verdict("knee", agree=["soak", "beyond"])))) == (1, "return_to_first")
    levels.append(level(1, seconds=3.0))
    assert step(pilot.due(search_input(*levels, current=verdict("knee", agree=["soak", "beyond"])))) == "measuring"
    levels[-1] = level(1, seconds=6.0)
    ended = pilot.due(search_input(*levels, current=verdict("knee", agree=list(STEPS))))
    assert isinstance(ended, Done)
    assert (ended.why, ended.figures["knee_users"], ended.figures["verification"]) == ("knee", 50.0, "verified")


def test_a_plateau_that_was_skipped_is_searched_between_the_levels() -> None:
    pilot, collapsed = Search(), level(96, goodput=30.0)
    levels = [*LOW, level(24), level(48), collapsed]
    found = verdict("knee", 48.0)
    assert step(pilot.due(search_input(*levels, current=found))) == (29, "retreat")
    levels.append(level(29))
    assert step(pilot.due(search_input(*levels, current=found))) == (68, "between")


# -- failures and limits


def test_the_autopilot_retreats_from_measured_failures_and_returns_in_a_smaller_step() -> None:
    pilot = Search()
    levels = [*LOW, level(24, seconds=6.0, error=0.2, failures=20)]
    assert step(pilot.due(search_input(*levels))) == (7, "retreat")
    levels.append(level(7, seconds=4.0))
    assert step(pilot.due(search_input(*levels))) == (36, "careful")
    levels.append(level(36))
    assert step(pilot.due(search_input(*levels))) == (54, "double")  # not once more that the service recovered


def test_a_level_in_which_nearly_all_requests_fail_is_left_before_it_settles() -> None:
    pilot = Search()
    assert step(pilot.due(search_input(*LOW, level(24, seconds=0.0), latest=(100, 95)))) == (7, "retreat")
    assert 12 < stepped(pilot.due(search_input(*LOW, level(24, seconds=0.0), level(7, seconds=4.0)))) < 24


def test_a_fall_with_a_step_up_is_left_for_fewer_users_and_a_smaller_step_up_follows() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(48), level(96, goodput=30.0)]
    assert step(pilot.due(search_input(*levels, undecided=True))) == (29, "retreat")
    assert step(pilot.due(search_input(*levels, level(29)))) == (68, "between")


def test_the_autopilot_gives_up_after_a_limited_number_of_returns() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(48)]
    for _ in range(20):
        decision = pilot.due(search_input(*levels, undecided=levels[-1].users > 48))
        if not isinstance(decision, GoTo):
            break
        levels.append(level(decision.users, goodput=30.0 if decision.users > 48 else None))
    assert step(decision) == ("gave up", 1, "collapse")


def test_a_level_that_was_left_before_it_settled_is_measured_again_if_no_smaller_step_remains() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(28)]
    left = [*levels, level(32, seconds=0.0)]
    assert step(pilot.due(search_input(*left, latest=(100, 95)))) == (17, "retreat")
    assert step(pilot.due(search_input(*left, level(17, seconds=4.0)))) == "measuring"
    back = [*left, level(17)]
    assert step(pilot.due(search_input(*back))) == (32, "again")
    failing = level(32, goodput=0.0, failures=500)
    assert step(pilot.due(search_input(*back, failing, latest=(100, 95), undecided=True))) == (17, "retreat")
    found = verdict("knee", 28.0)
    assert step(pilot.due(search_input(*back, failing, level(17), current=found))) == (20, "soak")


def test_a_level_that_failed_once_and_is_clean_when_measured_again_does_not_limit_the_search() -> None:
    pilot, left = Search(), [*LOW, level(24), level(28), level(32, seconds=0.0)]
    pilot.due(search_input(*left, latest=(100, 95)))
    pilot.due(search_input(*left, level(17)))
    assert stepped(pilot.due(search_input(*left, level(17), level(32)))) > 32


def test_an_imprecise_level_with_failures_is_measured_until_its_time_limit() -> None:
    pilot = Search()
    assert step(pilot.due(search_input(*LOW, level(24, seconds=6.0, error=0.3, failures=20, goodput=30.0)))) == "measuring"
    assert step(pilot.due(search_input(*LOW, level(24, seconds=18.0, error=0.3, failures=20, goodput=30.0)))) == (7, "retreat")


def test_after_a_fault_inside_a_level_the_search_continues_beyond_its_users() -> None:
    pilot = Search()
    assert step(pilot.due(search_input(*LOW, level(24, seconds=4.0), latest=(100, 95), fault=True))) == (7, "retreat")
    assert stepped(pilot.due(search_input(*LOW, level(24, seconds=4.0), level(7, seconds=4.0)))) > 24


def test_a_level_that_fails_while_scaling_is_linear_is_left_for_fewer_users_and_never_for_more() -> None:
    pilot, levels = Search(), [*LOW, level(24, seconds=6.0, error=0.2, failures=20)]
    assert step(pilot.due(search_input(*levels))) == (7, "retreat")
    levels.append(level(7, seconds=4.0))
    most = stepped(pilot.due(search_input(*levels)))
    levels.append(level(most, failures=400))
    assert stepped(pilot.due(search_input(*levels, current=verdict("no_knee", 24), latest=(100, 60)))) < most


def test_the_autopilot_gives_up_if_the_service_does_not_recover() -> None:
    pilot = Search()
    levels = [*LOW, level(24, seconds=6.0, failures=20)]
    pilot.due(search_input(*levels))
    levels.append(level(7, seconds=10.0, failures=50))
    assert step(pilot.due(search_input(*levels, latest=(40, 20)))) == "measuring"
    levels[-1] = level(7, seconds=18.0, failures=90)
    assert step(pilot.due(search_input(*levels, latest=(40, 20)))) == ("gave up", 1, "not_recovered")
