"""The line NEXT on the screen, and the key Enter that takes the step it proposes."""

from __future__ import annotations

import pytest

from capexplorer.model.controls import ChangeWorkers, Control, NewLevel, SetAutopilot, StepTo
from capexplorer.model.events import LevelOpened, Proposed
from capexplorer.model.load import Users
from capexplorer.model.proposals import AddWorker, Done, GiveUp, GoTo, Hold, Proposal
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import Palette
from capexplorer.tui.panes.status import next_step
from capexplorer.tui.protocols import View

from .session_events import session
from .stage import NARROW, WIDE, Stage

STEP_TO_94 = GoTo(94, "double", {"efficiency": 0.97}, least_s=8.0, most_s=20.0)
CALLS_OF_STEP_TO_94 = [StepTo(Users(94))]


def stage_with(proposal: Proposal, *, live: bool = True) -> Stage:
    """A screen whose session ends with this proposal; not `live`: a replay of it."""
    events = session()
    opened = [event for event in events if isinstance(event, LevelOpened)]
    last_s = max(event.t_s for event in events)
    return Stage([*events, Proposed(t_s=last_s, proposal=proposal)], wanted=opened[-1].users, live=live)


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_line_next_has_the_key_the_cost_and_the_reason(size: tuple[int, int]) -> None:
    stage = stage_with(STEP_TO_94)
    async with stage.run(size):
        assert " NEXT  Enter: 94 users for 8–20 s; still scaling linearly (97%)" in stage.screen_text()


@pytest.mark.parametrize(
    ("proposal", "calls"),
    [
        (STEP_TO_94, CALLS_OF_STEP_TO_94),
        (GoTo(80, "beyond", {}, True, 8.0, 20.0), [NewLevel()]),
        (AddWorker(), [ChangeWorkers(add=True)]),
        (Hold("measuring", 4.0, 12.0), []),
        (Done("knee"), []),
        (GiveUp(10, "failures"), []),
    ],
)
async def test_enter_does_the_proposed_step(proposal: Proposal, calls: list[Control]) -> None:
    stage = stage_with(proposal)
    async with stage.run() as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert stage.controls.calls == calls


async def test_enter_opens_the_export_after_a_found_knee_and_the_failures_if_requests_fail() -> None:
    stage = stage_with(Done("knee"))
    async with stage.run() as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert "Export the session so far" in stage.screen_text()
        await pilot.press("escape")
        stage.source.send(Proposed(t_s=stage.app.feed.timeline.last_s, proposal=GiveUp(10, "failures")))
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert stage.shown() == ["failures"]


async def test_a_second_enter_before_the_next_proposal_has_no_effect() -> None:
    stage = stage_with(STEP_TO_94)
    async with stage.run() as pilot:
        await pilot.press("enter", "enter")
        assert stage.controls.calls == CALLS_OF_STEP_TO_94
        assert "nothing to do yet" in stage.screen_text()


async def test_while_the_autopilot_is_on_enter_has_no_effect_and_the_line_next_is_hidden() -> None:
    stage = stage_with(Hold("measuring", 4.0, 12.0))
    async with stage.run(WIDE) as pilot:
        await pilot.press("a", "enter")
        assert stage.controls.calls == [SetAutopilot(on=True)]
        screen = stage.screen_text()
        assert " NEXT " not in screen
        assert "; next step in 4–12 s" in screen


@pytest.mark.parametrize(
    ("has_controls", "proposal", "line"),
    [
        (True, STEP_TO_94, " NEXT  Enter: 94 users for 8–20 s; still scaling linearly (97%)"),
        (False, STEP_TO_94, " NEXT  94 users for 8–20 s; still scaling linearly (97%)"),
        (False, AddWorker(), " NEXT  add a worker process; the generator is saturated"),
        (False, Done("knee"), " NEXT  e: export; knee"),
    ],
)
async def test_a_screen_without_the_controls_names_no_key_that_has_no_effect(
    has_controls: bool, proposal: Proposal, line: str
) -> None:
    timeline = Timeline([*session(), Proposed(t_s=60.0, proposal=proposal)])
    view = View(load=Users(80), max_users=2000, has_controls=has_controls)
    assert [strip.text.rstrip() for strip in next_step(timeline, view, Palette(), 120)] == [line]


async def test_a_replay_shows_the_recorded_proposal_without_its_key() -> None:
    stage = stage_with(STEP_TO_94, live=False)
    async with stage.run():
        assert " NEXT  94 users for 8–20 s; still scaling linearly (97%)" in stage.screen_text()
