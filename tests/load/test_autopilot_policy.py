"""The autopilot's decisions, each from what it sees. Whole explorations: test_autopilot_simulated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from capexplorer.load.autopilot_input import AutopilotInput, InputLevel
from capexplorer.load.autopilot_policy import AutopilotPolicy
from capexplorer.model.figures import Latency, LevelFigures
from capexplorer.model.proposals import Decision, Done, GiveUp, GoTo, Hold
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeVerdict, Verification, VerificationStep

CAPACITY_RPS, RATE = 100.0, 2.0
"""The service of these tests: N* = 50."""


def level(
    users: int, *, seconds: float = 8.0, error: float = 0.01, failures: int = 0, goodput: float | None = None
) -> InputLevel:
    """A level of that service, settled for `seconds`, with that relative standard error."""
    rate = min(RATE * users, CAPACITY_RPS) if goodput is None else goodput
    requests = int(rate * seconds) + failures
    if not seconds:
        return InputLevel(users, LevelFigures(settled=False))
    return InputLevel(
        users,
        LevelFigures(
            settled=True, settled_seconds=seconds, requests=requests, failures=failures,
            failure_ratio=failures / requests if requests else None, throughput_rps=requests / seconds, goodput_rps=rate,
            goodput_se_rps=error * rate, latency_ms=Latency(mean=100.0), latency_se_ms=100.0 * error, users_mean=float(users),
        ),
    )  # fmt: skip


STEPS = {"soak": (0.7, 20.0, 40.0), "beyond": (1.2, 6.0, 18.0), "return_to_first": (0.0, 6.0, 18.0)}
"""Share of the knee, least and most seconds of each level that verifies it."""


def verification(users: float, agree: Sequence[str] = (), **disagree: str) -> Verification:
    steps = tuple(
        VerificationStep(
            name=name,  # type: ignore[arg-type]
            users=max(1, math.ceil(share * users)),
            least_s=least_s,
            most_s=most_s,
            measured_users=1 if name in agree or name in disagree else None,
            disagreement=disagree.get(name),  # type: ignore[arg-type]
        )
        for name, (share, least_s, most_s) in STEPS.items()
    )
    state = "contradicted" if disagree else "verified" if len(agree) == len(STEPS) else "provisional"
    return Verification(state=state, steps=steps)  # type: ignore[arg-type]


def verdict(
    kind: str | None = None,
    users: float = 50.0,
    baseline: Sequence[float] = (6.0, 12.0),
    agree: Sequence[str] = (),
    **disagree: str,
) -> CapacityVerdict:
    knee = None
    if kind == "knee":
        knee = KneeVerdict(
            kind="knee", users=users, users_low=users - 5, users_high=users + 5, capacity_rps=CAPACITY_RPS,
            verification=verification(users, agree, **disagree),
        )  # fmt: skip
    elif kind == "at_or_below":
        knee = KneeVerdict(kind="at_or_below", users=users)
    elif kind == "no_knee":
        knee = KneeVerdict(kind="no_knee", users=users)
    return CapacityVerdict(
        knee=knee, curve=CurveFit(low_load_rps_per_user=RATE, low_load_se=0.02, baseline_users=tuple(baseline))
    )


def known(
    *levels: InputLevel,
    says: CapacityVerdict | None = None,
    open_s: float = 10.0,
    max_users: int = 1_000,
    latest: tuple[int, int] = (100, 0),
    ports: tuple[float, float | None] = (0.0, None),
    generator: bool = False,
    fault: bool = False,
    undecided: bool = False,
) -> AutopilotInput:
    return AutopilotInput(
        levels=levels, open_s=open_s, verdict=says or verdict(), max_users=max_users, latest_requests=latest[0],
        latest_failures=latest[1], ports_used_ratio=ports[0], exhausted_in_s=ports[1], generator_saturated=generator,
        fault=fault, undecided=undecided,
    )  # fmt: skip


def step(decision: Decision) -> tuple[int, str]:
    assert isinstance(decision, GoTo), decision
    return decision.users, decision.why


LOW = (level(1), level(3), level(6), level(12))


# -- the way up


def test_it_begins_with_one_user_or_the_given_number() -> None:
    assert step(AutopilotPolicy().due(known())) == (1, "first")
    assert step(AutopilotPolicy(5).due(known())) == (5, "first")
    assert step(AutopilotPolicy().due(known(level(10), level(0)))) == (1, "first")


def test_it_doubles_while_the_curve_is_straight() -> None:
    assert step(AutopilotPolicy().due(known(level(1)))) == (3, "double")
    assert step(AutopilotPolicy().due(known(*LOW))) == (24, "double")


def test_it_goes_slower_near_the_bend_and_stays_slower() -> None:
    pilot = AutopilotPolicy()
    bent = level(24, goodput=40.0)
    assert step(pilot.due(known(*LOW, bent))) == (34, "bend_near")  # 1.7 times the crossing of both lines
    assert step(pilot.due(known(*LOW, bent, level(34, goodput=66.0)))) == (51, "double")


@pytest.mark.parametrize(
    ("opened", "says"),
    [
        (level(24, seconds=0.0), "settling"),
        (level(24, seconds=5.0), "measuring"),
        (level(24, seconds=12.0, goodput=40.0, error=0.05), "measuring"),
    ],
)
def test_a_level_lasts_until_it_is_known_well_enough(opened: InputLevel, says: str) -> None:
    assert AutopilotPolicy().due(known(*LOW, opened)) == Hold(says)  # type: ignore[arg-type]


def test_a_level_lasts_no_longer_than_its_time_however_unsure() -> None:
    assert isinstance(AutopilotPolicy().due(known(*LOW, level(24, seconds=18.0, goodput=40.0, error=0.2))), GoTo)


def test_a_straight_level_ends_as_soon_as_it_has_seen_enough() -> None:
    assert step(AutopilotPolicy().due(known(*LOW, level(24, seconds=6.0, error=0.1)))) == (48, "double")


def test_it_never_steps_beyond_max_users() -> None:
    pilot = AutopilotPolicy()
    assert step(pilot.due(known(*LOW, max_users=20))) == (20, "double")
    ended = pilot.due(known(*LOW, level(20), says=verdict("no_knee", 20.0), max_users=20))
    assert isinstance(ended, GiveUp)
    assert (ended.users, ended.why, ended.figures["kind"]) == (1, "max_users", "no_knee")


def test_begun_high_it_goes_lower_first() -> None:
    assert step(AutopilotPolicy(100).due(known(level(100)))) == (25, "lower")
    assert step(AutopilotPolicy().due(known(level(100), level(25), level(6), says=verdict("at_or_below", 6.0)))) == (1, "lower")


# -- the knee


def test_a_knee_gets_another_level_on_its_plateau_and_is_verified_by_a_soak_a_level_beyond_and_a_return() -> None:
    pilot, levels = AutopilotPolicy(), [*LOW, level(24), level(48), level(96)]
    assert step(pilot.due(known(*levels, says=verdict("knee")))) == (116, "plateau")
    levels.append(level(116))
    assert step(pilot.due(known(*levels, says=verdict("knee")))) == (35, "soak")
    levels.append(level(35, seconds=15.0))
    assert pilot.due(known(*levels, says=verdict("knee"))) == Hold("measuring")
    levels[-1] = level(35, seconds=20.0)
    assert step(pilot.due(known(*levels, says=verdict("knee", agree=["soak"])))) == (60, "beyond")
    levels.append(level(60, seconds=6.0))
    assert step(pilot.due(known(*levels, says=verdict("knee", agree=["soak", "beyond"])))) == (1, "return_to_first")
    levels.append(level(1, seconds=3.0))
    assert pilot.due(known(*levels, says=verdict("knee", agree=["soak", "beyond"]))) == Hold("measuring")
    levels[-1] = level(1, seconds=6.0)
    ended = pilot.due(known(*levels, says=verdict("knee", agree=list(STEPS))))
    assert isinstance(ended, Done)
    assert (ended.why, ended.figures["knee_users"], ended.figures["verification"]) == ("knee", 50.0, "verified")


def test_a_low_load_line_of_few_requests_wants_one_more_level_on_the_plateau() -> None:
    thin = verdict("knee", baseline=(1.0,))
    levels = (*LOW, level(24), level(48), level(96), level(116))
    assert step(AutopilotPolicy().due(known(*levels, says=thin))) == (140, "plateau")


# -- the verification


TOP = (*LOW, level(24), level(48), level(96), level(116))


def verifying(*, only: bool = True) -> AutopilotPolicy:
    """At its soak of 35 users."""
    pilot = AutopilotPolicy(only_verifies=only)
    assert step(pilot.due(known(*TOP, says=verdict("knee")))) == (35, "soak")
    return pilot


def test_levels_that_a_person_made_are_not_made_again() -> None:
    by_hand = verdict("knee", agree=["soak", "beyond"])
    assert step(AutopilotPolicy(only_verifies=True).due(known(*TOP, says=by_hand))) == (1, "return_to_first")
    ended = AutopilotPolicy(only_verifies=True).due(known(*LOW, level(1), says=verdict("knee", agree=list(STEPS))))
    assert isinstance(ended, Done) and ended.figures["verification"] == "verified"


def test_a_verification_may_begin_without_users() -> None:
    assert step(AutopilotPolicy(only_verifies=True).due(known(*TOP, level(0, seconds=0.0), says=verdict("knee")))) == (35, "soak")


def test_a_level_that_disagrees_has_its_whole_time_and_is_measured_once_more_in_a_new_level() -> None:
    pilot, less = verifying(), verdict("knee", soak="less_goodput")
    assert pilot.due(known(*TOP, level(35, seconds=25.0), says=less)) == Hold("measuring")
    again = pilot.due(known(*TOP, level(35, seconds=40.0), says=less))
    assert (step(again), isinstance(again, GoTo) and again.anew) == ((35, "soak"), True)
    assert step(pilot.due(known(*TOP, level(35, seconds=40.0), level(35, seconds=40.0), says=less))) == (1, "rest")
    ended = pilot.due(known(*TOP, level(1, seconds=0.0), says=less))
    assert isinstance(ended, Done) and ended.figures["verification"] == "contradicted"


def test_the_second_level_beyond_has_no_fewer_users_since_it_would_feel_the_overload_of_the_first() -> None:
    pilot = verifying()
    pilot.due(known(*TOP, level(35, seconds=20.0), says=verdict("knee", agree=["soak"])))
    moved = verdict("knee", 45.0, agree=["soak"], beyond="less_goodput")
    assert step(pilot.due(known(*TOP, level(35), level(60, seconds=18.0), says=moved))) == (60, "beyond")


def test_from_above_the_level_beyond_is_reached_by_way_of_the_soak() -> None:
    soaked = verdict("knee", agree=["soak"])
    assert step(AutopilotPolicy(only_verifies=True).due(known(*TOP, says=soaked))) == (35, "soak")


def test_a_knee_that_is_lost_is_searched_for_again_but_not_by_a_mere_verification() -> None:
    lost = verdict("no_knee", 96.0)
    levels = (*TOP, level(35, seconds=40.0))
    assert step(verifying(only=False).due(known(*levels, says=lost)))[1] in ("double", "bend_near")
    assert step(verifying().due(known(*levels, says=lost))) == (1, "rest")


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [({"max_users": 54}, "max_users"), ({"ports": (0.6, 60.0)}, "ports")],
)
def test_twenty_percent_beyond_respects_the_guard_and_the_ports_and_the_end_says_so(limit: dict[str, Any], outcome: str) -> None:
    pilot = verifying()
    levels = [*TOP, level(35, seconds=20.0)]
    assert step(pilot.due(known(*levels, says=verdict("knee", agree=["soak"]), **limit))) == (1, "rest")
    ended = pilot.due(known(*levels, level(1, seconds=0.0), says=verdict("knee", agree=["soak"])))
    assert isinstance(ended, Done) and ended.figures["verification"] == outcome


def test_where_the_guard_allows_ten_percent_beyond_that_is_enough() -> None:
    levels = (*TOP, level(35, seconds=20.0))
    assert step(verifying().due(known(*levels, says=verdict("knee", agree=["soak"]), max_users=56))) == (56, "beyond")


def test_a_level_beyond_in_which_nearly_everything_fails_is_left_at_once() -> None:
    pilot, soaked = verifying(), verdict("knee", agree=["soak"])
    pilot.due(known(*TOP, level(35, seconds=20.0), says=soaked))
    assert step(pilot.due(known(*TOP, level(35), level(60, seconds=0.0), says=soaked, latest=(100, 95)))) == (1, "rest")


def test_a_plateau_that_was_skipped_is_searched_between_the_levels() -> None:
    pilot, collapsed = AutopilotPolicy(), level(96, goodput=30.0)
    levels = [*LOW, level(24), level(48), collapsed]
    found = verdict("knee", 48.0)
    assert step(pilot.due(known(*levels, says=found))) == (29, "retreat")
    levels.append(level(29))
    assert step(pilot.due(known(*levels, says=found))) == (68, "between")


# -- trouble


def test_failures_are_backed_off_from_as_soon_as_they_are_measured_and_approached_with_care() -> None:
    pilot = AutopilotPolicy()
    levels = [*LOW, level(24, seconds=6.0, error=0.2, failures=20)]
    assert step(pilot.due(known(*levels))) == (7, "retreat")
    levels.append(level(7, seconds=4.0))
    users, why = step(pilot.due(known(*levels)))
    assert (why, 24 < users <= 36) == ("careful", True)


def test_a_level_that_all_but_fails_is_left_at_once_before_it_settles() -> None:
    pilot = AutopilotPolicy()
    assert step(pilot.due(known(*LOW, level(24, seconds=0.0), latest=(100, 95)))) == (7, "retreat")
    users, why = step(pilot.due(known(*LOW, level(24, seconds=0.0), level(7, seconds=4.0))))
    assert (why, 12 < users < 24) == ("between", True)


def test_a_fall_with_a_step_up_is_left_for_fewer_users_and_a_smaller_step_up_follows() -> None:
    pilot, levels = AutopilotPolicy(), [*LOW, level(24), level(48), level(96, goodput=30.0)]
    assert step(pilot.due(known(*levels, undecided=True))) == (29, "retreat")
    assert step(pilot.due(known(*levels, level(29)))) == (68, "between")


def test_returns_have_an_end() -> None:
    pilot, levels = AutopilotPolicy(), [*LOW, level(24), level(48)]
    for _ in range(20):
        decision = pilot.due(known(*levels, undecided=levels[-1].users > 48))
        if isinstance(decision, GiveUp):
            break
        assert isinstance(decision, GoTo)
        levels.append(level(decision.users, goodput=30.0 if decision.users > 48 else None))
    assert isinstance(decision, GiveUp) and decision.why == "collapse"


def test_a_level_that_was_left_before_it_settled_is_measured_where_no_smaller_step_is_left() -> None:
    pilot, levels = AutopilotPolicy(), [*LOW, level(24), level(28)]
    left = [*levels, level(32, seconds=0.0)]
    assert step(pilot.due(known(*left, latest=(100, 95)))) == (17, "retreat")
    assert pilot.due(known(*left, level(17, seconds=4.0))) == Hold("measuring")
    back = [*left, level(17)]
    assert step(pilot.due(known(*back))) == (32, "again")
    failing = level(32, goodput=0.0, failures=500)
    assert step(pilot.due(known(*back, failing, latest=(100, 95), undecided=True))) == (17, "retreat")
    found = verdict("knee", 28.0)
    assert step(pilot.due(known(*back, failing, level(17), says=found)))[1] == "soak"


def test_a_level_that_failed_once_and_is_clean_when_it_is_measured_again_is_no_ceiling() -> None:
    pilot, left = AutopilotPolicy(), [*LOW, level(24), level(28), level(32, seconds=0.0)]
    pilot.due(known(*left, latest=(100, 95)))
    pilot.due(known(*left, level(17)))
    users, _ = step(pilot.due(known(*left, level(17), level(32))))
    assert users > 32


def test_a_level_that_fails_more_and_more_is_measured_until_it_is_steady() -> None:
    pilot = AutopilotPolicy()
    assert pilot.due(known(*LOW, level(24, seconds=6.0, error=0.3, failures=20, goodput=30.0))) == Hold("measuring")
    assert step(pilot.due(known(*LOW, level(24, seconds=18.0, error=0.3, failures=20, goodput=30.0)))) == (7, "retreat")


def test_a_fault_that_began_in_the_middle_of_a_level_makes_its_users_no_ceiling() -> None:
    pilot = AutopilotPolicy()
    assert step(pilot.due(known(*LOW, level(24, seconds=4.0), latest=(100, 95), fault=True))) == (7, "retreat")
    users, _ = step(pilot.due(known(*LOW, level(24, seconds=4.0), level(7, seconds=4.0))))
    assert users > 24


def test_a_level_that_fails_while_the_curve_is_straight_is_left_for_fewer_users_and_never_for_more() -> None:
    pilot, levels = AutopilotPolicy(), [*LOW, level(24, seconds=6.0, error=0.2, failures=20)]
    assert step(pilot.due(known(*levels))) == (7, "retreat")
    levels.append(level(7, seconds=4.0))
    users, _ = step(pilot.due(known(*levels)))
    levels.append(level(users, failures=400))
    assert step(pilot.due(known(*levels, says=verdict("no_knee", 24), latest=(100, 60))))[1] == "retreat"


def test_where_the_knee_is_known_already_failures_lead_straight_down() -> None:
    failing = level(96, seconds=6.0, failures=80)
    assert step(AutopilotPolicy().due(known(*LOW, level(48), failing, says=verdict("knee")))) == (35, "soak")


def test_it_gives_up_where_the_service_does_not_recover() -> None:
    pilot = AutopilotPolicy()
    levels = [*LOW, level(24, seconds=6.0, failures=20)]
    pilot.due(known(*levels))
    levels.append(level(7, seconds=10.0, failures=50))
    assert pilot.due(known(*levels, latest=(40, 20))) == Hold("measuring")
    levels[-1] = level(7, seconds=18.0, failures=90)
    ended = pilot.due(known(*levels, latest=(40, 20)))
    assert isinstance(ended, GiveUp)
    assert (ended.users, ended.why) == (1, "not_recovered")


def test_failures_that_are_there_at_every_load_are_not_loads_doing() -> None:
    levels = [level(users, failures=int(users * RATE * 8 * 0.07)) for users in (3, 6, 12)]
    assert step(AutopilotPolicy().due(known(*levels))) == (24, "double")


def test_the_generators_own_saturation_is_backed_off_from() -> None:
    decision = AutopilotPolicy().due(known(*LOW, level(24, seconds=6.0, error=0.2), generator=True))
    assert step(decision) == (7, "retreat")
    assert isinstance(decision, GoTo)
    assert decision.figures == {"because": "generator"}


def test_it_does_not_step_into_the_last_ports_and_leaves_at_once_where_they_run_out() -> None:
    ended = AutopilotPolicy().due(known(*LOW, ports=(0.6, 100.0)))  # 100 s at 12 users are 50 s at 24
    assert isinstance(ended, GiveUp)
    assert (ended.why, ended.users) == ("ports", 1)
    at_once = AutopilotPolicy().due(known(*LOW, level(24, seconds=0.0), ports=(0.8, 20.0)))
    assert isinstance(at_once, GiveUp)
    assert step(AutopilotPolicy().due(known(*LOW, ports=(0.1, 20.0)))) == (
        24,
        "double",
    )  # most ports are free: sockets just opened


def test_a_level_that_never_settles_and_a_service_that_finishes_nothing_are_given_up() -> None:
    assert AutopilotPolicy().due(known(*LOW, level(24, seconds=0.0), open_s=60.0)) == Hold("settling")
    ended = AutopilotPolicy().due(known(*LOW, level(24, seconds=0.0), open_s=95.0))
    assert isinstance(ended, GiveUp) and ended.why == "not_settling"
    nothing = level(1, seconds=18.0, goodput=0.0)
    ended = AutopilotPolicy().due(known(nothing, says=CapacityVerdict()))
    assert isinstance(ended, GiveUp) and ended.why == "nothing_done"
