"""The picker: profiles to run, sessions to open and tidy up, and a friendly word where there are none."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from capexplorer.tui.dialogs.ask import Ask, Confirm
from capexplorer.tui.dialogs.choose import Choose
from capexplorer.tui.picker_app import PickerApp
from capexplorer.tui.screens.compare import CompareScreen
from capexplorer.tui.screens.entries import Entries
from capexplorer.tui.screens.help import Help
from capexplorer.tui.screens.profiles import ProfileEntry
from capexplorer.tui.screens.session_levels import SessionLevels

from .fake_sessions import ROWS, FakeSessions, row

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


PROFILES = (
    ProfileEntry(name="hello", title="One [bold]line[/]", target="hello"),
    ProfileEntry(name="mixed", title="Mixed CPU and I/O", target="mixed"),
    ProfileEntry(name="broken", problem="broken.toml: unknown key `user`"),
)
FIRST = ("down", "down")
"""From the default profile to the newest session."""


def picker(saved_sessions: FakeSessions | None = None, profiles: Sequence[ProfileEntry] = PROFILES) -> PickerApp:
    return PickerApp(profiles, saved_sessions or FakeSessions())


def screen_text(app: PickerApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@contextlib.asynccontextmanager
async def picking(app: PickerApp, *keys: str, size: tuple[int, int] = (80, 24)) -> AsyncIterator[str]:
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await app.workers.wait_for_complete()
        await pilot.pause()
        yield screen_text(app)


# -- profiles


async def test_enter_runs_the_default_profile() -> None:
    app = picker()
    async with picking(app, "enter"):
        pass
    assert app.return_value == PROFILES[1]


async def test_profiles_and_sessions_are_listed_as_text() -> None:
    async with picking(picker()) as text:
        for part in (
            "One [bold]line[/]",
            "Mixed CPU and I/O",
            "01-03 08:30",
            "01:01",
            "after fix",
            "abc1234",
            "141",
            "␛[31m",
        ):
            assert part in text


async def test_a_profile_that_cannot_run_says_why() -> None:
    app = picker()
    async with picking(app, "down", "enter") as text:
        assert "unknown key `user`" in text
    assert app.return_value is None


async def test_empty_lists_say_what_to_do() -> None:
    async with picking(picker(FakeSessions(()), ())) as text:
        assert "no profiles found" in text
        assert "none yet" in text


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_leaving_picks_nothing(key: str) -> None:
    app = picker()
    async with picking(app, key):
        pass
    assert app.return_value is None


# -- filter


async def test_filtering_leaves_what_matches() -> None:
    app = picker()
    async with picking(app, "/", *"hel", "enter") as text:
        assert "Mixed" not in text
        assert "nothing matches" in text
    app = picker()
    async with picking(app, "/", *"hel", "enter", "enter"):
        pass
    assert app.return_value == PROFILES[0]


async def test_escape_shows_everything_again() -> None:
    async with picking(picker(), "/", *"kv-go", "enter", "escape") as text:
        assert "after fix" in text


async def test_keys_typed_into_the_filter_do_nothing_else() -> None:
    saved_sessions = FakeSessions()
    app = picker(saved_sessions)
    async with picking(app, *FIRST, "/", *"decq1") as text:
        assert "nothing matches" in text
        assert (app.return_value, saved_sessions.did, len(app.screen_stack)) == (None, [], 1)


# -- sessions


async def test_enter_opens_a_session() -> None:
    app = picker()
    async with picking(app, *FIRST, "enter"):
        pass
    assert app.return_value == ROWS[0].entry


async def test_a_session_that_cannot_be_opened_says_why_to_every_key() -> None:
    for key in ("enter", "space", "i", "r", "e"):
        app = picker()
        async with picking(app, "end", key) as text:
            assert "not a session: ␛[31mline 1" in "\n".join(text.splitlines()[-4:-1])
            assert len(app.screen_stack) == 1
        assert app.return_value is None


async def test_a_key_sorts_by_its_column_and_once_more_the_other_way() -> None:
    async with picking(picker(), "6") as text:
        assert text.index("after fix") < text.index("abc1234") < text.index("long")
        assert "6 best/s↓" in text
    async with picking(picker(), "6", "6") as text:
        assert text.index("abc1234") < text.index("after fix") < text.index("long")  # what is not known stays last


async def test_sorting_keeps_the_highlight_on_its_session() -> None:
    app = picker()
    async with picking(app, *FIRST, "1", "enter"):
        pass
    assert app.return_value == ROWS[0].entry


async def test_levels_open_and_close_again() -> None:
    app = picker()
    async with picking(app, *FIRST, "i") as text:
        assert isinstance(app.screen, SessionLevels)
        assert "26.0" in text and "–" in text
    app = picker()
    async with picking(app, *FIRST, "i", "escape"):
        assert len(app.screen_stack) == 1


async def test_renaming_asks_for_a_title_and_shows_it() -> None:
    app = picker()
    async with picking(app, *FIRST, "down", "r"):
        assert isinstance(app.screen, Ask)
    saved_sessions = FakeSessions()
    async with picking(picker(saved_sessions), *FIRST, "down", "r", *"new", "enter") as text:
        assert saved_sessions.did == [("rename", "s2", "new")]
        assert "new   " in text and "abc1234   " not in text


async def test_deleting_asks_first() -> None:
    saved_sessions = FakeSessions()
    app = picker(saved_sessions)
    async with picking(app, *FIRST, "d") as text:
        assert isinstance(app.screen, Confirm)
        assert "s3" in text and "2 KiB will be deleted permanently" in text
    async with picking(picker(saved_sessions), *FIRST, "d", "n"):
        assert saved_sessions.did == []
    async with picking(picker(saved_sessions), *FIRST, "d", "y") as text:
        assert saved_sessions.did == [("delete", "s3")]
        assert "after fix" not in text


async def test_one_that_is_being_recorded_is_not_deleted_and_says_why() -> None:
    saved_sessions = FakeSessions((row("now", complete=False, recording=True),))
    async with picking(picker(saved_sessions), *FIRST, "d") as text:
        assert "not deleted: the session is being recorded" in text
        assert "rec" in text
        assert saved_sessions.did == []


async def test_a_refused_action_is_reported_and_the_list_stays() -> None:
    async with picking(picker(FakeSessions(refusal="the disk is full")), *FIRST, "d", "y") as text:
        assert "the disk is full" in "\n".join(text.splitlines()[-4:-1])
        assert "after fix" in text


async def test_marked_sessions_are_compared_in_the_order_of_their_marks() -> None:
    async with picking(picker(), *FIRST, "down", "space", "up", "space") as text:
        assert [line[1] for line in text.splitlines()[:-4] if "after fix" in line or "abc1234" in line] == ["B", "A"]
    saved_sessions = FakeSessions()
    app = picker(saved_sessions)
    async with picking(app, *FIRST, "down", "space", "up", "space", "c"):
        assert saved_sessions.did == [("compare", "s2", "s3")]
        assert isinstance(app.screen, CompareScreen)
    app = picker()
    async with picking(app, *FIRST, "down", "space", "up", "space", "c", "q"):
        assert len(app.screen_stack) == 1


async def test_one_mark_is_compared_with_the_session_here_and_a_second_press_takes_a_mark_away() -> None:
    saved_sessions = FakeSessions()
    async with picking(picker(saved_sessions), *FIRST, "space", "down", "space", "space", "c"):
        assert saved_sessions.did == [("compare", "s3", "s2")]


async def test_what_cannot_be_compared_says_how_to() -> None:
    async with picking(picker(), "c") as text:
        assert "mark two with space, then press c" in text
    async with picking(picker(), *FIRST, "c") as text:
        assert "mark two or more with space, then press c" in text


async def test_exporting_asks_for_the_format_and_says_where_it_went() -> None:
    app = picker()
    async with picking(app, *FIRST, "e"):
        assert isinstance(app.screen, Choose)
    saved_sessions = FakeSessions()
    async with picking(picker(saved_sessions), *FIRST, "e", "down", "enter") as text:
        assert saved_sessions.did == [("export", "s3", "html")]
        assert "written: /somewhere/s3.html" in text
    async with picking(picker(FakeSessions(refusal="exists already")), *FIRST, "e", "enter") as text:
        assert "exists already" in text


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_lines_fit_the_screen(size: tuple[int, int]) -> None:
    rows = [row(f"s{index}", "a title that is longer than its column is wide", best_goodput_rps=123_456.0) for index in range(60)]
    async with picking(picker(FakeSessions(rows)), *FIRST, size=size) as text:
        lines = text.splitlines()
        assert "7 end" in next(line for line in lines if "1 began" in line)
        assert all(len(line) <= size[0] for line in lines)
        assert lines[-1].strip().endswith("? help  q quit")
        assert "a title that is longer than its column is wide" in lines[-4]
        assert "123k" in text


# -- what the columns have no room for


async def test_the_verdict_of_the_session_and_its_whole_title_stand_below_the_list() -> None:
    async with picking(picker(), *FIRST) as text:
        below = text.splitlines()[-4:-1]
        assert "after fix" in below[0]
        assert "s3" in below[0]
        assert "2 marks" in below[0]
        assert "Knee at 49 users [44–59] and 134/s" in below[1]


async def test_the_whole_title_of_a_profile_is_shown_below_the_list() -> None:
    long = ProfileEntry(name="long", title="a title of fifty characters or more, which is long", path="profiles/long.toml")
    async with picking(PickerApp((long,), FakeSessions(), default="long")) as text:
        assert "…" in text.splitlines()[3]
        assert long.title in text.splitlines()[-4]
        assert "profiles/long.toml" in text.splitlines()[-3]


async def test_tab_goes_to_the_other_list_and_back() -> None:
    app = picker()
    async with picking(app, "tab", "enter"):
        pass
    assert app.return_value == ROWS[0].entry
    app = picker()
    async with picking(app, "tab", "tab", "enter"):
        pass
    assert app.return_value == PROFILES[0]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_help_has_the_keys_of_the_picker(size: tuple[int, int]) -> None:
    app = picker()
    async with picking(app, "?", size=size) as text:
        assert isinstance(app.screen, Help)
        assert "give the session a title" in text
        assert "users start" not in text
    app = picker()
    async with picking(app, "?", "q", "enter"):
        pass
    assert app.return_value == PROFILES[1]


# -- thousands


async def test_of_thousands_the_first_are_lines_and_the_others_come_near_the_end() -> None:
    app = picker(FakeSessions([row(f"s{index:04d}", f"title {index:04d}") for index in range(1_000)]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        entries = app.screen.query_one(Entries)
        assert entries.option_count < 300
        await pilot.press("tab", *["pagedown"] * 12)
        assert 300 < entries.option_count < 600
        await pilot.press("end")
        assert entries.option_count > 1_000
        assert entries.row is not None and entries.row.entry.id == "s0999"
        await pilot.press("2")
        assert entries.row is not None and entries.row.entry.id == "s0999", "the highlight stays at its session"


async def test_a_running_session_is_attached_to() -> None:
    async with picking(picker(FakeSessions([row("s9", recording=True, complete=False)])), *FIRST) as text:
        assert "Enter attaches" in text
