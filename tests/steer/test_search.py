"""Single decisions of the autopilot: levels and a verdict in, the decision out. Whole explorations: test_autopilot_simulated."""

from __future__ import annotations

import pytest

from capexplorer.model.proposals import Done, GiveUp, GoTo, Hold
from capexplorer.model.verdicts import CapacityVerdict
from capexplorer.steer.open_level import InputLevel
from capexplorer.steer.search import Search

from .search_levels import LOW, RATE, STEPS, level, search_input, step, verdict

# -- the way up


def test_the_autopilot_begins_with_one_user_or_the_given_number() -> None:
    assert step(Search().due(search_input())) == (1, "first")
    assert step(Search(5).due(search_input())) == (5, "first")
    assert step(Search().due(search_input(level(10), level(0)))) == (1, "first")


def test_the_autopilot_doubles_users_while_scaling_is_linear() -> None:
    assert step(Search().due(search_input(level(1)))) == (3, "double")
    assert step(Search().due(search_input(*LOW))) == (24, "double")


def test_the_autopilot_takes_smaller_steps_near_the_bend_and_keeps_them_small() -> None:
    pilot = Search()
    bent = level(24, goodput=40.0)
    assert step(pilot.due(search_input(*LOW, bent))) == (34, "bend_near")  # 1.7 times the crossing of both lines
    assert step(pilot.due(search_input(*LOW, bent, level(34, goodput=66.0)))) == (51, "double")


@pytest.mark.parametrize(
    ("opened", "why"),
    [
        (level(24, seconds=0.0), "settling"),
        (level(24, seconds=5.0), "measuring"),
        (level(24, seconds=12.0, goodput=40.0, error=0.05), "measuring"),
    ],
)
def test_a_level_lasts_until_it_is_precise_enough(opened: InputLevel, why: str) -> None:
    assert Search().due(search_input(*LOW, opened)) == Hold(why)  # type: ignore[arg-type]


def test_a_level_ends_at_its_time_limit_even_if_it_is_imprecise() -> None:
    assert isinstance(Search().due(search_input(*LOW, level(24, seconds=18.0, goodput=40.0, error=0.2))), GoTo)


def test_a_level_of_linear_scaling_ends_as_soon_as_it_is_precise_enough() -> None:
    assert step(Search().due(search_input(*LOW, level(24, seconds=6.0, error=0.1)))) == (48, "double")


def test_the_autopilot_never_steps_beyond_max_users() -> None:
    pilot = Search()
    assert step(pilot.due(search_input(*LOW, max_users=20))) == (20, "double")
    ended = pilot.due(search_input(*LOW, level(20), current=verdict("no_knee", 20.0), max_users=20))
    assert isinstance(ended, GiveUp)
    assert (ended.users, ended.why, ended.figures["kind"]) == (1, "max_users", "no_knee")


def test_from_a_high_start_the_autopilot_goes_lower_first() -> None:
    assert step(Search(100).due(search_input(level(100)))) == (25, "lower")
    assert step(Search().due(search_input(level(100), level(25), level(6), current=verdict("at_or_below", 6.0)))) == (
        1,
        "lower",
    )


# -- the knee


def test_a_knee_gets_another_level_on_its_plateau_and_is_verified_by_a_soak_a_level_beyond_and_a_return() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(48), level(96)]
    assert step(pilot.due(search_input(*levels, current=verdict("knee")))) == (116, "plateau")
    levels.append(level(116))
    assert step(pilot.due(search_input(*levels, current=verdict("knee")))) == (35, "soak")
    levels.append(level(35, seconds=15.0))
    assert pilot.due(search_input(*levels, current=verdict("knee"))) == Hold("measuring")
    levels[-1] = level(35, seconds=20.0)
    assert step(pilot.due(search_input(*levels, current=verdict("knee", agree=["soak"])))) == (60, "beyond")
    levels.append(level(60, seconds=6.0))
    assert step(pilot.due(search_input(*levels, current=verdict("knee", agree=["soak", "beyond"])))) == (1, "return_to_first")
    levels.append(level(1, seconds=3.0))
    assert pilot.due(search_input(*levels, current=verdict("knee", agree=["soak", "beyond"]))) == Hold("measuring")
    levels[-1] = level(1, seconds=6.0)
    ended = pilot.due(search_input(*levels, current=verdict("knee", agree=list(STEPS))))
    assert isinstance(ended, Done)
    assert (ended.why, ended.figures["knee_users"], ended.figures["verification"]) == ("knee", 50.0, "verified")


