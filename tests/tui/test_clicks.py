"""With the mouse enabled: a click on the key bar, on a tab or on a row of a list does what a key does. And the help's search."""

from __future__ import annotations

from textual.widgets import Static

from capexplorer.model.controls import StepTo
from capexplorer.model.load import Users
from capexplorer.tui.keybar import clickable
from capexplorer.tui.screens.detail_screens import EndpointScreen, EndpointsScreen, ListOverlay
from capexplorer.tui.screens.explorer import ExplorerScreen
from capexplorer.tui.screens.help import Help

from .session_events import session
from .stage import NARROW, Stage, hides, on, shows, tell
from .waiting import until


def pressed_at(line: str) -> dict[str, str]:
    """The key that a click on each part of a line of keys presses; parts without one are left out."""
    keys = [(span.style.meta["key"], line[span.start : span.end]) for span in clickable(line).spans]  # type: ignore[union-attr]
    return {part: key for key, part in keys}


def test_a_click_on_a_key_or_on_its_words_presses_it_and_pairs_of_keys_have_one_each() -> None:
    assert pressed_at(" +/- load  [ ] step  g go  ←→ 10 s  Enter opens  : commands  1-7 sort  ? help  q quit") == {
        "+": "plus",
        "-": "minus",
        "[": "left_square_bracket",
        "]": "right_square_bracket",
        "g go": "g",
        "←": "left",
        "→": "right",
        "Enter opens": "enter",
        ": commands": "colon",
        "? help": "question_mark",
        "q quit": "q",
    }


async def test_a_click_on_the_key_bar_presses_the_key() -> None:
    stage = Stage(session(), wanted=10)
    async with stage.run(NARROW) as pilot:
        bar = stage.screen_text().splitlines()[-1]
        await pilot.click(offset=(bar.index("+/-"), NARROW[1] - 1))
        await until(pilot, lambda: stage.controls.calls == [StepTo(Users(11))], "one user more")
        await pilot.click(offset=(bar.index("+/-") + 2, NARROW[1] - 1))
        await until(pilot, lambda: stage.controls.calls[1:] == [StepTo(Users(10))], "one user less")
        await pilot.click(offset=(bar.index("? help") + 3, NARROW[1] - 1))
        await until(pilot, lambda: isinstance(stage.app.screen, Help), "the help")


async def test_a_click_on_a_tab_shows_its_pane() -> None:
    stage = Stage(session())
    async with stage.run(NARROW) as pilot:
        y, tabs = next((y, line) for y, line in enumerate(stage.screen_text().splitlines()) if "8 log" in line)
        await pilot.click(offset=(tabs.index("log"), y))
        await until(pilot, lambda: stage.shown() == ["log"], "the log")


async def test_a_click_chooses_a_row_of_a_list_and_a_second_one_opens_it() -> None:
    stage = Stage(session())
    async with stage.run(NARROW) as pilot:
        await pilot.press("E")
        await until(pilot, lambda: isinstance(stage.app.screen, EndpointsScreen) and "GET" in stage.screen_text(), "the list")
        screen = stage.app.screen
        assert isinstance(screen, ListOverlay)
        rows = [y for y, line in enumerate(stage.screen_text().splitlines()) if "GET" in line or "POST" in line]
        last = rows[-1]
        await pilot.click(offset=(5, last))
        await until(pilot, lambda: screen.table.chosen == len(rows) - 1, "the clicked row")
        await pilot.click(offset=(5, last))
        await until(pilot, lambda: isinstance(stage.app.screen, EndpointScreen), "its charts")


async def test_the_help_shows_only_the_lines_that_contain_a_typed_text_until_escape() -> None:
    def height(stage: Stage) -> int:
        return stage.app.screen.query_one(".lines", Static).size.height

    heights: list[int] = []

    def remember(stage: Stage) -> bool:
        heights.append(height(stage))
        return True

    await tell(
        Stage(session()),
        ("?", shows("take the next step"), remember),
        ("/ 'HEATMAP", hides("take the next step"), shows("as a heatmap")),
        ("enter escape", lambda stage: height(stage) == heights[0]),
        ("escape", on(ExplorerScreen)),
    )
