"""A plan that ends on a live screen: users and their level stay, the screen says so, and whatever is asked next goes on."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from capexplorer.model.events import Command, LevelOpened, Sample

from .rig import export, of, until
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]

ENDED = ("PLAN ENDED", "4 users keep running; + - load, a autopilot, p plan, x zero")


def begin_plan(screen: Screen, plan: str) -> None:
    screen.shows("level ")
    screen.press("p")
    screen.shows("Which plan?")
    screen.type(plan)
    screen.press("Enter")


def begin_autopilot(screen: Screen) -> None:
    before = autopilot_levels(screen)
    screen.press("a")
    screen.once(lambda text: "PLAN ENDED" not in text, "the autopilot has taken over")
    until(lambda: autopilot_levels(screen) > before, "a level of the autopilot")


def autopilot_levels(screen: Screen) -> int:
    return len([each for each in of(screen.events(), LevelOpened) if each.by == "autopilot"])


def leave(screen: Screen) -> None:
    screen.press("q")
    screen.shows("Quit?")
    screen.press("y")
    screen.exit_code()


@pytest.fixture(scope="module")
def after_plans(tmp_path_factory: pytest.TempPathFactory) -> Screen:
    """A plan that ends and is left alone for a while, the autopilot, a plan that ends with a ramp, and the autopilot again."""
    with on_screen(tmp_path_factory.mktemp("plans"), "actor", size=(120, 40)) as screen:
        begin_plan(screen, "hold 4 3s")
        screen.shows(*ENDED)
        screen.once(lambda text: re.search(r"level \d, settled ([89]|1\d) s", text), "the level goes on")
        begin_autopilot(screen)
        begin_plan(screen, "ramp to 4 3s")
        screen.shows(*ENDED)
        begin_autopilot(screen)
        leave(screen)
    return screen


def test_what_users_do_after_a_plan_is_measured_in_its_last_level(after_plans: Screen) -> None:
    events = after_plans.events()
    index = next(opened.index for opened in of(events, LevelOpened) if opened.users == 4)  # a level of no users may come before
    settled_s = sum(sample.duration_s for sample in of(events, Sample) if sample.phase == "settled" and sample.level == index)
    level = export(after_plans.sessions)["levels"][index]
    assert level["requests"] / level["throughput_rps"] == pytest.approx(settled_s, rel=0.001) and settled_s > 7


def test_the_session_says_that_each_plan_has_finished_and_with_how_many_users(after_plans: Screen) -> None:
    plans = [command.args for command in of(after_plans.events(), Command) if command.name == "plan"]
    assert [(args["why"], args["users"]) for args in plans if not args.get("on", True)] == [("finished", 4)] * 2


def test_the_autopilot_steps_after_a_plan_that_holds_and_after_one_that_ramps(after_plans: Screen) -> None:
    events = after_plans.events()
    finished = [at for at, event in enumerate(events) if isinstance(event, Command) and event.args.get("why") == "finished"]
    for since, until_next in pairwise([*finished, len(events)]):
        assert "autopilot" in [level.by for level in of(events[since:until_next], LevelOpened)]
