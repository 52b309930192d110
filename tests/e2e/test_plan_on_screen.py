"""Plans that end on the live screen: their users continue in the same level, and a plan or the autopilot can be started next."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from capexplorer.model.events import Command, LevelOpened, Sample

from .rig import events_of, export, wait_until
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]

PLAN_ENDED_TEXTS = ("PLAN ENDED", "4 users keep running; + - load, a autopilot, p plan, x zero")


def start_plan(screen: Screen, plan: str) -> None:
    screen.wait_for_text("level ")
    screen.press("p")
    screen.wait_for_text("Which plan?")
    screen.type(plan)
    screen.press("Enter")


def start_autopilot(screen: Screen) -> None:
    before = autopilot_levels(screen)
    screen.press("a")
    screen.wait_for(lambda text: "PLAN ENDED" not in text, "the end of the message that the plan has ended")
    wait_until(lambda: autopilot_levels(screen) > before, "a level of the autopilot")


def autopilot_levels(screen: Screen) -> int:
    return len([each for each in events_of(screen.events(), LevelOpened) if each.by == "autopilot"])


def test_users_go_on_in_the_level_in_which_a_plan_ended_and_the_autopilot_steps_after_a_level_and_after_a_ramp(
    tmp_path: Path,
) -> None:
    with on_screen(tmp_path, "actor", size=(120, 40)) as screen:
        start_plan(screen, "hold 4 3s")
        screen.wait_for_text(*PLAN_ENDED_TEXTS)
        longer = re.compile(r"level \d, settled ([89]|\d{2,}) s")
        screen.wait_for(longer.search, "the level, settled for 8 s and longer than the plan")
        start_autopilot(screen)
        start_plan(screen, "ramp to 4 3s")
        screen.wait_for_text(*PLAN_ENDED_TEXTS)
        start_autopilot(screen)
        screen.quit()
    events = screen.events()
    index = next(each.index for each in events_of(events, LevelOpened) if each.users == 4)  # one of no users may come before
    settled = [each for each in events_of(events, Sample) if each.phase == "settled" and each.level == index]
    settled_s = sum(sample.duration_s for sample in settled)
    level = export(screen.sessions)["levels"][index]
    assert level["requests"] / level["throughput_rps"] == pytest.approx(settled_s, rel=0.001)
    assert settled_s > 7, "the plan itself was 3 s long"
    plans = [command.args for command in events_of(events, Command) if command.name == "plan"]
    assert [(args["why"], args["users"]) for args in plans if not args.get("on", True)] == [("finished", 4)] * 2
    ends = [at for at, event in enumerate(events) if isinstance(event, Command) and event.args.get("why") == "finished"]
    for start, end in pairwise([*ends, len(events)]):
        assert "autopilot" in [level.by for level in events_of(events[start:end], LevelOpened)]