def test_a_low_load_line_of_few_requests_wants_one_more_level_on_the_plateau() -> None:
    thin = verdict("knee", baseline=(1.0,))
    levels = (*LOW, level(24), level(48), level(96), level(116))
    assert step(Search().due(search_input(*levels, current=thin))) == (140, "plateau")


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
    users, why = step(pilot.due(search_input(*levels)))
    assert why == "careful"
    assert 24 < users <= 36


def test_a_level_in_which_nearly_all_requests_fail_is_left_before_it_settles() -> None:
    pilot = Search()
    assert step(pilot.due(search_input(*LOW, level(24, seconds=0.0), latest=(100, 95)))) == (7, "retreat")
    users, why = step(pilot.due(search_input(*LOW, level(24, seconds=0.0), level(7, seconds=4.0))))
    assert why == "between"
    assert 12 < users < 24


def test_a_fall_with_a_step_up_is_left_for_fewer_users_and_a_smaller_step_up_follows() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(48), level(96, goodput=30.0)]
    assert step(pilot.due(search_input(*levels, undecided=True))) == (29, "retreat")
    assert step(pilot.due(search_input(*levels, level(29)))) == (68, "between")


def test_the_autopilot_gives_up_after_a_limited_number_of_returns() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(48)]
    for _ in range(20):
        decision = pilot.due(search_input(*levels, undecided=levels[-1].users > 48))
        if isinstance(decision, GiveUp):
            break
        assert isinstance(decision, GoTo)
        levels.append(level(decision.users, goodput=30.0 if decision.users > 48 else None))
    assert isinstance(decision, GiveUp)
    assert decision.why == "collapse"


def test_a_level_that_was_left_before_it_settled_is_measured_again_if_no_smaller_step_remains() -> None:
    pilot, levels = Search(), [*LOW, level(24), level(28)]
    left = [*levels, level(32, seconds=0.0)]
    assert step(pilot.due(search_input(*left, latest=(100, 95)))) == (17, "retreat")
    assert pilot.due(search_input(*left, level(17, seconds=4.0))) == Hold("measuring")
    back = [*left, level(17)]
    assert step(pilot.due(search_input(*back))) == (32, "again")
    failing = level(32, goodput=0.0, failures=500)
    assert step(pilot.due(search_input(*back, failing, latest=(100, 95), undecided=True))) == (17, "retreat")
    found = verdict("knee", 28.0)
    assert step(pilot.due(search_input(*back, failing, level(17), current=found)))[1] == "soak"


def test_a_level_that_failed_once_and_is_clean_when_measured_again_does_not_limit_the_search() -> None:
    pilot, left = Search(), [*LOW, level(24), level(28), level(32, seconds=0.0)]
    pilot.due(search_input(*left, latest=(100, 95)))
    pilot.due(search_input(*left, level(17)))
    users, _ = step(pilot.due(search_input(*left, level(17), level(32))))
    assert users > 32


def test_an_imprecise_level_with_failures_is_measured_until_its_time_limit() -> None:
    pilot = Search()
    assert pilot.due(search_input(*LOW, level(24, seconds=6.0, error=0.3, failures=20, goodput=30.0))) == Hold("measuring")
    assert step(pilot.due(search_input(*LOW, level(24, seconds=18.0, error=0.3, failures=20, goodput=30.0)))) == (7, "retreat")


