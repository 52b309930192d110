"""`e` exports a report of the session so far to a file, `y` copies it to the terminal's clipboard; load continues."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from capexplorer.model.events import Ended
from capexplorer.model.timeline import Timeline
from capexplorer.report.formats import markdown
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.dialogs import ExportForm
from capexplorer.tui.screens.view_options import sequences

from .session_events import header, session
from .stage import NARROW, WIDE, Stage

ID = header().id


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the app."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def live() -> Stage:
    return Stage([event for event in session() if not isinstance(event, Ended)])


@pytest.mark.parametrize(
    ("downs", "made"),
    [(0, [f"{ID}-capacity.svg", f"{ID}.md"]), (1, [f"{ID}.html"]), (2, [f"{ID}-csv"]), (3, [f"{ID}.json"]), (4, [f"{ID}-hgrm"])],
)
async def test_arrows_choose_a_format_and_enter_writes_it(downs: int, made: list[str], folder: Path) -> None:
    stage = live()
    async with stage.run() as pilot:
        await pilot.press("e", *["down"] * downs, "enter")
        await pilot.pause()
        assert sorted(path.name for path in folder.iterdir()) == made
        assert not isinstance(stage.app.screen, ExportForm)
        assert "exported" in stage.screen_text()


async def test_a_live_session_is_exported_up_to_the_present_second(folder: Path) -> None:
    stage = live()
    async with stage.run() as pilot:
        await pilot.press("e", "down", "down", "down", "enter")
        await pilot.pause()
    assert '"complete": false' in (folder / f"{ID}.json").read_text()


async def test_overwriting_a_file_takes_a_second_enter(folder: Path) -> None:
    stage = live()
    (folder / f"{ID}.md").write_text("mine")
    async with stage.run() as pilot:
        await pilot.press("e", "enter")
        assert "exists already; Enter again overwrites it" in stage.screen_text()
        assert (folder / f"{ID}.md").read_text() == "mine"
        await pilot.press("enter")
        await pilot.pause()
    assert (folder / f"{ID}.md").read_text().startswith("# Capacity")


async def test_a_path_that_cannot_be_written_is_reported_and_the_form_stays_open(folder: Path) -> None:
    stage = live()
    async with stage.run() as pilot:
        await pilot.press("e", "home", *"no/", "enter")
        assert "there is no folder no" in stage.screen_text()
        assert isinstance(stage.app.screen, ExportForm)
        await pilot.press("escape")
        assert not isinstance(stage.app.screen, ExportForm)
    assert list(folder.iterdir()) == []


async def test_a_typed_path_keeps_its_name_and_follows_the_format(folder: Path) -> None:
    stage = live()
    async with stage.run() as pilot:
        await pilot.press("e", "home", "x", "down", "enter")
        await pilot.pause()
    assert [path.name for path in folder.iterdir()] == [f"x{ID}.html"]


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_form_fits(size: tuple[int, int]) -> None:
    stage = live()
    async with stage.run(size) as pilot:
        await pilot.press("e")
        text = stage.screen_text()
        for part in ("▸ md", "hgrm  a folder: one percentile distribution per level", f"{ID}.md", "Enter: write"):
            assert part in text


async def test_keys_before_the_first_event_are_answered() -> None:
    stage = Stage()
    async with stage.run() as pilot:
        for key in ("e", "y"):
            await pilot.press(key)
            assert "nothing has been recorded yet" in stage.screen_text()


async def test_copying_reports_the_size_of_the_copy() -> None:
    stage = live()
    async with stage.run() as pilot:
        await pilot.press("y")
        assert re.search(r"copied [\d.]+ KiB \(", stage.screen_text())


async def test_a_saved_session_is_exported_and_copied_too(folder: Path) -> None:
    stage = Stage(session(), actions=lambda controls: ViewOnlyActions())
    async with stage.run() as pilot:
        await pilot.press("e", "enter", "y")
        await pilot.pause()
        assert "copied" in stage.screen_text()
    assert (folder / f"{ID}.md").exists()


# -- the clipboard's sequences


TEXT = markdown.render(Timeline(session())).decode()


def decoded(sequence: str) -> str:
    found = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sequence)
    assert found is not None
    return base64.b64decode(found[1]).decode()


def test_a_terminal_gets_one_sequence() -> None:
    assert decoded(sequences(TEXT, {"TERM": "xterm-256color"})) == TEXT


@pytest.mark.parametrize("environment", [{"TMUX": "/tmp/x,1,0", "TERM": "screen"}, {"TERM": "tmux-256color"}])
def test_tmux_gets_it_plain_and_in_its_envelope(environment: dict[str, str]) -> None:
    plain, envelope = sequences(TEXT, environment).split("\x1bPtmux;")
    assert decoded(plain) == TEXT == decoded(envelope.removesuffix("\x1b\\").replace("\x1b\x1b", "\x1b"))


def test_screen_gets_envelopes_that_it_accepts() -> None:
    parts = sequences(TEXT, {"STY": "1.x", "TERM": "screen"}).split("\x1b\\")
    assert all(part.startswith("\x1bP") and len(part) < 768 for part in parts[:-1]) and parts[-1] == ""
    assert decoded("".join(part.removeprefix("\x1bP") for part in parts)) == TEXT
