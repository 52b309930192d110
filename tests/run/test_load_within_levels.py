"""Load always belongs to a level: in sessions of random commands, each settled second is in the figures of its open level."""

from __future__ import annotations

from pathlib import Path

import pytest
from load.patched import Played, play

from capexplorer.model.events import Command, Event, LevelClosed, LevelOpened, Sample
from capexplorer.session.reader import read

SESSION_COUNT = 12


def violations(events: list[Event]) -> list[str]:
    """Each violation of this rule in a session."""
    found: list[str] = []
    opened: LevelOpened | None = None
    settled_s: dict[int, float] = {}
    for event in events:
        match event:
            case LevelOpened():
                if opened is not None and event.since_s is None:
                    found.append(f"{event.t_s:.1f} s: level {event.index} opened over level {opened.index}")
                opened = event
            case LevelClosed():
                sampled_s = settled_s.get(event.index, 0.0)
                if event.ended_s is None and abs(event.figures.settled_seconds - sampled_s) > 0.01 and not event.bins:
                    found.append(
                        f"level {event.index}: {sampled_s:.1f} s settled, {event.figures.settled_seconds:.1f} s in its figures"
                    )
                opened = None
            case Sample(phase="settled"):
                settled_s[event.level] = settled_s.get(event.level, 0.0) + event.duration_s
                if opened is None or opened.index != event.level or not event.settled:
                    open_index = None if opened is None else opened.index
                    found.append(f"{event.t_s:.1f} s: a settled second of level {event.level}, while level {open_index} is open")
                elif opened.offered_per_s is not None or event.offered is not None:
                    offered_per_s = event.offered.offered_per_s if event.offered is not None else None
                    if offered_per_s != opened.offered_per_s and not (opened.offered_per_s is None and not offered_per_s):
                        found.append(f"{event.t_s:.1f} s: {offered_per_s}/s in a level of {opened.offered_per_s}/s")
                elif not opened.ramp and (event.wanted != opened.users or event.users > opened.users):
                    found.append(f"{event.t_s:.1f} s: {event.users} of {event.wanted} users in a level of {opened.users}")
            case Sample() if event.users and opened is None and event.wanted == event.users and event.phase != "spawning":
                found.append(f"{event.t_s:.1f} s: {event.users} users and no level")
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The answers of `tests/run/scenes/random_commands.py`, played in a fresh process."""
    return play("run.scenes.random_commands", folder=str(tmp_path_factory.mktemp("random")), seeds=SESSION_COUNT)


@pytest.fixture(scope="module")
def sessions(played: Played) -> dict[str, list[Event]]:
    """By seed: the events of each random session."""
    return {Path(path).stem: list(read(Path(path))) for path in played["logs"]}


def test_all_load_of_random_sessions_belongs_to_a_level(sessions: dict[str, list[Event]]) -> None:
    assert {name: found for name, events in sessions.items() if (found := violations(events))} == {}


def test_the_random_sessions_contain_every_kind_of_level_and_of_end_of_a_plan(sessions: dict[str, list[Event]]) -> None:
    """Without them the rule would not be tested."""
    events = [event for session in sessions.values() for event in session]
    plans = [event.args for event in events if isinstance(event, Command) and event.name == "plan"]
    ends = {(args["what"], args["why"]) for args in plans if not args.get("on", True)}
    assert ends >= {
        ("plan", "finished"),
        ("plan", "taken_over"),
        ("plan", "restart"),
        ("shape", "finished"),
        ("shape", "taken_over"),
    }
    assert sum(isinstance(event, Sample) and event.settled for event in events) > 10 * SESSION_COUNT
    assert sum(isinstance(event, Sample) and event.settled and event.offered is not None for event in events) > 3 * SESSION_COUNT
    assert {event.by for event in events if isinstance(event, LevelOpened)} >= {"user", "plan", "autopilot", "guard"}
    assert sum(isinstance(event, LevelOpened) and event.stacks for event in events) > 0


def test_a_driver_that_was_chosen_before_a_guard_stopped_the_load_does_not_start_it_again(played: Played) -> None:
    observed = played["drivers_chosen_before_a_stop"]
    assert observed["autopilot"] == {
        "last commands": [
            {"name": "autopilot", "by": "user", "on": True, "why": None},
            {"name": "autopilot", "by": "autopilot", "on": False, "why": "taken_over"},
        ],
        "users 10 s later": 0,
    }
    assert observed["plan"] == {
        "last commands": [
            {"name": "plan", "by": "user", "on": None, "why": None},
            {"name": "plan", "by": "guard", "on": False, "why": "taken_over"},
        ],
        "users 10 s later": 0,
    }


def test_a_control_that_cannot_be_done_is_answered_and_not_recorded_and_steps_end_at_the_limit(played: Played) -> None:
    observed = played["controls_refused"]
    assert all(observed["answers"]), "each is refused with a reason"
    assert observed["commands"] == [["users", {"users": 40, "before": 2}]]
    assert observed["users"] == 40
