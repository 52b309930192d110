"""The picker's table of saved sessions: order, filter, columns; text of logs cannot control the terminal."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from capexplorer.tui.screens.sessions import COLUMNS, SessionRow, detail, heading, knee, matching, ordered, session_line

from .fake_sessions import ROWS, row


def ids(rows: Iterable[SessionRow]) -> list[str]:
    return [each.entry.id for each in rows]


@pytest.mark.parametrize(
    ("column", "descending", "order"),
    [
        ("UTC", True, ["s3", "s2", "s1", "s0"]),
        ("UTC", False, ["s1", "s2", "s3", "s0"]),
        ("title", False, ["s2", "s3", "s1", "s0"]),
        ("profile", False, ["s1", "s3", "s2", "s0"]),
        ("time", True, ["s1", "s2", "s0", "s3"]),
        ("best/s", True, ["s3", "s2", "s1", "s0"]),
        ("knee", True, ["s3", "s2", "s1", "s0"]),
    ],
)
def test_rows_are_ordered_by_any_column_with_unknown_values_last(column: str, descending: bool, order: list[str]) -> None:
    rows = [*ROWS[:3], row("s0", None, started_at=None, label="zzz", profile=None)]
    index = next(index for index, each in enumerate(COLUMNS) if each.name == column)
    assert ids(ordered(rows, index, descending=descending)) == order


@pytest.mark.parametrize(
    ("filter_text", "found"),
    [
        ("", ["s3", "s2", "s1", "s0"]),
        ("FIX", ["s3"]),
        ("abc", ["s2"]),
        ("kv-go", ["s1"]),
        ("cut", ["s1"]),
        ("2025-12", ["s1"]),
        ("not a session", ["s0"]),
        ("nowhere", []),
    ],
)
def test_the_filter_searches_all_columns_the_label_the_id_and_the_problem(filter_text: str, found: list[str]) -> None:
    assert ids(matching(ROWS, filter_text)) == found


@pytest.mark.parametrize("width", [60, 79, 119, 200])
def test_figures_of_a_line_end_below_the_end_of_their_headings(width: int) -> None:
    head, line = heading(0, True, width).plain, session_line(ROWS[0], "A", width).plain
    assert line.startswith(" A ")
    assert head.index("6 best/s") + len("6 best/s") == line.index("141") + 3
    assert head.index("5 knee") + len("5 knee") == line.index(" 49") + 3
    assert len(head) == len(line) <= max(width, 80)


def test_a_wide_screen_shows_the_year_and_the_whole_title() -> None:
    long = row("s", "a title of 26 characters..")
    wide, narrow = session_line(long, "", 119).plain, session_line(long, "", 79).plain
    assert "2026-01-02 11:00" in wide
    assert "a title of 26 characters.." in wide
    assert "a title of 26 char…" in narrow


def test_the_column_of_the_knee_distinguishes_an_unknown_verdict_from_one_without_a_knee() -> None:
    with_knee, without_verdict, without_knee = ROWS[0], row("s"), row("s", verdict="No knee up to 40 users.")
    assert knee(with_knee) == "49"
    assert knee(without_verdict) == "?"
    assert knee(without_knee) == "–"


def test_text_of_a_log_cannot_control_the_terminal() -> None:
    hostile = row("s\x1b[2J", "t\x07\u202e", profile="\x9b31m", target="\x00", label="\n")
    assert session_line(hostile, "", 119).plain.isprintable()
    problem = row("s\x1b[2J", problem="\x1b]0;x\x07")
    assert session_line(problem, "", 79).plain.isprintable()


@pytest.mark.parametrize(
    ("recording", "result"), [(True, "the session is being recorded"), (False, "the verdict is being looked up")]
)
def test_a_session_without_a_verdict_yet_says_why(recording: bool, result: str) -> None:
    assert detail(row("now", recording=recording))[1] == result


@pytest.mark.parametrize("column", range(len(COLUMNS)))
def test_the_name_of_each_column_is_whole_on_the_narrowest_screen(column: int) -> None:
    shown = heading(column, descending=True, width=79).plain
    assert [each.name for each in COLUMNS if each.name not in shown] == []
