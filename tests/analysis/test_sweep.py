"""Which epoch has which setting of a sweep, and how the search in it ended."""

from __future__ import annotations

from typing import Any

import pytest
from kit.scenario import Scenario

from capexplorer.analysis.sweep import begun, end_of
from capexplorer.model.events import Command, Event, Sweep, Target
from capexplorer.model.sweep import SettingEnd


def start(epoch: int, **params: int) -> Target:
    return Target(t_s=1.0, state="starting", epoch=epoch, params={"store": "a", **params})


def autopilot(by: Any = "autopilot", **args: Any) -> Command:
    return Command(t_s=2.0, name="autopilot", by=by, args=args)


ON = autopilot("user", on=True)
DIED = Target(t_s=2.0, state="died", signal="SIGKILL")


@pytest.mark.parametrize(
    ("events", "ended"),
    [
        ((), (None, "")),
        ((ON,), (None, "")),
        ((ON, autopilot(on=False, end="done", why="knee")), ("done", "")),
        ((ON, autopilot(on=False, end="gave_up", why="ports")), ("gave_up", "ports")),
        ((ON, autopilot("user", on=False)), ("budget", "")),
        ((ON, autopilot(on=False, why="taken_over", who="guard")), ("stop_rule", "")),
        ((ON, autopilot(on=False, why="taken_over", who="user")), ("taken_over", "")),
        ((ON, autopilot(on=False, why="taken_over", who="plan")), ("taken_over", "")),
        ((ON, DIED), ("failed", "SIGKILL")),
        ((ON, DIED, autopilot(on=False, why="taken_over", who="guard")), ("failed", "SIGKILL")),
        ((Target(t_s=2.0, state="failed", reason="exit code 2", exit_code=2),), ("failed", "exit code 2")),
        ((Target(t_s=2.0, state="died", exit_code=3),), ("failed", "exit code 3")),
        ((ON, DIED, Target(t_s=3.0, state="ready"), ON), (None, "")),
    ],
)
def test_how_a_search_ended(events: tuple[Event, ...], ended: tuple[SettingEnd | None, str]) -> None:
    later = (start(1, threads=2), ON, autopilot(on=False, end="done"))
    found = Scenario().add(start(0, threads=1), *events, *later)
    assert end_of(found.timeline, 0) == ended
    assert end_of(found.timeline, 1) == ("done", "")


def test_the_latest_epoch_in_which_the_target_was_started_with_a_setting() -> None:
    found = Scenario().add(Sweep(t_s=0.0, settings=({"threads": 1}, {"threads": 2}, {"threads": 4})))
    found.add(start(0, threads=2), start(1, threads=9), start(2, threads=1), start(3, threads=2))
    assert begun(found.timeline) == {1: 3, 0: 2}
    assert begun(Scenario().add(start(0, threads=2)).timeline) == {}
