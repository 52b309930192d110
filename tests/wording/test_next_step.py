"""The line NEXT: each proposal as words and a key."""

from __future__ import annotations

from typing import get_args

import pytest

from capexplorer.model.events import Ended, Event, LevelOpened, Proposed, Target
from capexplorer.model.proposals import AddWorker, Done, Figures, GiveUp, GoTo, Hold, Proposal, Why
from capexplorer.model.timeline import Timeline
from capexplorer.wording import NextStep, next_step
from capexplorer.wording.next_step import ENDS, REASONS, WAITS

KNEE: Figures = {
    "kind": "knee", "knee_users": 14.0, "users_low": 11.0, "users_high": 16.0, "capacity_rps": 122.0,
}  # fmt: skip


def opened(users: int, t_s: float = 1.0, index: int = 0) -> LevelOpened:
    return LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=10.0, by="user")


FAILING: Figures = {"because": "failures"}
TWO_LEVELS = (opened(6), opened(12, 20.0, 1))


def level(users: int, why: Why, figures: Figures, *, anew: bool = False) -> GoTo:
    return GoTo(users, why, figures, anew, least_s=8.0, most_s=20.0)


def at(proposal: Proposal, *levels: Event, later_s: float = 0.0) -> Timeline:
    timeline = Timeline([Target(t_s=0.5, state="ready"), *(levels or TWO_LEVELS), Proposed(t_s=30.0, proposal=proposal)])
    timeline.last_s += later_s
    return timeline


@pytest.mark.parametrize(
    ("proposal", "key", "words"),
    [
        (level(24, "double", {"efficiency": 0.97}), "Enter", "24 users for 8–20 s; still scaling linearly (97%)"),
        (level(18, "bend_near", {"efficiency": 0.85}), "Enter", "18 users for 8–20 s; scaling starts to flatten (85%)"),
        (level(28, "plateau", KNEE), "Enter", "28 users for 8–20 s; measures beyond the knee 14 [11–16]"),
        (GoTo(10, "soak", KNEE, least_s=22, most_s=42), "Enter", "soak at 10 users for 22–42 s; confirms the knee 14 [11–16]"),
        (level(17, "beyond", KNEE), "Enter", "17 users for 8–20 s; 20% beyond the knee, to confirm it"),
        (level(12, "beyond", KNEE, anew=True), "Enter", "12 users again for 8–20 s; 20% beyond the knee, to confirm it"),
        (level(6, "retreat", FAILING), "Enter", "6 users for 8–20 s; requests fail; does the service recover?"),
        (GoTo(1, "rest"), "Enter", "1 user; back to low load; the search is complete"),
        (Hold("measuring", 4.0, 12.0), "", "measuring 12 users; next step in 4–12 s"),
        (Hold("measuring", 14.0, 34.0, "soak"), "", "soak at 12 users; next step in 14–34 s"),
        (Hold("settling", 8.0, 20.0), "", "settling at 12 users; next step in 8–20 s"),
        (Hold("plan", 7.0, 7.0), "", "the plan sets the load; next step in 7 s"),
        (Hold("worker"), "", "a worker process is starting"),
        (AddWorker(), "W", "add a worker process; the generator is saturated"),
        (Done("knee", {**KNEE, "verification": "verified"}), "e", "export; knee 14 [11–16] at 122/s, verified"),
        (GiveUp(1, "failures"), "f", "see why requests fail; no knee can be measured"),
        (GiveUp(1, "max_users"), "e", "export; no knee up to the limit: raise guards.max_users to go on"),
        (
            GiveUp(1, "neighbours", {"others_cpu_ratio": 0.1, "cpus": 2}), "Enter",
            "12 users again; other processes used the CPU until now",
        ),
        (
            GiveUp(1, "neighbours", {"others_cpu_ratio": 1.6, "cpus": 2}), "",
            "other processes use 1.6 of 2 cores; end them, or use another machine",
        ),
    ],
)  # fmt: skip
def test_a_proposal_has_a_key_its_cost_and_its_reason(proposal: Proposal, key: str, words: str) -> None:
    assert next_step(at(proposal)) == NextStep(key, words)
    assert len(f" NEXT  {key or 'wait'}: {words}") <= 78 or isinstance(proposal, GiveUp), "one line of 80 columns"


@pytest.mark.parametrize(
    ("later_s", "countdown"), [(3.0, "next step in 1–9 s"), (5.0, "next step within 7 s"), (11.5, "next step now")]
)
def test_the_countdown_continues_between_proposals(later_s: float, countdown: str) -> None:
    step = next_step(at(Hold("measuring", 4.0, 12.0), later_s=later_s))
    assert step == NextStep("", f"measuring 12 users; {countdown}")


def test_one_level_shows_no_scaling_yet() -> None:
    step = next_step(at(level(3, "double", {"efficiency": 1.0}), opened(1)))
    assert step == NextStep("Enter", "3 users for 8–20 s; no limit reached yet")


def test_a_proposal_that_was_taken_is_not_proposed_again() -> None:
    timeline = at(level(24, "double", {"efficiency": 0.97}))
    timeline.apply(opened(24, 31.0, 2))
    assert next_step(timeline) == NextStep("", "changing to 24 users")


def test_at_an_offered_rate_the_search_of_a_rate_is_proposed_at_each_of_its_levels() -> None:
    """It once said `changing to 0 users` for good: the proposal stays the same from level to level."""
    timeline = at(Hold("rate"))
    timeline.apply(LevelOpened(t_s=31.0, index=2, users=0, spawn_rate=10.0, by="user", offered_per_s=20.0))
    step = next_step(timeline)
    assert step is not None
    assert step.key == "a"
    assert step.words.startswith("the autopilot finds the capacity as a rate")


def test_a_plan_that_changes_a_rate_says_which() -> None:
    timeline = at(Hold("plan", 7.0, 7.0))
    timeline.apply(LevelOpened(t_s=31.0, index=2, users=0, spawn_rate=10.0, by="plan", offered_per_s=20.0))
    assert next_step(timeline) == NextStep("", "changing to 20/s")


def test_an_end_is_proposed_on_the_level_that_the_autopilot_goes_back_to() -> None:
    timeline = at(GiveUp(1, "max_users"))
    timeline.apply(opened(1, 31.0, 2))
    assert next_step(timeline) == NextStep("e", "export; no knee up to the limit: raise guards.max_users to go on")


def test_where_no_load_can_run_the_target_comes_first() -> None:
    timeline = at(Hold("measuring", 4.0, 12.0))
    timeline.apply(Target(t_s=40.0, state="died"))
    assert next_step(timeline, can_restart=True) == NextStep("t", "restart the target")
    assert next_step(timeline) == NextStep("", "the target is not running")
    assert next_step(Timeline([Target(t_s=0.1, state="starting")])) == NextStep("", "the target is starting")


def test_after_the_export_quitting_is_proposed() -> None:
    timeline = at(Done("knee", KNEE))
    assert next_step(timeline, exported=True) == NextStep("q", "quit; the report is written and the session is saved")
    timeline.apply(Ended(t_s=50.0, reason="ended by the user"))
    assert next_step(timeline) == NextStep("e", "export a report of this session")


def test_a_log_without_proposals_has_no_line() -> None:
    assert next_step(Timeline([Target(t_s=0.5, state="ready"), opened(1)])) is None


def test_every_reason_of_a_step_has_words() -> None:
    worded = {*REASONS, *ENDS, *WAITS, "knee", "at_or_below", "neighbours", "rate"}
    assert worded == set(get_args(Why))
