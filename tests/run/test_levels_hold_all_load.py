"""There is never load outside a level: every second that a session shows as settled is in the figures of the level it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from load.patched import Played, play

from capexplorer.model.events import Command, Event, LevelClosed, LevelOpened, Sample
from capexplorer.session.reader import read

SESSIONS = 24


def broken(events: list[Event]) -> list[str]:
    """What is wrong with the levels of a session."""
    wrong: list[str] = []
    opened: LevelOpened | None = None
    settled_s: dict[int, float] = {}
    for event in events:
        match event:
            case LevelOpened():
                if opened is not None and event.since_s is None:
                    wrong.append(f"{event.t_s:.1f} s: level {event.index} opened over level {opened.index}")
                opened = event
            case LevelClosed():
                shown_s = settled_s.get(event.index, 0.0)
                if event.ended_s is None and abs(event.figures.settled_seconds - shown_s) > 0.01 and not event.bins:
                    wrong.append(f"level {event.index}: {shown_s:.1f} s shown, {event.figures.settled_seconds:.1f} s in it")
                opened = None
            case Sample(phase="settled"):
                settled_s[event.level] = settled_s.get(event.level, 0.0) + event.duration_s
                if opened is None or opened.index != event.level or not event.settled:
                    wrong.append(f"{event.t_s:.1f} s: {event.users} users settled, open is {opened and opened.index}")
                elif opened.offered_per_s is not None or event.offered is not None:
                    offered_per_s = event.offered.offered_per_s if event.offered is not None else None
                    if offered_per_s != opened.offered_per_s and not (opened.offered_per_s is None and not offered_per_s):
                        wrong.append(f"{event.t_s:.1f} s: {offered_per_s}/s in a level of {opened.offered_per_s}/s")
                elif not opened.ramp and (event.wanted != opened.users or event.users > opened.users):
                    wrong.append(f"{event.t_s:.1f} s: {event.users} of {event.wanted} users in a level of {opened.users}")
            case Sample() if event.users and opened is None and event.wanted == event.users and event.phase != "spawning":
                wrong.append(f"{event.t_s:.1f} s: {event.users} users and no level")
    return wrong


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play("run.scenes.commanded", folder=str(tmp_path_factory.mktemp("commanded")), seeds=SESSIONS)


@pytest.fixture(scope="module")
def sessions(played: Played) -> dict[str, list[Event]]:
    return {Path(path).stem: list(read(Path(path))) for path in played["logs"]}


def test_no_order_of_commands_leaves_load_without_a_level(sessions: dict[str, list[Event]]) -> None:
    found = {name: wrong for name, events in sessions.items() if (wrong := broken(events))}
    assert not found


def test_the_generated_sessions_contain_the_cases_of_the_rule(sessions: dict[str, list[Event]]) -> None:
    """A rule that never applies holds, too."""
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
    assert sum(isinstance(event, Sample) and event.settled for event in events) > 10 * SESSIONS
    assert sum(isinstance(event, Sample) and event.settled and event.offered is not None for event in events) > 3 * SESSIONS
    assert {event.by for event in events if isinstance(event, LevelOpened)} >= {"user", "plan", "autopilot", "guard"}


def test_a_driver_that_was_chosen_before_a_guard_stopped_the_load_does_not_start_it_again(played: Played) -> None:
    assert played["drivers_chosen_before_a_stop"] == {
        "autopilot": [["autopilot", "user", True, None], ["autopilot", "autopilot", False, "taken_over"], 0],
        "plan": [["plan", "user", None, None], ["plan", "guard", False, "taken_over"], 0],
    }
