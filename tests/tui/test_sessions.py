"""The table of sessions as values: order, search, widths, foreign text."""

from __future__ import annotations

import pytest

from capexplorer.tui.screens.sessions import COLUMNS, heading, knee, matching, ordered, session_line

from .fake_sessions import ROWS, row


def ids(rows: object) -> list[str]:
    return [each.entry.id for each in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("column", "descending", "order"),
    [
        ("began UTC", True, ["s3", "s2", "s1", "s0"]),
        ("began UTC", False, ["s1", "s2", "s3", "s0"]),
        ("title", False, ["s2", "s3", "s1", "s0"]),
        ("profile", False, ["s1", "s3", "s2", "s0"]),
        ("time", True, ["s1", "s2", "s0", "s3"]),
        ("best/s", True, ["s3", "s2", "s1", "s0"]),
        ("knee", True, ["s3", "s2", "s1", "s0"]),
    ],
)
def test_rows_are_ordered_by_any_column_and_the_unknown_comes_last(column: str, descending: bool, order: list[str]) -> None:
    rows = [*ROWS[:3], row("s0", None, started_at=None, label="zzz", profile=None)]
    index = next(index for index, each in enumerate(COLUMNS) if each.name == column)
    assert ids(ordered(rows, index, descending=descending)) == order


@pytest.mark.parametrize(
    ("wanted", "found"),
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
def test_the_search_covers_every_column_label_id_and_problem(wanted: str, found: list[str]) -> None:
    assert ids(matching(ROWS, wanted)) == found


@pytest.mark.parametrize("width", [60, 79, 119, 200])
def test_a_line_and_the_heading_have_their_columns_at_the_same_place(width: int) -> None:
    head, line = heading(0, True, width).plain, session_line(ROWS[0], "A", width).plain
    assert line.startswith(" A ")
    assert head.index("6 best/s") + len("6 best/s") == line.index("141") + 3
    assert head.index("5 knee") + len("5 knee") == line.index(" 49") + 3
    assert len(head) == len(line) <= max(width, 80)


def test_a_wide_screen_shows_the_year_and_the_whole_title() -> None:
    long = row("s", "a title of 26 characters..")
    assert "2026-01-02 11:00" in session_line(long, "", 119).plain
    assert "a title of 26 characters.." in session_line(long, "", 119).plain
    assert "a title of 26 chara…" in session_line(long, "", 79).plain


def test_a_knee_that_is_not_looked_up_is_not_shown_as_none() -> None:
    assert [knee(each) for each in (ROWS[0], row("s"), row("s", verdict="No knee up to 40 users."))] == ["49", "?", "–"]


def test_foreign_text_cannot_steer_the_terminal() -> None:
    evil = row("s\x1b[2J", "t\x07\u202e", profile="\x9b31m", target="\x00", label="\n")
    plain = session_line(evil, "", 119).plain
    assert plain.isprintable()
    problem = row("s\x1b[2J", problem="\x1b]0;x\x07")
    assert session_line(problem, "", 79).plain.isprintable()
