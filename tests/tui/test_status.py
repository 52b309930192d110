"""The status lines: time, target, load, level and phase, client overhead, loop lag, warnings, the end of a plan."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.style import Style

from capexplorer.model.events import (
    Command,
)
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import Palette
from capexplorer.tui.panes.status import Group, accuracy, group_line, verdict
from capexplorer.tui.protocols import View
from capexplorer.tui.render.text import clauses

from .drawn import status_lines
from .session_events import session
from .troubles import cause


@pytest.mark.parametrize("width", [78, 118, 40])
def test_status_lines_have_the_width_of_the_terminal_and_keep_current_and_requested_users(width: int) -> None:
    view = View(load=Users(1_900), max_users=2_000, step=500, paused=True, spawn_rate=12.5)
    lines = status_lines(Timeline(session()), view, width)
    assert [line for line in lines if cell_len(line) != width] == []
    assert "users 80 → 1,900" in lines[0]


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


def test_in_a_narrow_line_the_loop_lag_is_left_out_before_the_knee() -> None:
    knee = Group((("knee 50 [44–59] at 134/s", Style()),), rank=1)
    lag = accuracy(Timeline(session()), Palette())[-1]
    line = group_line([knee, lag], 30).text
    assert "knee" in line
    assert "loop lag" not in line


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (60, "The service sheds load from 12:03: this is its capacity"),
        (50, "The service sheds load from 12:03 …"),
        (20, "The service sheds …"),
        (6, "The …"),
    ],
)
def test_a_sentence_that_is_too_long_ends_with_a_clause(width: int, text: str) -> None:
    whole = "The service sheds load from 12:03: this is its capacity"
    found = clauses(whole, width)
    assert cell_len(found) <= width
    assert found == text
