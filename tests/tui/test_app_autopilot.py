"""The keys `a` and `v` start the autopilot and the verification; the status shows the last step; any step by hand ends them."""

from __future__ import annotations

import pytest

from capexplorer.model.controls import SetAutopilot, VerifyKnee
from capexplorer.model.events import Command, LevelOpened, Verdict
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, Verification, VerificationStep

from .session_events import session
from .stage import NARROW, WIDE, Stage
from .waiting import until


def stepped(t_s: float = 70.0) -> Command:
    args: dict[str, str | int | float | bool | None] = {"users": 94, "before": 47, "why": "double", "efficiency": 0.97}
    return Command(t_s=t_s, name="users", by="autopilot", args=args)


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_key_a_starts_and_ends_the_autopilot_with_a_message(size: tuple[int, int]) -> None:
    stage = Stage(session())
    async with stage.run(size) as pilot:
        await pilot.press("a")
        assert stage.controls.calls == [SetAutopilot(on=True)]
        assert " AUTOPILOT " in stage.screen_text()
        await pilot.press("a")
        assert stage.controls.calls[-1] == SetAutopilot(on=False)
        assert " AUTOPILOT " not in stage.screen_text()
        assert "autopilot off" in stage.screen_text()


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_reason_of_the_autopilots_last_step_is_in_the_status(size: tuple[int, int]) -> None:
    stage = Stage(session())
    async with stage.run(size) as pilot:
        await pilot.press("a")
        stage.source.send(stepped())
        reason = "users → 94: goodput at 97% of linear scaling: larger step"
        await until(pilot, lambda: reason in stage.screen_text(), reason)


@pytest.mark.parametrize("key", ["+", "-", "m", "x"])
async def test_any_step_by_hand_ends_the_autopilot(key: str) -> None:
    stage = Stage(session(), wanted=10)
    async with stage.run() as pilot:
        await pilot.press("a", key)
        assert not stage.controls.state.autopilot
        assert " AUTOPILOT " not in stage.screen_text()


async def test_a_step_by_hand_that_the_guard_refuses_ends_the_autopilot() -> None:
    stage = Stage(session(), wanted=10, max_users=10)
    async with stage.run() as pilot:
        await pilot.press("a", "+")
        assert stage.controls.calls == [SetAutopilot(on=True), SetAutopilot(on=False)]


def with_knee(*, verified: bool = False) -> Verdict:
    step = VerificationStep(name="soak", users=33, least_s=20.0, most_s=40.0, measured_users=33 if verified else None)
    checked = Verification(state="verified" if verified else "provisional", steps=(step,))
    return Verdict(t_s=60.0, capacity=CapacityVerdict(knee=KneeVerdict(kind="knee", users=47.0, verification=checked)))


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_v_verifies_the_knee_and_the_status_shows_the_progress(size: tuple[int, int]) -> None:
    stage = Stage([*session(), with_knee()])
    async with stage.run(size) as pilot:
        await pilot.press("v")
        assert stage.controls.calls == [VerifyKnee()]
        args: dict[str, str | int | float | bool | None] = {"users": 33, "why": "soak", "least_s": 20.0, "most_s": 40.0}
        stage.source.send(Command(t_s=70.0, name="users", by="autopilot", args=args))
        stage.source.send(LevelOpened(t_s=70.0, index=90, users=33, spawn_rate=10.0, by="autopilot"))
        progress = "verifying: soak at 33 users, 0 s of 20 s"
        await until(pilot, lambda: progress in stage.screen_text(), progress)
        await pilot.press("+")
        assert " AUTOPILOT " not in stage.screen_text()


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [(None, "no knee to verify yet; press a to search for one"), (with_knee(verified=True), "the knee is already verified")],
)
async def test_v_without_a_knee_says_that_there_is_nothing_to_verify(verdict: Verdict | None, sentence: str) -> None:
    stage = Stage([*session(), *([verdict] if verdict is not None else [])])
    async with stage.run(WIDE) as pilot:
        await pilot.press("v")
        assert stage.controls.calls == []
        assert sentence in stage.screen_text()


async def test_a_replay_shows_the_autopilot_while_it_was_on() -> None:
    off = Command(t_s=80.0, name="autopilot", by="autopilot", args={"on": False, "end": "done", "why": "knee"})
    stage = Stage([*session(), stepped()], live=False)
    async with stage.run(WIDE) as pilot:
        await until(pilot, lambda: " AUTOPILOT " in stage.screen_text(), "the autopilot in the status")
        stage.source.send(off)
        await until(pilot, lambda: " AUTOPILOT " not in stage.screen_text(), "no autopilot in the status")
