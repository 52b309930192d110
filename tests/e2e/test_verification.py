"""Verification of a knee on a real service by the word `verify` of a plan. By a key: tests/run/test_autopilot_driver.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import Command, LevelOpened, Mark, Sample
from capexplorer.model.findings import Knee

from .rig import events_of, export, started_run

pytestmark = pytest.mark.slow

PLAN_BEYOND_KNEE = "10:10s,20:10s,30:10s,60:10s,90:10s"
"""The knee of the target `sleepers` is at 40 users."""


def test_a_plan_with_verify_verifies_the_knee(tmp_path: Path) -> None:
    with started_run(tmp_path, "sleepers", "--headless", "--plan", f"{PLAN_BEYOND_KNEE},verify") as run:
        run.wait_for_events(Command, lambda command: command.name == "users" and command.args.get("why") == "soak")
        assert run.exit_code() == 0, run.stderr
        events = run.events()
    autopilot_users = list(dict.fromkeys(event.users for event in events_of(events, LevelOpened) if event.by == "autopilot"))
    assert len(autopilot_users) >= 3
    assert 24 <= autopilot_users[0] <= 32, "a level below the knee"
    assert 44 <= autopilot_users[1] <= 56, "a level above the knee"
    assert autopilot_users[-1] == 10, "the first level of the plan again"
    knees = [mark for mark in events_of(events, Mark) if isinstance(mark.finding, Knee)]
    verification = knees[-1].finding.verdict.verification  # type: ignore[union-attr]
    assert verification is not None
    assert verification.state == "verified", run.stderr
    assert [mark.revision for mark in knees] == list(range(knees[0].revision, knees[-1].revision + 1))
    done = next(event for event in events_of(events, Command) if event.name == "autopilot" and event.args.get("end") == "done")
    assert done.args["verification"] == "verified"
    assert done.args["task"] == "verify"
    next_sample = next(index for index in range(events.index(done), len(events)) if isinstance(events[index], Sample))
    knees_by_then = [mark for mark in events_of(events[:next_sample], Mark) if isinstance(mark.finding, Knee)]
    assert knees_by_then[-1].finding.figures()["verification"] == "verified", "marked in the second of the command"
    document = export(run.sessions)
    assert [knee["evidence"]["verification"] for knee in document["knees"] if knee["kind"] == "knee"] == ["verified"]
    assert "; verified" in document["verdict"]
