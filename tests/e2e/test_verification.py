"""A knee of a real service is verified: by a plan without a screen, and by the key `v`, from which a person may take over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capexplorer.model.events import Command, LevelOpened, Mark, Sample
from capexplorer.model.findings import Knee

from .rig import export, of, start, until
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

UP = "10:10s,20:10s,30:10s,60:10s,90:10s"
"""To beyond the knee of the sleepers: 40 users."""


def test_a_plan_verifies_the_knee_and_the_marks_show_how(tmp_path: Path) -> None:
    with start(tmp_path, "sleepers", "--headless", "--plan", f"{UP},verify") as run:
        run.until(Command, lambda command: command.name == "users" and command.args.get("why") == "soak")
        assert run.exit_code() == 0, run.stderr
        events = run.events()
    made = [event.users for event in of(events, LevelOpened) if event.by == "autopilot"]
    assert len(made) >= 3
    assert 24 <= made[0] <= 32
    assert 44 <= made[1] <= 56
    assert made[-1] == 10
    knees = [mark for mark in of(events, Mark) if isinstance(mark.finding, Knee)]
    checked = knees[-1].finding.verdict.verification  # type: ignore[union-attr]
    assert checked is not None and checked.state == "verified", run.stderr
    assert [mark.revision for mark in knees] == list(range(knees[0].revision, knees[-1].revision + 1))
    ended = next(event for event in of(events, Command) if event.name == "autopilot" and event.args.get("end") == "done")
    assert ended.args["verification"] == "verified" and ended.args["task"] == "verify"
    following = events[events.index(ended) + 1 :]
    by_then = events[: events.index(ended) + 1] + following[: next(i for i, e in enumerate(following) if isinstance(e, Sample))]
    last = [mark for mark in of(by_then, Mark) if isinstance(mark.finding, Knee)][-1]
    assert last.finding.figures()["verification"] == "verified"  # with the command, not some seconds later
    document = export(run.sessions)
    assert [knee["evidence"]["verification"] for knee in document["knees"] if knee["kind"] == "knee"] == ["verified"]
    assert "; verified" in document["verdict"]


@needs_tmux
def test_v_verifies_on_the_screen_until_a_person_steps(tmp_path: Path) -> None:
    with on_screen(tmp_path, "sleepers", "--plan", UP, size=(80, 24)) as screen:
        screen.shows(", settled")
        screen.press("v")
        screen.shows("no knee to verify yet")
        screen.shows("PLAN ENDED")
        screen.shows("Enter: soak")
        screen.press("v")
        screen.once(lambda text: re.search(r"verifying: soak at \d+ users, [1-9] s of 20 s", text), "the soak is under way")
        screen.press("+")
        screen.once(lambda text: "AUTOPILOT" not in text, "the person has taken over")
        until(lambda: [each for each in of(screen.events(), Command) if each.args.get("why") == "taken_over"], "the end")
        screen.press("q")
        screen.shows("Quit?")
        screen.press("y")
        assert screen.exit_code() == 0
    ended = [each for each in of(screen.events(), Command) if each.name == "autopilot" and each.args.get("task") == "verify"]
    assert [(each.by, each.args["on"]) for each in ended] == [("user", True), ("autopilot", False)]
