"""The line NEXT on the screen, and the key Enter that takes the step it proposes."""

from __future__ import annotations

import pytest

from capexplorer.model.events import LevelOpened, Proposed
from capexplorer.model.proposals import AddWorker, Done, GiveUp, GoTo, Hold, Proposal

from .session_events import session
from .stage import NARROW, WIDE, Stage

pytestmark = pytest.mark.anyio

MEASURED = (GoTo(94, "double", {"efficiency": 0.97}, least_s=8.0, most_s=20.0), [("set_users", 94)])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def stage_with(proposal: Proposal, *, live: bool = True) -> Stage:
    events = session()
    opened = [event for event in events if isinstance(event, LevelOpened)]
    last_s = max(event.t_s for event in events)
    return Stage([*events, Proposed(t_s=last_s, proposal=proposal)], wanted=opened[-1].users, live=live)


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_line_next_has_the_key_the_cost_and_the_reason(size: tuple[int, int]) -> None:
    stage = stage_with(MEASURED[0])
    async with stage.run(size):
        assert " NEXT  Enter: 94 users for 8–20 s; still scaling linearly (97%)" in stage.screen_text()


@pytest.mark.parametrize(
    ("proposal", "calls"),
    [
        MEASURED,
        (GoTo(80, "beyond", {}, True, 8.0, 20.0), [("new_level",)]),
        (AddWorker(), [("change_workers", True)]),
        (Hold("measuring", 4.0, 12.0), []),
        (Done("knee"), []),
        (GiveUp(10, "failures"), []),
    ],
)
async def test_enter_takes_the_step(proposal: Proposal, calls: list[tuple[object, ...]]) -> None:
    stage = stage_with(proposal)
    async with stage.run() as pilot:
        await pilot.press("enter")
        await pilot.pause()
        assert stage.controls.calls == calls


async def test_enter_at_the_end_opens_the_export_and_without_success_the_failures() -> None:
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


async def test_a_second_enter_waits_for_the_next_proposal() -> None:
    stage = stage_with(MEASURED[0])
    async with stage.run() as pilot:
        await pilot.press("enter", "enter")
        assert stage.controls.calls == MEASURED[1]
        assert "nothing to do yet" in stage.screen_text()


async def test_while_the_autopilot_is_on_it_takes_the_step() -> None:
    stage = stage_with(Hold("measuring", 4.0, 12.0))
    async with stage.run(WIDE) as pilot:
        await pilot.press("a", "enter")
        assert stage.controls.calls == [("set_autopilot", True)]
        screen = stage.screen_text()
        assert " NEXT " not in screen
        assert "; next step in 4–12 s" in screen


async def test_a_replay_shows_the_recorded_proposal_without_its_key() -> None:
    stage = stage_with(MEASURED[0], live=False)
    async with stage.run():
        assert " NEXT  94 users for 8–20 s; still scaling linearly (97%)" in stage.screen_text()
