"""A plan that ends on a live screen: users and their level stay, the screen says so, and whatever is asked next goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capexplorer.model.events import Command, LevelOpened, Sample

from .rig import export, of, until
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]

ENDED = ("PLAN ENDED", "4 users keep running; + - load, a autopilot, p plan, x zero")


def begin_plan(screen: Screen, plan: str) -> None:
    screen.shows("users 2 ", "level ")
    screen.press("p")
    screen.shows("Which plan?")
    screen.type(plan)
    screen.press("Enter")


def leave(screen: Screen) -> None:
    screen.press("q")
    screen.shows("Quit?")
    screen.press("y")
    screen.exit_code()


def test_what_users_do_after_a_plan_is_measured_in_its_last_level(tmp_path: Path) -> None:
    with on_screen(tmp_path, "actor", size=(80, 24)) as screen:
        begin_plan(screen, "hold 4 3s")
        screen.shows(*ENDED)
        screen.once(lambda text: re.search(r"level 1, settled ([89]|1\d) s", text), "the level goes on")
        leave(screen)
    events = screen.events()
    settled_s = sum(sample.duration_s for sample in of(events, Sample) if sample.phase == "settled" and sample.level == 1)
    level = export(screen.sessions)["levels"][1]
    assert level["requests"] / level["throughput_rps"] == pytest.approx(settled_s, rel=0.001) and settled_s > 7
    plans = [command.args for command in of(events, Command) if command.name == "plan"]
    assert [(args["why"], args["users"]) for args in plans if not args.get("on", True)] == [("finished", 4)]


@pytest.mark.parametrize("plan", ["hold 4 1s", "ramp to 4 3s"])
def test_the_autopilot_steps_after_a_plan(tmp_path: Path, plan: str) -> None:
    with on_screen(tmp_path, "actor", size=(120, 40)) as screen:
        begin_plan(screen, plan)
        screen.shows(*ENDED)
        screen.press("a")
        screen.once(lambda text: "PLAN ENDED" not in text, "the autopilot has taken over")
        until(lambda: [each for each in of(screen.events(), LevelOpened) if each.by == "autopilot"], "a level of the autopilot")
        leave(screen)
