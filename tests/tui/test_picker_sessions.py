"""What the picker does with saved sessions: levels, rename, delete, compare, export; and what it refuses."""

from __future__ import annotations

import pytest

from capexplorer.tui.dialogs import Ask, Choose, Confirm
from capexplorer.tui.screens.compare import CompareScreen
from capexplorer.tui.screens.sessions import SessionLevels

from .fake_sessions import FakeSessions, row
from .picker_stage import TO_NEWEST_SESSION, after_keys, message_lines, picker

pytestmark = pytest.mark.anyio

MARK_S2_THEN_S3 = (*TO_NEWEST_SESSION, "down", "space", "up", "space")
"""Keys that mark the second newest session, then the newest."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("key", ["enter", "space", "i", "r", "e"])
async def test_keys_on_a_session_that_cannot_be_read_show_its_problem(key: str) -> None:
    app = picker()
    async with after_keys(app, "end", key) as text:
        assert "not a session: ␛[31mline 1" in message_lines(text)
        assert len(app.screen_stack) == 1, "another screen has opened"
    assert app.return_value is None


async def test_a_refused_operation_is_shown_and_the_list_stays() -> None:
    async with after_keys(picker(FakeSessions(refusal="the disk is full")), *TO_NEWEST_SESSION, "d", "y") as text:
        assert "the disk is full" in message_lines(text)
        assert "after fix" in text


async def test_i_shows_the_levels_of_a_session_and_escape_returns_to_the_list() -> None:
    app = picker()
    async with after_keys(app, *TO_NEWEST_SESSION, "i") as text:
        assert isinstance(app.screen, SessionLevels)
        assert "26.0" in text
        assert "–" in text, "the goodput of a level without one is not a dash"
    app = picker()
    async with after_keys(app, *TO_NEWEST_SESSION, "i", "escape"):
        assert len(app.screen_stack) == 1


async def test_rename_asks_for_a_title_which_the_list_then_shows() -> None:
    app = picker()
    async with after_keys(app, *TO_NEWEST_SESSION, "down", "r"):
        assert isinstance(app.screen, Ask)
    saved_sessions = FakeSessions()
    async with after_keys(picker(saved_sessions), *TO_NEWEST_SESSION, "down", "r", *"new", "enter") as text:
        assert saved_sessions.did == [("rename", "s2", "new")]
        assert "new   " in text
        assert "abc1234   " not in text


# -- delete


async def test_delete_asks_for_confirmation_with_the_name_and_the_size() -> None:
    saved_sessions = FakeSessions()
    app = picker(saved_sessions)
    async with after_keys(app, *TO_NEWEST_SESSION, "d") as text:
        assert isinstance(app.screen, Confirm)
        assert "s3" in text
        assert "2 KiB will be deleted permanently" in text
        assert saved_sessions.did == []


async def test_a_session_is_deleted_after_yes_and_not_after_no() -> None:
    saved_sessions = FakeSessions()
    async with after_keys(picker(saved_sessions), *TO_NEWEST_SESSION, "d", "n"):
        assert saved_sessions.did == []
    async with after_keys(picker(saved_sessions), *TO_NEWEST_SESSION, "d", "y") as text:
        assert saved_sessions.did == [("delete", "s3")]
        assert "after fix" not in text


async def test_a_session_that_is_being_recorded_is_not_deleted() -> None:
    saved_sessions = FakeSessions((row("now", complete=False, recording=True),))
    async with after_keys(picker(saved_sessions), *TO_NEWEST_SESSION, "d") as text:
        assert "not deleted: the session is being recorded" in text
        assert "rec" in text
        assert saved_sessions.did == []


# -- compare


async def test_marked_sessions_have_letters_in_the_order_of_marking() -> None:
    async with after_keys(picker(), *MARK_S2_THEN_S3) as text:
        lines_of_list = text.splitlines()[:-4]
        letters = [(title, line[1]) for line in lines_of_list for title in ("after fix", "abc1234") if title in line]
        assert letters == [("after fix", "B"), ("abc1234", "A")]


async def test_c_compares_marked_sessions_in_the_order_of_marking() -> None:
    saved_sessions = FakeSessions()
    app = picker(saved_sessions)
    async with after_keys(app, *MARK_S2_THEN_S3, "c"):
        assert saved_sessions.did == [("compare", "s2", "s3")]
        assert isinstance(app.screen, CompareScreen)


async def test_q_closes_the_comparison_and_not_the_picker() -> None:
    app = picker()
    async with after_keys(app, *MARK_S2_THEN_S3, "c", "q"):
        assert len(app.screen_stack) == 1
        assert app.is_running


async def test_a_single_marked_session_is_compared_with_the_highlighted_one() -> None:
    """The second session is marked and unmarked again, so that only the first is."""
    saved_sessions = FakeSessions()
    async with after_keys(picker(saved_sessions), *TO_NEWEST_SESSION, "space", "down", "space", "space", "c"):
        assert saved_sessions.did == [("compare", "s3", "s2")]


async def test_c_without_enough_marks_says_how_to_mark_sessions() -> None:
    async with after_keys(picker(), "c") as text:
        assert "mark two with space, then press c" in text
    async with after_keys(picker(), *TO_NEWEST_SESSION, "c") as text:
        assert "mark two or more with space, then press c" in text


# -- export


async def test_export_asks_for_the_format_and_shows_the_path_of_the_file() -> None:
    app = picker()
    async with after_keys(app, *TO_NEWEST_SESSION, "e"):
        assert isinstance(app.screen, Choose)
    saved_sessions = FakeSessions()
    async with after_keys(picker(saved_sessions), *TO_NEWEST_SESSION, "e", "down", "enter") as text:
        assert saved_sessions.did == [("export", "s3", "html")]
        assert "written: /somewhere/s3.html" in text


async def test_a_refused_export_shows_the_reason() -> None:
    async with after_keys(picker(FakeSessions(refusal="exists already")), *TO_NEWEST_SESSION, "e", "enter") as text:
        assert "exists already" in text
