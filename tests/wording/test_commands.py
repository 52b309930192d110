"""Commands of the autopilot as sentences: the reasons of its steps, progress of a verification, and how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer import wording
from capexplorer.model.events import Command

KNEE: dict[str, Any] = {"kind": "knee", "knee_users": 50.0, "users_low": 46.0, "users_high": 55.0, "capacity_rps": 100.0}


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"users": 3, "why": "double", "efficiency": 1.0},
         "users → 3, autopilot: goodput at 100% of linear scaling: larger step"),
        ({"users": 35, "why": "soak", **KNEE},
         "users → 35, autopilot: knee 50 [46–55] at 100/s: soak at 70% of it, to verify it"),
        ({"users": 8, "why": "require", "required": "p95 <= 300ms @ 8 users"},
         "users → 8, autopilot: decides p95 <= 300ms @ 8 users"),
        ({"users": 60, "why": "beyond"}, "users → 60, autopilot: 20% beyond the knee, to verify it"),
        ({"users": 1, "why": "return_to_first"},
         "users → 1, autopilot: back to the first level, to check whether the service has changed"),
    ],
    ids=lambda value: value["why"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_step_of_the_autopilot_has_its_reason(args: dict[str, Any], sentence: str) -> None:
    assert wording.command(Command(t_s=1.0, name="users", by="autopilot", args=args)) == sentence


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"end": "done", "verification": "verified", **KNEE}, "autopilot finished: knee 50 [46–55] at 100/s, verified"),
        ({"end": "done", "verification": "contradicted", "task": "verify", **KNEE},
         "verification finished: knee 50 [46–55] at 100/s, contradicted by later levels"),
        ({"end": "done", "verification": "max_users", "task": "verify", **KNEE},
         "verification finished: knee 50 [46–55] at 100/s, not verified: max_users does not allow a level 20% beyond the knee"),
        ({"end": "gave_up", "why": "neighbours", "left_out": 3},
         "autopilot gave up: other processes use the machine's CPU; 3 levels left out because other processes used the CPU"),
        ({"end": "gave_up", "why": "max_users", "kind": "no_knee", "knee_users": 20.0},
         "autopilot gave up: the limit max_users is reached; no knee up to 20 users"),
        ({"why": "taken_over", "who": "user"}, "autopilot off: users were changed by hand"),
        ({"why": "taken_over", "who": "user", "task": "verify"}, "verification off: users were changed by hand"),
        ({"end": "done", "why": "decided", "task": "require", "met": 2, "not_met": 1}, "requirements decided: 2 met, 1 not met"),
        ({"end": "gave_up", "why": "within", "task": "require", "undecided": 1},
         "the time for the requirements is spent: 1 undecided"),
        ({"why": "taken_over", "who": "user", "task": "require"}, "requirements off: users were changed by hand"),
    ],
    ids=range(10),
)  # fmt: skip
def test_the_end_of_the_autopilot_names_what_it_found_or_why_not(args: dict[str, Any], sentence: str) -> None:
    assert wording.command(Command(t_s=1.0, name="autopilot", by="autopilot", args={"on": False, **args})) == sentence


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"users": 60, "offered_per_s": None}, "stacks are sampled at 60 users"),
        ({"users": 60, "low_users": 1}, "stacks are sampled at 1 user and at 60 users"),
        ({"users": 0, "offered_per_s": 80.0, "low_users": 0, "low_per_s": 5.0},
         "stacks are sampled at 5/s offered and at 80/s offered"),
    ],
)  # fmt: skip
def test_a_sampling_of_stacks_has_its_loads(args: dict[str, Any], sentence: str) -> None:
    assert wording.command(Command(t_s=1.0, name="stacks", args=args)) == sentence


def test_a_sampling_at_the_knee_that_ended_leaves_the_load() -> None:
    args: dict[str, Any] = {"on": False, "what": "sampling", "why": "finished", "users": 1}
    assert wording.command(Command(t_s=1.0, name="plan", by="plan", args=args)) == "sampling ended: 1 user keeps running"


@pytest.mark.parametrize(
    ("args", "settled_s", "progress"),
    [
        ({"why": "soak", "users": 35, "least_s": 20.0, "most_s": 40.0}, 12.0, "verifying: soak at 35 users, 12 s of 20 s"),
        ({"why": "beyond", "users": 60, "least_s": 6.0, "most_s": 18.0}, 9.0,
         "verifying: 60 users, 20% beyond the knee, 9 s, at most 18 s"),
        ({"why": "return_to_first", "users": 1, "least_s": 6.0, "most_s": 18.0}, 3.0, "verifying: back at 1 user, 3 s of 6 s"),
        ({"why": "first", "users": 1, "least_s": 6.0, "most_s": 18.0}, 3.0, None),
    ],
    ids=lambda value: value["why"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_level_that_verifies_the_knee_has_its_progress(args: dict[str, Any], settled_s: float, progress: str | None) -> None:
    assert wording.verifying(args, settled_s) == progress
