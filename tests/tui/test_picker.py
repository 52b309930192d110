"""The picker's list of profiles and sessions: which entry Enter opens, filter, sorting, columns, help."""

from __future__ import annotations

import pytest

from capexplorer.tui.picker_app import PickerApp
from capexplorer.tui.screens.help import Help
from capexplorer.tui.screens.picker import Entries
from capexplorer.tui.screens.sessions import ProfileEntry

from .fake_sessions import ROWS, FakeSessions, row
from .picker_stage import PROFILES, TO_NEWEST_SESSION, after_keys, choice_after, message_lines, picker
from .stage import NARROW, WIDE

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# -- which entry is chosen


async def test_a_profile_shows_only_the_keys_that_apply_to_it() -> None:
    async with after_keys(picker(), size=(120, 40)) as text:
        assert text.splitlines()[-1].strip().split("  ") == ["Enter runs", "Tab sessions", "/ filter", "? help", "q quit"]
    async with after_keys(picker(), "tab", size=(120, 40)) as text:
        assert "space mark  c compare  e export  i levels  r rename  d delete" in text.splitlines()[-1]
    async with after_keys(picker(), "tab", "space", "tab", size=(120, 40)) as text:
        assert "/ filter  c compare  ? help" in text.splitlines()[-1]


@pytest.mark.parametrize("key", ["space", "e", "i", "r"])
async def test_a_key_for_sessions_says_so_on_a_profile(key: str) -> None:
    app = picker()
    async with after_keys(app, key) as text:
        assert "this key is for saved sessions: Tab goes to them" in text
    assert app.return_value is None


async def test_enter_runs_the_default_profile() -> None:
    assert await choice_after(picker(), "enter") == PROFILES[1]


async def test_enter_on_a_session_opens_it() -> None:
    assert await choice_after(picker(), *TO_NEWEST_SESSION, "enter") == ROWS[0].entry


async def test_tab_moves_to_the_sessions_and_a_second_tab_back_to_the_profiles() -> None:
    assert await choice_after(picker(), "tab", "enter") == ROWS[0].entry
    assert await choice_after(picker(), "tab", "tab", "enter") == PROFILES[0]


async def test_enter_on_an_invalid_profile_shows_its_problem_and_chooses_nothing() -> None:
    app = picker()
    async with after_keys(app, "down", "enter") as text:
        assert "unknown key `user`" in text
    assert app.return_value is None


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quitting_chooses_nothing(key: str) -> None:
    assert await choice_after(picker(), key) is None


async def test_enter_on_a_session_that_is_being_recorded_attaches_to_its_run() -> None:
    running = FakeSessions([row("s9", recording=True, complete=False)])
    async with after_keys(picker(running), *TO_NEWEST_SESSION) as text:
        assert "Enter attaches" in text


# -- what the list shows


async def test_profiles_and_sessions_are_listed_without_markup_or_escape_sequences() -> None:
    async with after_keys(picker()) as text:
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


async def test_without_profiles_and_sessions_the_list_says_that_there_are_none() -> None:
    async with after_keys(picker(FakeSessions(()), ())) as text:
        assert "no profiles found" in text
        assert "none yet" in text


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_lines_fit_the_screen_and_the_columns_stay_below_their_headings(size: tuple[int, int]) -> None:
    title = "a title that is longer than its column is wide"
    sessions = FakeSessions([row(f"s{index}", title, best_goodput_rps=123_456.0) for index in range(60)])
    async with after_keys(picker(sessions), *TO_NEWEST_SESSION, size=size) as text:
        lines = text.splitlines()
        assert [line for line in lines if len(line) > size[0]] == []
        assert "7 end" in next(line for line in lines if "1 began" in line), "the last column has no heading"
        assert "123k" in text
        assert lines[-1].strip().endswith("? help  q quit")
        assert title in message_lines(text), "the whole title is not shown below the list"


async def test_below_the_list_is_the_whole_title_of_a_session_with_its_verdict() -> None:
    async with after_keys(picker(), *TO_NEWEST_SESSION) as text:
        first, second, _ = message_lines(text).splitlines()
        assert "after fix" in first
        assert "s3" in first
        assert "2 marks" in first
        assert "Knee at 49 users [44–59] and 134/s" in second


async def test_below_the_list_is_the_whole_title_of_a_profile_with_its_path() -> None:
    long = ProfileEntry(name="long", title="a title of fifty characters or more, which is long", path="profiles/long.toml")
    async with after_keys(PickerApp((long,), FakeSessions(), default="long")) as text:
        assert "…" in text.splitlines()[3], "the title is not shortened in the list"
        first, second, _ = message_lines(text).splitlines()
        assert long.title in first
        assert "profiles/long.toml" in second


# -- profiles of the folder, and samples

SAMPLES = tuple(ProfileEntry(name=name, title=f"the sample {name}", sample=True) for name in ("kv", "mixed", "ports"))
OWN = tuple(ProfileEntry(name=f"shop-{number:02d}", title=f"shop {number}") for number in range(1, 13))


