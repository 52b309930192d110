"""Plans: text is parsed to steps, and a cursor gives the step that is due at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.errors import InputError
from capexplorer.model.load import NO_LOAD, Rate, Users
from capexplorer.steer.plan import Share, Step, check_start, duration_s, parse
from capexplorer.steer.plan_moves import PlanCursor


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("10:30", [Step(Users(10), 30.0)]),
        ("10:30s,50:1m,0:500ms", [Step(Users(10), 30.0), Step(Users(50), 60.0), Step(NO_LOAD, 0.5)]),
        (" 1:1s , 2:1.5s ", [Step(Users(1), 1.0), Step(Users(2), 1.5)]),
        ("5:0.5h", [Step(Users(5), 1800.0)]),
        ("hold 50 30s", [Step(Users(50), 30.0)]),
        ("hold 50 for 30s", [Step(Users(50), 30.0)]),
        ("hold 60% knee 24h", [Step(Share("knee", 0.6), 86_400.0)]),
        ("60% of the knee: 24h", [Step(Share("knee", 0.6), 86_400.0)]),
        ("ramp to 200 5m", [Step(Users(200), 300.0, kind="ramp")]),
        ("ramp 110% knee over 5m", [Step(Share("knee", 1.1), 300.0, "ramp")]),
        ("spike 200 30s", [Step(Users(200), 30.0, kind="spike"), Step(NO_LOAD, 30.0, "back")]),
        ("steps 20..60 by 20 10m", [Step(Users(20), 600.0), Step(Users(40), 600.0), Step(Users(60), 600.0)]),
        ("steps 60..20 by 20 each 1s", [Step(Users(60), 1.0), Step(Users(40), 1.0), Step(Users(20), 1.0)]),
        ("steps 1..4 by 2 1s", [Step(Users(1), 1.0), Step(Users(3), 1.0)]),
        ("rate 200/s 30s", [Step(Rate(200.0), 30.0)]),
        ("200/s:30s, hold 0.5/s for 1m", [Step(Rate(200.0), 30.0), Step(Rate(0.5), 60.0)]),
        ("10:30,100:20", [Step(Users(10), 30.0), Step(Users(100), 20.0)]),
        ("steps 5..5 by 3 1s", [Step(Users(5), 1.0)]),
        ("rates 50..200 by 75 20s", [Step(Rate(rate), 20.0) for rate in (50.0, 125.0, 200.0)]),
        ("rates 0.3/s..0.1/s by 0.1/s each 1s", [Step(Rate(rate), 1.0) for rate in (0.3, 0.2, 0.1)]),
        ("ramp to 400/s 5m", [Step(Rate(400.0), 300.0, "ramp")]),
        ("spike 800/s 10s", [Step(Rate(800.0), 10.0, "spike"), Step(NO_LOAD, 10.0, "back")]),
        ("60% capacity 10s", [Step(Share("capacity", 0.6), 10.0)]),
        ("rate 60% of the capacity: 10s", [Step(Share("capacity", 0.6), 10.0)]),
        ("10:1s, verify", [Step(Users(10), 1.0), Step(NO_LOAD, 0.0, "verify")]),
        ("10:1s, profile 10s", [Step(Users(10), 1.0), Step(NO_LOAD, 10.0, "profile")]),
        ("profile for 1m", [Step(NO_LOAD, 60.0, "profile")]),
        ("verify the knee", [Step(NO_LOAD, 0.0, "verify")]),
        ("find knee, 60% knee:1s", [Step(NO_LOAD, 0.0, "find"), Step(Share("knee", 0.6), 1.0)]),
        ("loop 2 (5:1s, loop 2 (6:2s))", [Step(Users(5), 1.0), Step(Users(6), 2.0), Step(Users(6), 2.0)] * 2),
        ("\n  5:1s\n  loop 2 (\n 6:2s\n 7:1s\n)\n", [Step(Users(5), 1.0), *[Step(Users(6), 2.0), Step(Users(7), 1.0)] * 2]),
    ],
)
def test_a_plan_contains_steps_ramps_spikes_holds_and_loops(text: str, steps: list[Step]) -> None:
    assert parse(text, "--plan", 2000) == tuple(steps)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10:1s, profile", "expected a duration after 'profile', like 'profile 30s'"),
        ("10:1s, profile 1s", "expected a profile of 2 to 60 s, got 'profile 1s'"),
        ("10:1s, profile 61s", "expected a profile of 2 to 60 s"),
        ("hold 50", "expected a duration after 'hold 50', like 'hold 50 30s'"),
        ("ramp to 2001 5m", "2001 users exceed guards.max_users"),
        ("spike 2001 5m", "2001 users exceed guards.max_users"),
        ("steps 20..60 by 0 10m", "expected steps by 1 or more"),
        ("steps 1..99999 by 1 1s", "expected at most 10000 steps"),
        ("loop 0 (5:1s)", "expected a loop of 1 to 10000 steps"),
        ("loop 999 (loop 999 (5:1s))", "expected a loop of 1 to 10000 steps"),
        ("loop 2 (5:1s", "expected as many `(` as `)`"),
        ("loop 2 5:1s)", "expected as many `(` as `)`"),
        ("loop 2 ()", "got ''"),
        ("2000% knee:1s", "expected at most 1000% of the knee"),
        ("rate 200/s", "expected a duration after 'rate 200/s', like 'rate 200/s 30s'"),
        ("rate 200 30s", "expected `rate 200/s 30s`, got 'rate 200 30s'"),
        ("rate -5/s 30s", "expected `rate 200/s 30s`, got 'rate -5/s 30s'"),
        ("rate 1e9/s 30s", "expected `rate 200/s 30s`, got 'rate 1e9/s 30s'"),
        ("rate 200/sec 30s", "expected `rate 200/s 30s`, got 'rate 200/sec 30s'"),
        ("200/m:30s", "expected `rate 200/s 30s`, got '200/m:30s'"),
        ("rate 1,000/s 30s", "expected `rate 200/s 30s`, without a comma in the number, got 'rate 1,000/s 30s'"),
        ("5:1s, rates 1,000..2,000 by 100 3s, 5:1s", "without a comma in the number, got 'rates 1,000..2,000 by 100 3s'"),
        ("1,000:30s", "expected USERS:DURATION like 10:30s, without a comma in the number, got '1,000:30s'"),
        ("5\n100:30s", "expected USERS:DURATION like 10:30s, got '5'"),
        ("ramp to 5/min 3s", "expected `ramp to 200 5m`, or `ramp to 400/s 5m`, got 'ramp to 5/min 3s'"),
        ("rates 50..400 by 1000 5s", "expected rates by at most 350, got 'rates 50..400 by 1000 5s'"),
        ("rates 0.4..0.1 by 0.5 5s", "expected rates by at most 0.3, got"),
        ("steps 20..60 by 41 5s", "expected steps by at most 40, got 'steps 20..60 by 41 5s'"),
        ("rate 0.001/s 30s", "expected rates of 0.01 to 100,000 a second, got 0.001/s"),
        ("spike 100001/s 30s", "expected rates of 0.01 to 100,000 a second, got 100,001/s"),
        ("rates 1..5 by 0 1s", "expected rates by more than 0"),
        ("rates 1..99999 by 0.1 1s", "expected at most 10000 steps"),
        ("2000% capacity:1s", "expected at most 1000% of the capacity"),
        ("ramp to 10 0s", "expected a duration above 0"),
        ("", "expected USERS:DURATION like 10:30s, got ''"),
        ("10", "expected USERS:DURATION like 10:30s, got '10'"),
        ("10:", "expected USERS:DURATION like 10:30s, got '10:'"),
        ("ten:30s", "got 'ten:30s'"),
        ("-5:30s", "got '-5:30s'"),
        ("10:30d", "got '10:30d'"),
        ("10:30s,", "got ''"),
        ("10:-3s", "got '10:-3s'"),
        ("1.5:3s", "got '1.5:3s'"),
        ("10:0s", "expected a duration above 0, got '10:0s'"),
        ("2001:3s", "2001 users exceed guards.max_users (2000)"),
        ("٣:3s", "got '٣:3s'"),
    ],
)
def test_an_invalid_plan_is_refused_in_one_line_that_names_its_source(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "p.toml: plans.short", 2000)
    assert str(caught.value).startswith("p.toml: plans.short: ")
    assert message in str(caught.value)


BEYOND = {
    "no parts": ("\n", "expected USERS:DURATION like 10:30s, got ''"),
    "a loop of no parts": ("loop 2 (\n)", "expected USERS:DURATION like 10:30s, got ''"),
    "400 digits of seconds": (f"5:{'9' * 400}", "expected numbers of at most 18 digits, got one of 400"),
    "5,000 digits of users": (f"{'9' * 5000}:5", "expected numbers of at most 18 digits, got one of 5,000"),
    "steps to 30 digits": (f"steps 0..{'9' * 30} by 1 1s", "expected numbers of at most 18 digits, got one of 30"),
    "steps to 18 digits": (f"steps 0..{'9' * 18} by 1 1s", "expected at most 10000 steps"),
    "18 digits of loops": (f"loop {'9' * 18} (5:1s)", "expected a loop of 1 to 10000 steps"),
    "600 loops": (f"{'loop 1 (' * 600}5:1s{')' * 600}", "expected loops nested at most 8 deep, got 600"),
    "1,200 loops": (f"{'loop 1 (' * 1200}5:1s{')' * 1200}", "expected at most 10,000 characters, got 10,804"),
    "9,000 blanks": ("5" + " " * 9000 + "x", "got '5 x'"),
    "9,000 letters": ("x" * 9000, f"got '{'x' * 59}...'"),
    "721 hours": ("5:721h", "expected at most 30 days in total, got 30.04 days"),
    "a loop of 33 days": ("loop 400 (5:2h)", "expected at most 30 days in total, got 33.33 days"),
    "a spike and as long back": ("spike 5 400h", "expected at most 30 days in total, got 33.33 days"),
}


@pytest.mark.parametrize(("text", "message"), BEYOND.values(), ids=BEYOND)
def test_a_plan_beyond_its_bounds_is_refused_in_one_short_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "--plan", 2000)
    line = str(caught.value)
    assert line.startswith("--plan: ")
    assert message in line
    assert "\n" not in line
    assert len(line) < 200


@pytest.mark.parametrize("text", ["5:720h", f"{'loop 1 (' * 8}5:1s{')' * 8}", f"5{' ' * 4000}1s"], ids=["days", "deep", "blanks"])
def test_a_plan_at_its_bounds_is_accepted(text: str) -> None:
    assert len(parse(text, "--plan", 2000)) == 1


def test_durations_count_from_the_end_of_spawning() -> None:
    cursor = PlanCursor((Step(Users(10), 5.0), Step(Users(20), 3.0)))
    assert cursor.due(0.0) == Step(Users(10), 5.0)
    assert cursor.due(100.0) is None  # while users are spawned no step is due
    assert cursor.next_s is None
    cursor.spawned(101.0)
    assert cursor.next_s == 106.0
    assert cursor.due(105.9) is None
    assert cursor.due(106.0) == Step(Users(20), 3.0)
    cursor.spawned(107.5)
    assert cursor.due(110.5) is None
    assert cursor.finished


@pytest.mark.parametrize(
    ("hold_s", "until_s", "suspended_s", "next_s"),
    [(60.0, 5.0, 3.0, 64.0), (60.0, 92.0, 90.0, 151.0), (5.0, 5.0, 3.0, 10.0), (20.0, 2.6, 0.6, 21.6), (60.0, 60.5, 0.6, 66.5)],
    ids=[
        "a long hold is as much longer",
        "longer than the hold",
        "a short hold begins again",
        "by half a second",
        "near its end",
    ],
)
def test_a_hold_is_extended_by_a_suspension(hold_s: float, until_s: float, suspended_s: float, next_s: float) -> None:
    cursor = PlanCursor((Step(Users(10), hold_s),))
    cursor.due(0.0)
    cursor.spawned(1.0)
    cursor.suspended(until_s, suspended_s)
    assert cursor.next_s == pytest.approx(next_s)


def test_a_suspension_while_users_spawn_leaves_the_hold_as_it_is() -> None:
    cursor = PlanCursor((Step(Users(10), 60.0),))
    cursor.due(0.0)
    cursor.suspended(2.0, 1.0)
    cursor.spawned(3.0)
    assert cursor.next_s == 63.0


def test_reporting_spawning_twice_does_not_extend_a_duration() -> None:
    cursor = PlanCursor((Step(Users(10), 5.0),))
    cursor.due(0.0)
    cursor.spawned(1.0)
    cursor.spawned(4.0)
    assert cursor.next_s == 6.0


def test_reports_of_spawning_before_the_first_step_and_after_the_last_are_ignored() -> None:
    cursor = PlanCursor((Step(Users(1), 1.0),))
    cursor.spawned(0.0)
    assert cursor.next_s is None
    cursor.due(0.0)
    cursor.spawned(0.0)
    cursor.due(1.0)
    cursor.spawned(2.0)
    assert (cursor.finished, cursor.next_s, cursor.due(99.0)) == (True, None, None)


def test_a_plan_without_steps_has_ended() -> None:
    cursor = PlanCursor(())
    assert cursor.due(0.0) is None
    assert cursor.finished


@given(
    st.lists(st.tuples(st.integers(0, 100), st.floats(0.1, 100)), min_size=1, max_size=8),
    st.lists(st.floats(0, 10), min_size=8, max_size=8),
)
def test_a_plan_lasts_as_long_as_its_holds_and_its_spawning(steps: list[tuple[int, float]], spawning: list[float]) -> None:
    cursor, now_s = PlanCursor(tuple(Step(Users(users), hold_s) for users, hold_s in steps)), 0.0
    for index, (users, hold_s) in enumerate(steps):
        assert cursor.due(now_s) == Step(Users(users), hold_s)
        now_s += spawning[index]
        cursor.spawned(now_s)
        assert cursor.next_s is not None
        now_s = cursor.next_s
    assert cursor.due(now_s) is None
    assert cursor.finished
    assert now_s == pytest.approx(sum(hold_s for _, hold_s in steps) + sum(spawning[: len(steps)]))


# -- plans that begin a run


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("60% capacity:20s", "expected levels of rates before the step that needs the capacity"),
        ("10:5s, find knee, 60% capacity:20s", "expected levels of rates before the step that needs the capacity"),
        ("60% knee:20s", "expected `find knee` or levels of users before the step that needs the knee"),
        ("rates 10..50 by 10 5s, 60% knee:20s", "expected `find knee` or levels of users before the step that needs the knee"),
        ("verify", "expected `find knee` or levels of users before the step that needs the knee"),
        ("profile 10s, 10:5s", "expected users or a rate before `profile`, which samples stacks under the load before it"),
        ("rate 0/s 10s", "expected users or a rate above 0 in some step"),
        ("ramp to 0/s 10s, 0:5s", "expected users or a rate above 0 in some step"),
    ],
)
def test_a_plan_that_cannot_begin_a_run_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_start(parse(text, "--plan", 2000), "--plan")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "find knee, 60% knee:1h, verify",
        "steps 5..50 by 5 10s, verify",
        "rates 50..400 by 50 20s, 60% capacity:1m",
        "rate 50/s 10s, ramp to 0/s 10s",
        "0:5s, ramp to 50 1m",
    ],
)
def test_a_plan_that_can_begin_a_run_is_accepted(text: str) -> None:
    check_start(parse(text, "--plan", 2000), "--plan")


@pytest.mark.parametrize(("text", "seconds"), [("5m", 300.0), ("90", 90.0), (" 1.5 h ", 5_400.0), ("200ms", 0.2)])
def test_a_duration_alone_is_that_of_a_plan(text: str, seconds: float) -> None:
    assert duration_s(text, "--within") == seconds


@pytest.mark.parametrize(
    ("text", "expected"), [("soon", "like `90s` or `5m`, got 'soon'"), ("0s", "above 0"), ("9" * 30, "18 digits")]
)
def test_a_duration_that_is_none_is_one_line(text: str, expected: str) -> None:
    with pytest.raises(InputError, match="^--within: ") as raised:
        duration_s(text, "--within")
    assert expected in str(raised.value)
