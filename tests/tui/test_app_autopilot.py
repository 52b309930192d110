"""The key `a`: one call, said at once; what the autopilot does stands in the status; any step by hand ends it."""

from __future__ import annotations

import pytest

from capexplorer.model.events import Command

from .fakes import session
from .test_app import NARROW, WIDE, Stage

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def stepped(t_s: float = 70.0) -> Command:
    args: dict[str, str | int | float | bool | None] = {"users": 94, "before": 47, "why": "double", "efficiency": 0.97}
    return Command(t_s=t_s, name="users", by="autopilot", args=args)


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_a_switches_it_on_and_off_and_the_screen_says_so(size: tuple[int, int]) -> None:
    stage = Stage(session())
    async with stage.run(size) as pilot:
        await pilot.press("a")
        assert stage.controls.calls == [("set_autopilot", True)]
        assert " AUTOPILOT " in stage.screen_text()
        await pilot.press("a")
        assert stage.controls.calls[-1] == ("set_autopilot", False)
        assert " AUTOPILOT " not in stage.screen_text()
        assert "autopilot off" in stage.screen_text()


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_its_last_reason_stands_in_the_status(size: tuple[int, int]) -> None:
    stage = Stage(session())
    async with stage.run(size) as pilot:
        await pilot.press("a")
        stage.source.send(stepped())
        await pilot.pause(1.2)
        assert "users → 94: goodput at 97% of the low-load line: larger step" in stage.screen_text()


@pytest.mark.parametrize("key", ["+", "-", "m", "x"])
async def test_any_step_takes_over(key: str) -> None:
    stage = Stage(session(), wanted=10)
    async with stage.run() as pilot:
        await pilot.press("a", key)
        assert not stage.controls.autopilot
        assert " AUTOPILOT " not in stage.screen_text()


async def test_a_step_that_the_guard_refuses_takes_over_as_well() -> None:
    stage = Stage(session(), wanted=10, max_users=10)
    async with stage.run() as pilot:
        await pilot.press("a", "+")
        assert stage.controls.calls == [("set_autopilot", True), ("set_autopilot", False)]


async def test_a_replay_tells_when_it_stepped() -> None:
    off = Command(t_s=80.0, name="autopilot", by="autopilot", args={"on": False, "end": "done", "why": "knee"})
    stage = Stage([*session(), stepped()], live=False)
    async with stage.run(WIDE) as pilot:
        await pilot.pause(1.2)
        assert " AUTOPILOT " in stage.screen_text()
        stage.source.send(off)
        await pilot.pause(1.2)
        assert " AUTOPILOT " not in stage.screen_text()