async def test_without_own_profiles_the_default_sample_is_listed_and_the_others_are_folded() -> None:
    async with after_keys(picker(profiles=SAMPLES)) as text:
        assert "▸ 2 more samples" in text
        assert "the sample kv" not in text
    assert await choice_after(picker(profiles=SAMPLES), "enter") == SAMPLES[1]


async def test_enter_shows_the_samples_and_hides_them_again() -> None:
    profiles = (*OWN[:1], *SAMPLES)
    app = PickerApp(profiles, FakeSessions(), default=OWN[0].name)
    async with after_keys(app, "down", "enter") as text:
        assert "▾ 3 samples" in text
        assert "the sample kv" in text
        assert "Enter hides" in text
    async with after_keys(PickerApp(profiles, FakeSessions(), default=OWN[0].name), "down", "enter", "enter") as text:
        assert "▸ 3 samples" in text
        assert "the sample kv" not in text
        assert "Enter shows" in text


async def test_with_many_own_profiles_saved_sessions_are_still_visible() -> None:
    async with after_keys(PickerApp((*OWN, *SAMPLES), FakeSessions(), default=OWN[-1].name), size=NARROW) as text:
        assert "▸ 3 more of this folder and 3 samples" in text
        assert OWN[-1].title in text, "the selected profile is not listed"
        assert "after fix" in text


async def test_the_filter_searches_folded_profiles_too_and_keeps_each_row_in_one_line() -> None:
    sessions = FakeSessions([row(f"s{index}", "a kv session", complete=False) for index in range(60)])
    async with after_keys(picker(sessions, (*OWN, *SAMPLES)), "/", *"kv", "enter", size=NARROW) as text:
        assert "the sample kv" in text
        assert "▸" not in text
        lines = text.splitlines()
        heading = next(number for number, line in enumerate(lines) if "1 began" in line)
        assert "7 end" in lines[heading]
        assert all("a kv session" in line and "cut" in line for line in lines[heading + 1 : heading + 4])


# -- filter


async def test_the_filter_hides_profiles_and_sessions_that_do_not_contain_its_text() -> None:
    async with after_keys(picker(), "/", *"hel", "enter") as text:
        assert "Mixed" not in text
        assert "nothing matches" in text, "sessions without the text are shown"
    assert await choice_after(picker(), "/", *"hel", "enter", "enter") == PROFILES[0]


async def test_escape_removes_the_filter() -> None:
    async with after_keys(picker(), "/", *"kv-go", "enter", "escape") as text:
        assert "after fix" in text


async def test_keys_typed_into_the_filter_have_no_other_effect() -> None:
    saved_sessions = FakeSessions()
    app = picker(saved_sessions)
    async with after_keys(app, *TO_NEWEST_SESSION, "/", *"decq1") as text:
        assert "nothing matches" in text
        assert app.return_value is None
        assert saved_sessions.did == []
        assert len(app.screen_stack) == 1, "a dialog has opened"


# -- sorting


async def test_the_number_of_a_column_sorts_by_it_and_a_second_press_reverses_the_order() -> None:
    async with after_keys(picker(), "6") as text:
        assert text.index("after fix") < text.index("abc1234") < text.index("long")
        assert "6 best/s↓" in text
    async with after_keys(picker(), "6", "6") as text:
        assert text.index("abc1234") < text.index("after fix") < text.index("long"), "unknown values are not last"


async def test_sorting_keeps_the_highlight_on_its_session() -> None:
    assert await choice_after(picker(), *TO_NEWEST_SESSION, "1", "enter") == ROWS[0].entry


# -- help


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_help_lists_the_keys_of_the_picker_and_of_no_other_screen(size: tuple[int, int]) -> None:
    app = picker()
    async with after_keys(app, "?", size=size) as text:
        assert isinstance(app.screen, Help)
        assert "give the session a title" in text
        assert "users start" not in text


async def test_q_closes_the_help_and_not_the_picker() -> None:
    assert await choice_after(picker(), "?", "q", "enter") == PROFILES[1]


# -- thousands of sessions


async def test_of_a_thousand_sessions_the_list_has_the_first_until_the_highlight_comes_near_their_end() -> None:
    app = picker(FakeSessions([row(f"s{index:04d}", f"title {index:04d}") for index in range(1_000)]))
    async with app.run_test(size=NARROW) as pilot:
        await pilot.pause()
        entries = app.screen.query_one(Entries)
        assert entries.option_count < 300
        await pilot.press("tab", *["pagedown"] * 12)
        assert 300 < entries.option_count < 600
        await pilot.press("end")
        assert entries.option_count > 1_000
        assert entries.row is not None
        assert entries.row.entry.id == "s0999"
        sort_by_title = "2"
        await pilot.press(sort_by_title)
        assert entries.row is not None
        assert entries.row.entry.id == "s0999", "the highlight left its session"
