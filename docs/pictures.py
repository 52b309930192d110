"""Makes pictures of the screen for the docs. `python docs/pictures.py SESSION FOLDER [AT_S]` draws the live screen in all
sizes and themes of LIVE at a session's last second, or at AT_S; `... SESSION FOLDER NAME AT_S [KEY...]` draws one picture at
AT_S, after keys.

The screen is that of the product, with the events of a saved session.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

from rich.color import Color, ColorSystem

from capexplorer.model.events import Event, Sample
from capexplorer.session.reader import read
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.feed import LiveFeed
from docs.smaller_svg import smaller

SIZES = {"wide": (120, 40), "narrow": (80, 24), "large": (200, 60)}
THEMES = {
    "dark": "capexplorer-dark",
    "light": "capexplorer-light",
    "16 colours": "capexplorer-16-colours",
    "no colours": "capexplorer-dark",
}
LIVE = tuple((size, theme) for size in ("wide", "narrow") for theme in ("dark", "light"))
"""Sizes and themes of the README's pictures; the tour has one picture of each other size and theme."""

COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")

FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
"""Textual refers to web fonts, which are removed: a picture in a repository must not fetch anything."""


class Saved:
    """An EventSource that delivers all events of a session at once, up to its last second with users or `at_s`."""

    def __init__(self, path: Path, at_s: float = math.inf) -> None:
        events = [event for event in read(path) if event.t_s <= at_s]
        last = max(index for index, event in enumerate(events) if isinstance(event, Sample) and event.users)
        self._events: Sequence[Event] = events[: last + 1]

    def start(self, wake: Callable[[], None]) -> None:
        """Call `wake` at once, since all events are available."""
        wake()

    def take(self) -> Sequence[Event]:
        """All events; nothing after the first call."""
        taken, self._events = self._events, ()
        return taken

    def close(self) -> None:
        """There is nothing to close."""


async def picture(session: Path, size: tuple[int, int], theme: str, at_s: float = math.inf, keys: Sequence[str] = ()) -> str:
    """One picture as SVG, in a theme of THEMES, at `at_s` and after `keys`."""
    with mock.patch.dict(os.environ, {"NO_COLOR": "1"} if theme == "no colours" else {}):
        app = ExplorerApp(LiveFeed(Saved(session, at_s)), ViewOnlyActions())
    async with app.run_test(size=size) as pilot:
        app.theme = THEMES[theme]
        await pilot.pause(0.5)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.2)
        drawn = smaller(FONT_FACE.sub("", app.export_screenshot(title="capexplorer")))
    return COLOUR.sub(_of_sixteen, drawn) if theme == "16 colours" else drawn


def _of_sixteen(found: re.Match[str]) -> str:
    """The nearest of a terminal's 16 colours, to which the screen's output is reduced there."""
    number = Color.parse(found[0]).downgrade(ColorSystem.STANDARD).number
    return found[0] if number is None else Color.from_ansi(number).get_truecolor().hex


def main() -> None:
    session, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 4:
        name, at_s, *keys = sys.argv[3:]
        drawn = picture(session, SIZES["wide"], "dark", float(at_s), keys)
        (folder / f"{name}.svg").write_text(asyncio.run(drawn), encoding="utf-8")
        return
    at_s = float(sys.argv[3]) if len(sys.argv) > 3 else math.inf
    for size, theme in LIVE:
        path = folder / f"live-{size}-{theme}.svg"
        path.write_text(asyncio.run(picture(session, SIZES[size], theme, at_s)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
