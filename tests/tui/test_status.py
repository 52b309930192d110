"""The status lines: time, target, load, level and phase, client overhead, loop lag, warnings, the end of a plan."""

from __future__ import annotations

import msgspec
import pytest
from rich.cells import cell_len
from rich.style import Style

from capexplorer.model.events import (
    Command,
    Ended,
    LevelOpened,
    Target,
    TargetFacts,
)
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import Palette
from capexplorer.tui.panes.status import Group, accuracy, alarms, group_line, verdict
from capexplorer.tui.protocols import View

from .drawn import status_lines, with_last
from .session_events import header, session
from .troubles import cause


def test_the_status_has_time_target_load_level_client_overhead_and_loop_lag() -> None:
    timeline = Timeline(session([(50, 20)]))
    first, second, next_step = status_lines(timeline, width=118)
    assert first.split("   ")[0].strip() == "● 00:21"
    for shown in ("mixed", "ready", "http://127.0.0.1:18080", "users 50", "of 2,000 allowed", "step 1"):
        assert shown in first
    for shown in ("level 0, settled 16 s", "FastHttpUser overhead 0.420 ms", "generator timer delay (loop lag) p99"):
        assert shown in second
    assert next_step.startswith(" NEXT  ")


def test_the_status_names_every_client_class_in_use() -> None:
    timeline = Timeline(session([(50, 20)]))
    assert timeline.header is not None
    timeline.header = msgspec.structs.replace(timeline.header, clients=("FastHttpUser", "User"))
    second = status_lines(timeline, width=140)[1]
    assert "FastHttpUser overhead 0.420 ms" in second
    assert " User (overhead unknown)" in second


@pytest.mark.parametrize("width", [78, 118, 40])
def test_status_lines_have_the_width_of_the_terminal_and_keep_current_and_requested_users(width: int) -> None:
    view = View(load=Users(1_900), max_users=2_000, step=500, paused=True, spawn_rate=12.5)
    lines = status_lines(Timeline(session()), view, width)
    assert [line for line in lines if cell_len(line) != width] == []
    assert "users 80 → 1,900" in lines[0]


@pytest.mark.parametrize(("seconds", "shown"), [(1, "spawning 50 of 50"), (3, "settling 3 s"), (9, "settled 5 s")])
def test_the_phase_has_its_users_or_its_duration(seconds: int, shown: str) -> None:
    assert shown in status_lines(Timeline(session([(50, seconds)])))[1]


@pytest.mark.parametrize(("ramp", "shown"), [(False, "level 0, starting 40/s"), (True, "level 0, ramp to 40/s")])
def test_a_level_of_a_rate_that_begins_has_its_rate_and_not_the_users_of_the_pool(ramp: bool, shown: str) -> None:
    opened = {"users": 0, "offered_per_s": 40.0, "ramp": ramp}
    events = [msgspec.structs.replace(each, **opened) if isinstance(each, LevelOpened) else each for each in session([(670, 1)])]
    assert shown in status_lines(Timeline(events))[1]


def test_the_reason_of_the_autopilot_s_step_is_cut_at_a_clause() -> None:
    step = Command(t_s=5.0, name="users", by="autopilot", args={"users": 58, "before": 48, "why": "double", "efficiency": 0.97})
    timeline = Timeline([*session([(50, 9)]), step])
    view = View(load=Users(58), autopilot=True)
    whole = next(line for line in status_lines(timeline, view, 200) if "AUTOPILOT" in line).strip()
    for width in (40, 60, 70):
        line = next(line for line in status_lines(timeline, view, width) if "AUTOPILOT" in line).strip()
        assert line == whole or (line.endswith(" …") and whole.startswith(line.removesuffix(" …")))


@pytest.mark.parametrize("most", [2, 3])
def test_the_verdict_takes_the_lines_that_panes_can_spare(most: int) -> None:
    timeline = Timeline([*session([(80, 30)]), cause("server_error", 5.0, 80)])
    assert len(verdict(timeline, Palette(), 24, most)) == most


def test_a_settling_level_has_the_share_of_its_warm_users_while_it_is_too_small() -> None:
    timeline = with_last(Timeline(session([(50, 3)])), warm_users=20)
    assert "level 0, settling 4 s   40% of its users warm" in status_lines(timeline)[1]
    assert cell_len(status_lines(timeline, width=40)[1]) == 40
    assert "users warm" not in status_lines(with_last(timeline, warm_users=50))[1]


def test_a_service_that_capexplorer_did_not_start_is_starting_until_it_answers() -> None:
    head = msgspec.structs.replace(header(), target=TargetFacts(name="shop", url="http://127.0.0.1:80"))
    assert "mixed   shop starting" in status_lines(Timeline([head]))[0]
    assert "mixed   shop ready" in status_lines(Timeline([head, Target(t_s=0.1, state="ready")]))[0]


def test_a_service_that_cannot_be_reached_is_shown_with_the_reason() -> None:
    failed = Target(t_s=0.1, state="failed", reason="cannot reach 127.0.0.1:18080: connection refused")
    lines = status_lines(Timeline([header(), failed]))
    assert "✗ target failed: cannot reach 127.0.0.1:18080: connection refused; retrying" in lines[-1]


PLAN_ENDED = Command(t_s=9.0, name="plan", by="plan", args={"on": False, "what": "plan", "why": "finished", "users": 50})


def test_the_end_of_a_plan_is_shown_with_the_next_keys_until_a_command() -> None:
    message = " PLAN ENDED  50 users keep running; + - load, a autopilot, p plan, x zero"
    ended = [*session([(50, 9)]), PLAN_ENDED]
    assert any(message in line for line in status_lines(Timeline(ended)))
    for name in ("users", "autopilot", "restart"):
        after = Timeline([*ended, Command(t_s=9.5, name=name, args={})])
        assert not any("PLAN ENDED" in line for line in status_lines(after)), f"after the command {name}"


def test_a_closed_level_has_its_settled_seconds_and_has_ended() -> None:
    timeline = Timeline(session([(50, 9)]))
    timeline.apply(timeline.levels[-1].ending(9.5))
    assert "settled 5 s, ended" in status_lines(timeline)[1]


def test_a_loop_lag_of_12_ms_has_a_warning() -> None:
    timeline = Timeline(session())
    assert timeline.last is not None and timeline.last.generator is not None
    late = msgspec.structs.replace(timeline.last.generator, loop_lag_p99_ms=12.0)
    assert "loop lag p99 12.0 ms !" in status_lines(with_last(timeline, generator=late))[1]


def test_in_a_narrow_line_the_loop_lag_is_left_out_before_the_knee() -> None:
    knee = Group((("knee 50 [44–59] at 134/s", Style()),), rank=1)
    lag = accuracy(Timeline(session()), Palette())[-1]
    line = group_line([knee, lag], 30).text
    assert "knee" in line
    assert "loop lag" not in line


def test_the_line_of_an_ended_session_has_its_whole_reason_at_80_columns() -> None:
    reason = "autopilot finished: knee 40 [33–50] at 39.6/s, verified"
    [line] = alarms(Timeline([*session(), Ended(t_s=70.0, reason=reason)]), View(load=Users(1)), Palette(), 79)
    assert line.text.rstrip() == f"■ session ended: {reason}"
