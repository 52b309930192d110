"""The line NEXT of the screen: the key and the words of each proposal of the next step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest

from capexplorer.model.events import Ended, Event, LevelOpened, Proposed, Target
from capexplorer.model.experiments import Experiment
from capexplorer.model.load import Rate, Users
from capexplorer.model.proposals import AddWorker, Decide, Done, Figures, GiveUp, GoTo, Hold, Proposal, Try, Why
from capexplorer.model.requirements import FailuresRequired, KneeRequired, PercentileRequired
from capexplorer.model.timeline import Timeline
from capexplorer.wording import NextStep, next_step, under_way
from capexplorer.wording.next_step import ENDS, REASONS, WAITS

from .judged_sessions import knee_verdict

KNEE: Figures = {
    "kind": "knee", "knee_users": 14.0, "users_low": 11.0, "users_high": 16.0, "capacity_rps": 122.0,
}  # fmt: skip
ALONE = Experiment(name="alone", endpoint="GET /a")
P95 = PercentileRequired(95.0, 300.0, Users(50))
FAILING: Figures = {"because": "failures"}


def level_opened(users: int, t_s: float = 1.0, index: int = 0) -> LevelOpened:
    return LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=10.0, by="user")


TWO_LEVELS = (level_opened(6), level_opened(12, 20.0, 1))


def step_to(users: int, why: Why, figures: Figures, *, same_users: bool = False) -> GoTo:
    """The proposal of a level of 8 to 20 s. `same_users`: a new level with the current users."""
    return GoTo(users, why, figures, same_users, least_s=8.0, most_s=20.0)


def proposed(proposal: Proposal, *levels: Event, later_s: float = 0.0) -> Timeline:
    """A session of 6, then 12 users (or of `levels`) with this proposal at 30 s, `later_s` after it."""
    timeline = Timeline([Target(t_s=0.5, state="ready"), *(levels or TWO_LEVELS), Proposed(t_s=30.0, proposal=proposal)])
    timeline.last_s += later_s
    return timeline


@pytest.mark.parametrize(
    ("proposal", "key", "words"),
    [
        (step_to(24, "double", {"efficiency": 0.97}), "Enter", "24 users for 8–20 s; still scaling linearly (97%)"),
        (step_to(18, "bend_near", {"efficiency": 0.85}), "Enter", "18 users for 8–20 s; scaling starts to flatten (85%)"),
        (step_to(28, "plateau", KNEE), "Enter", "28 users for 8–20 s; measures beyond the knee 14 [11–16]"),
        (GoTo(10, "soak", KNEE, least_s=22, most_s=42), "Enter", "soak at 10 users for 22–42 s; confirms the knee 14 [11–16]"),
        (step_to(17, "beyond", KNEE), "Enter", "17 users for 8–20 s; 20% beyond the knee, to confirm it"),
        (step_to(12, "beyond", KNEE, same_users=True), "Enter", "12 users again for 8–20 s; 20% beyond the knee, to confirm it"),
        (step_to(6, "retreat", FAILING), "Enter", "6 users for 8–20 s; requests fail; does the service recover?"),
        (GoTo(1, "rest"), "Enter", "1 user; back to low load; the search is complete"),
        (Hold("measuring", 4.0, 12.0), "", "measuring 12 users; next step in 4–12 s"),
        (Hold("measuring", 14.0, 34.0, "soak"), "", "soak at 12 users; next step in 14–34 s"),
        (Hold("settling", 8.0, 20.0), "", "settling at 12 users; next step in 8–20 s"),
        (Hold("plan", 7.0, 7.0), "", "the plan sets the load; this step ends in 7 s"),
        (Hold("unsampled", 7.0, 7.0), "", "12 users, to compare with sampled stacks; this step ends in 7 s"),
        (Hold("stacks", 7.0, 7.0), "", "stacks are sampled at 12 users; this step ends in 7 s"),
        (Hold("worker"), "", "a worker process is starting"),
        (Decide(P95, Users(50)), "Enter", "50 users; decides p95 <= 300ms @ 50 users"),
        (Decide(KneeRequired(8.0), Users(12)), "", "until knee >= 8 is decided"),
        (Decide(FailuresRequired(0.001, Rate(80.0)), Rate(80.0)), "Enter", "80/s; decides failures <= 0.1% @ 80/s"),
        (Try(39, ALONE, 9.0, 20.0), "Enter", "39 users, only GET /a, for 9–20 s; how much of it is served?"),
        (Hold("experiment", 3.0, 8.0), "", "experiment at 12 users; next step in 3–8 s"),
        (AddWorker(), "W", "add a worker process; the generator is saturated"),
        (Done("knee", {**KNEE, "verification": "verified"}), "e", "export; knee 14 [11–16] at 122/s, verified"),
        (GiveUp(1, "failures"), "f", "see why requests fail; no knee can be measured"),
        (GiveUp(1, "max_users"), "e", "export; no knee up to the limit: raise guards.max_users to go on"),
        (
            GiveUp(1, "neighbours", {"others_cpu_ratio": 0.1, "cpus": 2}), "Enter",
            "12 users again; other processes used the CPU until now",
        ),
        (
            GiveUp(1, "neighbours"), "",
            "other processes use the machine's CPU; end them, or go on with +",
        ),
        (
            GiveUp(1, "neighbours", {"others_cpu_ratio": 101.6, "cpus": 128}), "",
            "other processes use 101.6 of 128 cores; end them, or go on with +",
        ),
        (
            GiveUp(1, "neighbours", {"others_cpu_ratio": 1.6, "cpus": 2}), "",
            "other processes use 1.6 of 2 cores; end them, or go on with +",
        ),
    ],
)  # fmt: skip
def test_a_proposal_has_a_key_and_words_that_fit_one_line(proposal: Proposal, key: str, words: str) -> None:
    assert next_step(proposed(proposal)) == NextStep(key, words)
    assert fits(NextStep(key, words))


def fits(step: NextStep | None) -> bool:
    """Whether the step has one line at 80 columns."""
    return step is not None and len(f" NEXT  {step.key or 'wait'}: {step.words}") <= 78


@pytest.mark.parametrize("why", ENDS)
def test_every_reason_to_give_up_fits_one_line(why: Why) -> None:
    assert fits(next_step(proposed(GiveUp(1, why))))


DOUBLE = step_to(24, "double", {"efficiency": 0.97})
PLAN = Hold("plan", 7.0, 7.0)
SPLIT = LevelOpened(t_s=31.0, index=2, users=12, spawn_rate=10.0, by="shift", since_s=22.0, shifted="goodput")
"""The open level was split where the service changed; its load stays."""
A_RATE = LevelOpened(t_s=31.0, index=2, users=0, spawn_rate=10.0, by="plan", offered_per_s=20.0)
FOUND = Done("knee", {**KNEE, "verification": "verified"})
VERDICT = knee_verdict("knee", 15.0, t_s=29.0)
TRYING = LevelOpened(t_s=29.0, index=2, users=12, spawn_rate=10.0, by="user", experiment=ALONE)
READY = Target(t_s=0.5, state="ready")
BY_RATE = "the autopilot finds the capacity as a rate; "


def followed(proposal: Proposal, *events: Event, levels: Sequence[Event] = TWO_LEVELS) -> Timeline:
    """A session with this proposal and these events after it."""
    timeline = proposed(proposal, *levels)
    for event in events:
        timeline.apply(event)
    return timeline


MOMENTS: dict[str, tuple[Timeline, NextStep | None]] = {
    "3 s after": (proposed(Hold("measuring", 4.0, 12.0), later_s=3.0), NextStep("", "measuring 12 users; next step in 1–9 s")),
    "5 s after": (proposed(Hold("measuring", 4.0, 12.0), later_s=5.0), NextStep("", "measuring 12 users; next step within 7 s")),
    "now": (proposed(Hold("measuring", 4.0, 12.0), later_s=11.5), NextStep("", "measuring 12 users; next step now")),
    "an experiment": (
        proposed(Hold("experiment", 3.0, 8.0), *TWO_LEVELS, TRYING),
        NextStep("", "experiment at 12 users, only GET /a; next step in 3–8 s"),
    ),
    "the end of a plan": (proposed(PLAN, later_s=6.5), NextStep("", "the plan sets the load; this step ends now")),
    "one level": (
        proposed(step_to(3, "double", {"efficiency": 1.0}), level_opened(1)),
        NextStep("Enter", "3 users for 8–20 s; no limit reached yet"),
    ),
    "a proposed level begins": (followed(DOUBLE, level_opened(24, 31.0, 2)), NextStep("", "changing to 24 users")),
    "a level that was split keeps its proposal": (
        followed(DOUBLE, SPLIT),
        NextStep("Enter", "24 users for 8–20 s; still scaling linearly (97%)"),
    ),
    "a level that was split keeps its plan": (
        followed(Hold("plan", 90.0, 90.0), SPLIT),
        NextStep("", "the plan sets the load; this step ends in 89 s"),
    ),
    "a level that was split while the load changes": (
        followed(
            step_to(24, "double", {}),
            msgspec.structs.replace(SPLIT, users=24),
            levels=(level_opened(6), level_opened(24, 30.5, 1)),
        ),
        NextStep("", "changing to 24 users"),
    ),
    "a rate by hand": (followed(Hold("rate"), A_RATE), NextStep("a", f"{BY_RATE}+ and - change the rate")),
    "a rate of a plan": (followed(PLAN, A_RATE), NextStep("", "changing to 20/s")),
    "the autopilot returned to its first level": (
        followed(GiveUp(1, "max_users"), level_opened(1, 31.0, 2)),
        NextStep("e", "export; no knee up to the limit: raise guards.max_users to go on"),
    ),
    "the knee of the published verdict": (
        proposed(FOUND, *TWO_LEVELS, VERDICT),
        NextStep("e", "export; knee 15 [11–20] at 122/s, verified"),
    ),
    "a soak at the knee of the published verdict": (
        proposed(GoTo(10, "soak", KNEE), *TWO_LEVELS, VERDICT),
        NextStep("Enter", "soak at 10 users; confirms the knee 15 [11–20]"),
    ),
    "a dead target": (followed(PLAN, Target(t_s=40.0, state="died")), NextStep("", "the target is not running")),
    "a target that starts": (Timeline([Target(t_s=0.1, state="starting")]), NextStep("", "the target is starting")),
    "a target that is not ready": (
        Timeline([Target(t_s=3.0, state="starting", reason=f"GET /{'up' * 99}: status 404")]),
        NextStep("", f"the target is starting: GET /{'up' * 17}u"),
    ),
    "the end of the run": (
        followed(FOUND, Ended(t_s=50.0, reason="ended by the user")),
        NextStep("e", "export a report of this session"),
    ),
    "no proposal": (Timeline([READY, level_opened(1)]), None),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_the_line_follows_what_happens_after_the_proposal(name: str) -> None:
    timeline, step = MOMENTS[name]
    assert next_step(timeline) == step
    assert step is None or fits(step)


def test_the_line_depends_on_the_app_and_on_what_a_person_did() -> None:
    done = proposed(Done("knee", KNEE))
    assert next_step(done, by_rate=True) == NextStep("a", f"{BY_RATE}+ offers a rate")
    assert next_step(done) == NextStep("e", "export; knee 14 [11–16] at 122/s")
    assert next_step(done, exported=True) == NextStep("q", "quit; the report is written and the session is saved")
    dead = followed(PLAN, Target(t_s=40.0, state="died"))
    assert next_step(dead, can_restart=True) == NextStep("t", "restart the target")


def test_every_reason_of_a_proposal_has_words() -> None:
    worded_elsewhere = {"knee", "at_or_below", "neighbours", "rate"}
    assert {*REASONS, *ENDS, *WAITS, *worded_elsewhere} == set(get_args(Why))


@pytest.mark.parametrize(
    ("proposal", "words"),
    [
        (Hold("measuring", 4.0, 12.0, "double"), "finding the knee: measuring 12 users; next step in 4–12 s"),
        (Hold("measuring", 14.0, 34.0, "soak"), "verifying the knee: soak at 12 users; next step in 14–34 s"),
        (step_to(17, "beyond", KNEE), "verifying the knee: 17 users for 8–20 s; 20% beyond the knee, to confirm it"),
        (Hold("plan", 7.0, 7.0), "12 users; this step ends in 7 s"),
        (Hold("plan"), "12 users"),
        (Hold("stacks", 7.0, 7.0), "stacks are sampled at 12 users; this step ends in 7 s"),
        (Decide(P95, Users(50)), "deciding p95 <= 300ms @ 50 users: nothing known yet"),
        (Hold("rate_search"), "finding the capacity as an offered rate: 40/s"),
        (Done("knee", KNEE), "12 users"),
    ],
)
def test_what_a_run_without_a_person_does_now(proposal: Proposal, words: str) -> None:
    offered = level_opened(0, 20.0, 1) if proposal == Hold("rate_search") else level_opened(12, 20.0, 1)
    levels = (level_opened(6), msgspec.structs.replace(offered, offered_per_s=None if offered.users else 40.0))
    assert under_way(proposed(proposal, *levels)) == words


def test_nothing_is_under_way_before_the_first_level() -> None:
    assert under_way(Timeline([Target(t_s=0.5, state="ready")])) == ""
