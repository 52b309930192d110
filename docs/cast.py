"""Makes docs/recordings/sample.cast: `python docs/cast.py` (`make pictures`). The live screen during a sample session, one screen
every EVERY_S, as terminal output that players such as asciinema show: `asciinema play docs/recordings/sample.cast`.

The format is asciicast, version 2: a line of JSON with the size, then one line for each screen: [time, "o", output].
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

from capexplorer.model.events import Event
from capexplorer.session.reader import read
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.feed import LiveFeed

DOCS = Path(__file__).parent
SESSION = DOCS.parent / "sessions" / "sample.jsonl"
CAST = DOCS / "recordings" / "sample.cast"

SIZE = (80, 24)

Cell = tuple[str, Style]
Screen = Sequence[Sequence[Cell]]
"""Lines of characters, each with its style. The screens of the sample have no character that is two columns wide."""

EVERY_S = 2
"""Seconds of the session from one screen to the next; with a screen for each second the file would have twice the bytes."""

SCREEN_S = 0.5
"""Seconds for which a screen is shown."""
LAST_S = 4.0
"""Seconds for which the last screen is shown."""


class Played:
    """An EventSource that delivers the events of a session up to a given time."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events, self._wake, self._until_s = list(events), lambda: None, 0.0

    def start(self, wake: Callable[[], None]) -> None:
        """Keep `wake`, which is called when there are new events."""
        self._wake = wake

    def play(self, until_s: float) -> None:
        """Make the events up to `until_s`, in seconds of the session, available."""
        self._until_s = until_s
        self._wake()

    def take(self) -> Sequence[Event]:
        """The available events that were not taken before."""
        count = sum(event.t_s <= self._until_s for event in self._events)
        taken, self._events = self._events[:count], self._events[count:]
        return taken

    def close(self) -> None:
        """There is nothing to close."""


async def screens(events: Sequence[Event], size: tuple[int, int]) -> list[Screen]:
    """The screen every EVERY_S of a session and at its end."""
    source = Played(events)
    app = ExplorerApp(LiveFeed(source), ViewOnlyActions())
    seen: list[Screen] = []
    async with app.run_test(size=size) as pilot:
        for until_s in (*range(EVERY_S, math.ceil(events[-1].t_s), EVERY_S), math.inf):
            source.play(until_s)
            await pilot.pause(0.02)
            seen.append([_cells(strip) for strip in _strips(app)])
    return seen


def _cells(strip: Strip) -> list[Cell]:
    return [(character, segment.style or Style.null()) for segment in strip for character in segment.text]


def _strips(app: ExplorerApp) -> list[Strip]:
    return app.screen._compositor.render_strips()  # as Textual's own export of a picture does


def cast(seen: Sequence[Screen], size: tuple[int, int], title: str) -> Iterator[str]:
    """The lines of the file. Each screen writes only the cells that changed, which takes a quarter of the bytes of whole
    lines."""
    yield json.dumps({"version": 2, "width": size[0], "height": size[1], "title": title})
    before: Screen = [[("", Style.null())] * size[0]] * size[1]
    for number, screen in enumerate(seen):
        changed = (_changed(row, *lines) for row, lines in enumerate(zip(screen, before, strict=True), 1))
        start = "\x1b[?25l\x1b[2J" if number == 0 else ""
        yield json.dumps([round(number * SCREEN_S, 2), "o", start + "".join(changed)], ensure_ascii=False)
        before = screen
    yield json.dumps([round(len(seen) * SCREEN_S + LAST_S, 2), "o", "\x1b[0m\x1b[?25h"])


def _changed(row: int, line: Sequence[Cell], old: Sequence[Cell]) -> str:
    """Terminal output that writes the changed cells of a line, in 256 colours."""
    column, output = 1, ""
    for is_new, run in groupby(zip(line, old, strict=True), lambda pair: pair[0] != pair[1]):
        cells = [cell for cell, _ in run]
        if is_new:
            output += f"\x1b[{row};{column}H" + _written(cells)
        column += len(cells)
    return output


def _written(cells: Sequence[Cell]) -> str:
    """Terminal output of neighbouring cells; cells of one style are written together."""
    runs = groupby(cells, lambda cell: cell[1])
    return "".join(style.render("".join(cell[0] for cell in run), color_system=ColorSystem.EIGHT_BIT) for style, run in runs)


if __name__ == "__main__":
    events = tuple(read(SESSION))
    CAST.parent.mkdir(exist_ok=True)
    lines = cast(asyncio.run(screens(events, SIZE)), SIZE, "capexplorer: mixed, to its knee")
    CAST.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