def test_after_a_fault_inside_a_level_the_search_continues_beyond_its_users() -> None:
    pilot = Search()
    assert step(pilot.due(search_input(*LOW, level(24, seconds=4.0), latest=(100, 95), fault=True))) == (7, "retreat")
    users, _ = step(pilot.due(search_input(*LOW, level(24, seconds=4.0), level(7, seconds=4.0))))
    assert users > 24


def test_a_level_that_fails_while_scaling_is_linear_is_left_for_fewer_users_and_never_for_more() -> None:
    pilot, levels = Search(), [*LOW, level(24, seconds=6.0, error=0.2, failures=20)]
    assert step(pilot.due(search_input(*levels))) == (7, "retreat")
    levels.append(level(7, seconds=4.0))
    users, _ = step(pilot.due(search_input(*levels)))
    levels.append(level(users, failures=400))
    assert step(pilot.due(search_input(*levels, current=verdict("no_knee", 24), latest=(100, 60))))[1] == "retreat"


def test_failures_beyond_a_known_knee_are_left_for_the_soak() -> None:
    failing = level(96, seconds=6.0, failures=80)
    assert step(Search().due(search_input(*LOW, level(48), failing, current=verdict("knee")))) == (35, "soak")


def test_the_autopilot_gives_up_if_the_service_does_not_recover() -> None:
    pilot = Search()
    levels = [*LOW, level(24, seconds=6.0, failures=20)]
    pilot.due(search_input(*levels))
    levels.append(level(7, seconds=10.0, failures=50))
    assert pilot.due(search_input(*levels, latest=(40, 20))) == Hold("measuring")
    levels[-1] = level(7, seconds=18.0, failures=90)
    ended = pilot.due(search_input(*levels, latest=(40, 20)))
    assert isinstance(ended, GiveUp)
    assert (ended.users, ended.why) == (1, "not_recovered")


def test_failures_that_occur_at_every_load_are_not_caused_by_load() -> None:
    levels = [level(users, failures=int(users * RATE * 8 * 0.07)) for users in (3, 6, 12)]
    assert step(Search().due(search_input(*levels))) == (24, "double")


def test_the_autopilot_retreats_from_saturation_of_the_generator() -> None:
    decision = Search().due(search_input(*LOW, level(24, seconds=6.0, error=0.2), generator=True))
    assert step(decision) == (7, "retreat")
    assert isinstance(decision, GoTo)
    assert decision.figures == {"because": "generator"}


def test_the_autopilot_gives_up_before_ports_run_out_and_leaves_a_level_at_once_in_which_they_do() -> None:
    ended = Search().due(search_input(*LOW, ports=(0.6, 100.0)))  # 100 s at 12 users are 50 s at 24
    assert isinstance(ended, GiveUp)
    assert (ended.why, ended.users) == ("ports", 1)
    at_once = Search().due(search_input(*LOW, level(24, seconds=0.0), ports=(0.8, 20.0)))
    assert isinstance(at_once, GiveUp)
    assert step(Search().due(search_input(*LOW, ports=(0.1, 20.0)))) == (
        24,
        "double",
    )  # most ports are free: sockets just opened


def test_a_level_that_never_settles_and_a_service_that_finishes_nothing_are_given_up() -> None:
    assert Search().due(search_input(*LOW, level(24, seconds=0.0), open_s=60.0)) == Hold("settling")
    ended = Search().due(search_input(*LOW, level(24, seconds=0.0), open_s=95.0))
    assert isinstance(ended, GiveUp)
    assert ended.why == "not_settling"
    without_goodput = level(1, seconds=18.0, goodput=0.0)
    ended = Search().due(search_input(without_goodput, current=CapacityVerdict()))
    assert isinstance(ended, GiveUp)
    assert ended.why == "nothing_done"
