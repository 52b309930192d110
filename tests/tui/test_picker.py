"""The picker: profiles to run, sessions to look at, and a friendly word where there are none."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from capexplorer.errors import SessionError
from capexplorer.model.stream import SessionEntry
from capexplorer.tui.screens.picker import LevelRow, PickerApp, ProfileEntry, Summary

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


PROFILES = (
    ProfileEntry(name="hello", title="One [bold]line[/]", target="hello"),
    ProfileEntry(name="mixed", title="Mixed CPU and I/O", target="mixed"),
    ProfileEntry(name="broken", problem="broken.toml: unknown key `user`"),
)
SESSIONS = (
    SessionEntry(
        id="s2",
        path=Path("s2.jsonl"),
        size_bytes=9,
        started_at="2026-01-02T12:00:00+01:00",
        profile="mixed",
        duration_s=125.0,
        levels=4,
        complete=True,
        label="abc1234",
    ),
    SessionEntry(id="s1", path=Path("s1.jsonl"), size_bytes=9, problem="not a session: \x1b[31mline 1"),
)
ROWS = (LevelRow(index=0, users=10, goodput_rps=26.0), LevelRow(index=1, users=50))


def summary(entry: SessionEntry) -> Sequence[LevelRow]:
    return ROWS


def unreadable(entry: SessionEntry) -> Sequence[LevelRow]:
    raise SessionError("s2.jsonl: schema 9 is newer than this version")


def screen_text(app: PickerApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@contextlib.asynccontextmanager
async def picking(app: PickerApp, *keys: str, size: tuple[int, int] = (80, 24)) -> AsyncIterator[str]:
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        yield screen_text(app)


async def test_enter_runs_the_default_profile() -> None:
    app = PickerApp(PROFILES, SESSIONS, summary)
    async with picking(app, "enter"):
        pass
    assert app.return_value == PROFILES[1]


async def test_profiles_and_sessions_are_listed_as_text() -> None:
    async with picking(PickerApp(PROFILES, SESSIONS, summary)) as text:
        for said in ("One [bold]line[/]", "Mixed CPU and I/O", "2026-01-02 12:00", "2 min 5 s", "4 levels", "abc1234", "␛[31m"):
            assert said in text


async def test_a_profile_that_cannot_run_says_why() -> None:
    app = PickerApp(PROFILES, SESSIONS, summary)
    async with picking(app, "down", "enter") as text:
        assert "unknown key `user`" in text
    assert app.return_value is None


async def test_filtering_leaves_what_matches() -> None:
    app = PickerApp(PROFILES, SESSIONS, summary)
    async with picking(app, "/", *"hel", "enter") as text:
        assert "Mixed" not in text
        assert "nothing matches" in text
    app = PickerApp(PROFILES, SESSIONS, summary)
    async with picking(app, "/", *"hel", "enter", "enter"):
        pass
    assert app.return_value == PROFILES[0]


async def test_a_session_opens_its_level_table_and_closes_again() -> None:
    app = PickerApp(PROFILES, SESSIONS, summary)
    async with picking(app, "down", "down", "enter") as text:
        assert isinstance(app.screen, Summary)
        assert "26.0" in text and "–" in text


async def test_a_session_that_cannot_be_read_says_why() -> None:
    async with picking(PickerApp(PROFILES, SESSIONS, unreadable), "down", "down", "enter") as text:
        assert "schema 9 is newer" in text


async def test_nothing_to_show_is_said_kindly() -> None:
    async with picking(PickerApp((), (), summary)) as text:
        assert "no profiles here" in text
        assert "none yet" in text


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_leaving_picks_nothing(key: str) -> None:
    app = PickerApp(PROFILES, SESSIONS, summary)
    async with picking(app, key):
        pass
    assert app.return_value is None
