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
from capexplorer.tui.screens.explorer import ExplorerScreen
from capexplorer.tui.screens.view_options import sequences

from .session_events import header, session
from .stage import NARROW, WIDE, Stage, on, says, shows, tell

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
    await tell(live(), ("e " + "down " * downs + "enter", shows("exported"), on(ExplorerScreen)))
    assert sorted(path.name for path in folder.iterdir()) == made


async def test_a_live_session_is_exported_up_to_the_present_second(folder: Path) -> None:
    await tell(live(), ("e down down down enter", shows("exported")))
    assert '"complete": false' in (folder / f"{ID}.json").read_text()


async def test_overwriting_a_file_takes_a_second_enter(folder: Path) -> None:
    file = folder / f"{ID}.md"
    file.write_text("mine")
    await tell(
        live(),
        ("e enter", shows("exists already; Enter again overwrites it"), lambda stage: file.read_text() == "mine"),
        ("enter", lambda stage: file.read_text().startswith("# Capacity")),
    )


async def test_a_path_that_cannot_be_written_is_reported_and_the_form_stays_open(folder: Path) -> None:
    await tell(live(), ("e home 'no/ enter", shows("there is no folder no"), on(ExportForm)), ("escape", on(ExplorerScreen)))
    assert list(folder.iterdir()) == []


async def test_a_typed_path_keeps_its_name_and_follows_the_format(folder: Path) -> None:
    await tell(live(), ("e home x down enter", shows("exported")))
    assert [path.name for path in folder.iterdir()] == [f"x{ID}.html"]


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_form_fits(size: tuple[int, int]) -> None:
    parts = "▸ md", "hgrm    a folder: one percentile distribution per level", f"{ID}.md", "Enter: write"
    await tell(live(), ("e", shows(*parts)), size=size)


async def test_keys_before_the_first_event_are_answered() -> None:
    await tell(Stage(), *((key, says("nothing has been recorded yet")) for key in "ey"))


async def test_copying_reports_the_size_of_the_copy_of_a_live_and_of_a_saved_session(folder: Path) -> None:
    for stage in (live(), Stage(session(), actions=lambda controls: ViewOnlyActions())):
        await tell(stage, ("y", lambda stage: re.search(r"copied [\d.]+ KiB \(", stage.screen_text())))
    await tell(Stage(session(), actions=lambda controls: ViewOnlyActions()), ("e enter", shows("exported")))
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
