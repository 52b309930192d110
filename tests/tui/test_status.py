"""The status lines: time, target, load, level and phase, client overhead, loop lag, warnings, the end of a plan."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from report.made_sessions import judged
from rich.cells import cell_len
from rich.style import Style

from capexplorer import wording
from capexplorer.model.events import Answered, Command
from capexplorer.model.load import Users
from capexplorer.model.requirements import Answer, KneeAnswer, KneeRequired
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import Palette
from capexplorer.tui.panes.settings import SettingsPane
from capexplorer.tui.panes.status import Group, accuracy, group_line, requirements, verdict
from capexplorer.tui.protocols import View
from capexplorer.tui.render.text import clauses

from .drawn import MAXIMISED, SMALL, fitting_strips, pane_text, status_lines
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


MET = KneeAnswer(required=KneeRequired(20.0), state="met", users=31.0, low_users=28.0, high_users=34.0)
NOT_MET = replace(MET, required=KneeRequired(40.0), state="not_met")
OPEN = replace(MET, required=KneeRequired(32.0), state="undecided")


@pytest.mark.parametrize(
    ("answers", "most", "badges"),
    [
        ((), 2, []),
        ((MET, NOT_MET), 2, [" MET  knee >= 20: ", " NOT MET  knee >= 40: "]),
        ((MET, OPEN, NOT_MET), 2, [" NOT MET  knee >= 40: ", " REQUIRED  and 1 met, 1 undecided"]),
        ((MET, OPEN, NOT_MET), 1, [" REQUIRED  1 met, 1 not met, 1 undecided"]),
        ((MET, OPEN, NOT_MET), 3, [" MET ", " UNDECIDED ", " NOT MET "]),
    ],
)
def test_answers_take_the_lines_that_there_are_and_those_not_met_come_first(
    answers: tuple[Answer, ...], most: int, badges: list[str]
) -> None:
    timeline = Timeline([*session(), Answered(t_s=9.0, answers=answers)])
    lines = [line.text for line in requirements(timeline, View(load=Users(80), verdict_lines=most), Palette(), 78)]
    assert [line[: len(badge)] for line, badge in zip(lines, badges, strict=True)] == badges
    assert {cell_len(line) for line in lines} <= {78}


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


def test_a_line_says_at_which_load_to_stay_once_there_is_a_knee() -> None:
    timeline = Timeline(judged())
    (line,) = (each for each in status_lines(timeline, width=118) if "STAY AT" in each)
    assert wording.operating_now(timeline) in line
    assert [each for each in status_lines(Timeline(session())) if "STAY AT" in each] == []


def test_the_pane_of_settings_has_each_figure_and_scrolls() -> None:
    timeline = Timeline(judged())
    text = pane_text(SettingsPane(), timeline, MAXIMISED)
    assert [each.value for each in wording.settings(timeline) if each.value not in text] == []
    assert pane_text(SettingsPane(), Timeline(session()), MAXIMISED) != text
    fitting_strips(SettingsPane(), timeline, SMALL)
