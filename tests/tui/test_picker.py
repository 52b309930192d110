"""The picker: what its keys choose, show and do to saved sessions, and what it refuses; its filter, order, columns and help."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import Struct

from capexplorer.tui.dialogs import Ask, Choose, Confirm
from capexplorer.tui.picker_app import PickerApp
from capexplorer.tui.screens.compare import CompareScreen
from capexplorer.tui.screens.help import Help
from capexplorer.tui.screens.picker import Entries, Picker
from capexplorer.tui.screens.sessions import ProfileEntry, SessionLevels, SessionRow

from .fake_sessions import ROWS, FakeSessions, row
from .picker_stage import PROFILES, after_keys, choice_after, message_lines, picker
from .stage import NARROW, WIDE, typed

SAMPLES = tuple(ProfileEntry(name=name, title=f"the sample {name}", sample=True) for name in ("kv", "mixed", "ports"))
OWN = tuple(ProfileEntry(name=f"shop-{number:02d}", title=f"shop {number}") for number in range(1, 13))
TO_NEWEST = "down down "
"""Keys that move the highlight from the default profile to the newest session."""
MARK_S2_THEN_S3 = f"{TO_NEWEST}down space up space"


CHOICES = {
    "enter": PROFILES[1],
    f"{TO_NEWEST} enter": ROWS[0].entry,
    "tab enter": ROWS[0].entry,
    "tab tab enter": PROFILES[0],
    "q": None,
    "ctrl+c": None,
    "/ 'hel enter enter": PROFILES[0],
    f"{TO_NEWEST} 1 enter": ROWS[0].entry,
    "? q enter": PROFILES[1],
}
"""What the picker returns after these keys; sorting keeps the highlight on its session, and q closes the help alone."""


@pytest.mark.parametrize(("keys", "choice"), CHOICES.items(), ids=CHOICES)
async def test_keys_choose_a_profile_a_session_or_nothing(keys: str, choice: object) -> None:
    assert await choice_after(picker(), *typed(keys)) == choice


class Case(Struct, frozen=True):
    """Keys, and what they lead to."""

    keys: str = ""
    shows: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    """Texts in the lines below the list."""
    did: tuple[tuple[str, ...], ...] = ()
    """Operations on saved sessions."""
    screen: type = Picker
    rows: Sequence[SessionRow] = ROWS
    refusal: str | None = None
    profiles: Sequence[ProfileEntry] = PROFILES
    default: str = "mixed"
    size: tuple[int, int] = NARROW


NOW = (row("now", complete=False, recording=True),)
MANY = [row(f"s{index}", "a kv session", complete=False) for index in range(60)]
LONG = ProfileEntry(name="long", title="a title of fifty characters or more, which is long", path="profiles/long.toml")
UNREADABLE = "not a session: ␛[31mline 1"
FOR_SESSIONS = "this key is for saved sessions: Tab goes to them"
CASES = {
    "keys of a profile": Case(size=WIDE, shows=("Enter runs  Tab sessions  / filter  ? help  q quit",), hides=("c compare",)),
    "keys of a session": Case("tab", size=WIDE, shows=("space mark  c compare  e export  i levels  r rename  d delete",)),
    "keys of a profile after a mark": Case("tab space tab", size=WIDE, shows=("/ filter  c compare  ? help",)),
    "an invalid profile": Case("down enter", below=("unknown key `user`",)),
    "a session that is being recorded": Case(TO_NEWEST, rows=NOW, shows=("Enter attaches",)),
    "no markup and no escape sequence": Case(
        shows=("One [bold]line[/]", "Mixed CPU and I/O", "01-03 08:30", "01:01", "after fix", "abc1234", "141", "␛[31m")
    ),
    "nothing to list": Case(rows=(), profiles=(), shows=("no profiles found", "Saved sessions  ~/sessions", "replay sample`")),
    "sessions of this folder's profiles": Case(
        "tab",
        rows=(*ROWS[:2], row("s1", "own", of_own_profile=True)),
        shows=("Saved sessions, this folder's first  ~/sessions",),
        below=("own",),
    ),
    "a session in full": Case(TO_NEWEST, below=("after fix", "s3", "2 marks", "Knee at 49 users [44–59] and 134/s")),
    "a profile in full": Case(profiles=(LONG,), default="long", shows=("…",), below=(LONG.title, "profiles/long.toml")),
    "samples are folded": Case(profiles=SAMPLES, shows=("▸ 2 more samples",), hides=("the sample kv",)),
    "samples are shown": Case(
        "down enter", profiles=(*OWN[:1], *SAMPLES), default="shop-01", shows=("▾ 3 samples", "the sample kv", "Enter hides")
    ),
    "samples are folded again": Case(
        "down enter enter", profiles=(*OWN[:1], *SAMPLES), default="shop-01", shows=("▸ 3 samples", "Enter shows"),
        hides=("the sample kv",),
    ),
    "many own profiles": Case(
        profiles=(*OWN, *SAMPLES), default="shop-12", shows=("▸ 3 more of this folder and 3 samples", "shop 12", "after fix")
    ),
    "the filter searches folded profiles": Case(
        "/ 'kv enter", rows=MANY, profiles=(*OWN, *SAMPLES), shows=("the sample kv",), hides=("▸",)
    ),
    "the filter hides others": Case("/ 'hel enter", shows=("nothing matches",), hides=("Mixed",)),
    "escape removes the filter": Case("/ 'kv-go enter escape", shows=("after fix",)),
    "keys typed into the filter": Case(f"{TO_NEWEST} / 'decq1", shows=("nothing matches",)),
    "the help": Case("?", screen=Help, shows=("give the session a title",), hides=("users start",)),
    "the help, wide": Case("?", screen=Help, size=WIDE, shows=("give the session a title",), hides=("users start",)),
    "a refused operation": Case(f"{TO_NEWEST} d y", refusal="disk is full", shows=("after fix",), below=("disk is full",)),
    "the levels of a session": Case(f"{TO_NEWEST} i", did=(("levels", "s3"),), screen=SessionLevels, shows=("26.0", "–")),
    "back from the levels": Case(f"{TO_NEWEST} i escape", did=(("levels", "s3"),)),
    "a title": Case(f"{TO_NEWEST} down r", screen=Ask),
    "a new title": Case(
        f"{TO_NEWEST} down r n e w enter", did=(("rename", "s2", "new"),), shows=("new   ",), hides=("abc1234   ",)
    ),
    "delete asks": Case(f"{TO_NEWEST} d", screen=Confirm, shows=("s3", "2 KiB will be deleted permanently")),
    "delete, no": Case(f"{TO_NEWEST} d n"),
    "delete, yes": Case(f"{TO_NEWEST} d y", did=(("delete", "s3"),), hides=("after fix",)),
    "delete, being recorded": Case(
        f"{TO_NEWEST} d", rows=NOW, shows=("rec",), below=("not deleted: the session is being recorded",)
    ),
    "compare": Case(f"{MARK_S2_THEN_S3} c", did=(("compare", "s2", "s3"),), screen=CompareScreen),
    "back from the comparison": Case(f"{MARK_S2_THEN_S3} c q", did=(("compare", "s2", "s3"),)),
    "compare, one mark": Case(f"{TO_NEWEST} space down space space c", did=(("compare", "s3", "s2"),), screen=CompareScreen),
    "compare a profile": Case("c", below=("mark two with space, then press c",)),
    "compare, no mark": Case(f"{TO_NEWEST} c", below=("mark two or more with space, then press c",), did=(("compare", "s3"),)),
    "export asks": Case(f"{TO_NEWEST} e", screen=Choose),
    "export": Case(f"{TO_NEWEST} e down enter", did=(("export", "s3", "html"),), below=("written: /somewhere/s3.html",)),
    "a refused export": Case(f"{TO_NEWEST} e enter", refusal="exists already", below=("exists already",)),
    **{f"{key} on a profile": Case(key, below=(FOR_SESSIONS,)) for key in ("space", "e", "i", "r")},
    **{f"{key} on what cannot be read": Case(f"end {key}", below=(UNREADABLE,)) for key in ("enter", "space", "i", "r", "e")},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_keys_show_and_do(case: Case) -> None:
    saved_sessions = FakeSessions(case.rows, case.refusal)
    app = PickerApp(case.profiles, saved_sessions, default=case.default)
    async with after_keys(app, *typed(case.keys), size=case.size) as text:
        assert [each for each in case.shows if each not in text] == []
        assert [each for each in case.hides if each in text] == []
        assert [each for each in case.below if each not in message_lines(text)] == []
        assert isinstance(app.screen, case.screen) and len(app.screen_stack) == 1 + (case.screen is not Picker)
    assert app.return_value is None
    assert case.refusal or tuple(saved_sessions.did) == case.did


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_lines_fit_the_screen_and_the_columns_stay_below_their_headings(size: tuple[int, int]) -> None:
    title = "a title that is longer than its column is wide"
    sessions = FakeSessions([row(f"s{index}", title, best_goodput_rps=123_456.0) for index in range(60)])
    async with after_keys(picker(sessions), *typed(TO_NEWEST), size=size) as text:
        lines = text.splitlines()
        assert [line for line in lines if len(line) > size[0]] == []
        assert "7 end" in next(line for line in lines if "1 UTC" in line), "the last column has no heading"
        assert "123k" in text
        assert lines[-1].strip().endswith("? help  q quit")
        assert title in message_lines(text), "the whole title is not shown below the list"


async def test_filtered_rows_are_one_line_each_below_their_heading() -> None:
    async with after_keys(picker(FakeSessions(MANY), (*OWN, *SAMPLES)), *typed("/ 'kv enter")) as text:
        lines = text.splitlines()
        heading = next(number for number, line in enumerate(lines) if "1 UTC" in line)
        assert "7 end" in lines[heading]
        assert all("a kv session" in line and "cut" in line for line in lines[heading + 1 : heading + 4])


async def test_the_number_of_a_column_sorts_by_it_and_a_second_press_reverses_the_order() -> None:
    async with after_keys(picker(), "6") as text:
        assert text.index("after fix") < text.index("abc1234") < text.index("long")
        assert "6 best/s↓" in text
    async with after_keys(picker(), "6", "6") as text:
        assert text.index("abc1234") < text.index("after fix") < text.index("long"), "unknown values are not last"


async def test_marked_sessions_have_letters_in_the_order_of_marking() -> None:
    async with after_keys(picker(), *typed(MARK_S2_THEN_S3)) as text:
        lines_of_list = text.splitlines()[:-4]
        letters = [(title, line[1]) for line in lines_of_list for title in ("after fix", "abc1234") if title in line]
        assert letters == [("after fix", "B"), ("abc1234", "A")]


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
        sort_by_title = "2"
        for key in ("", sort_by_title):
            await pilot.press(*key)
            assert entries.row is not None and entries.row.entry.id == "s0999", "the highlight left its session"
