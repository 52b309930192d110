"""Makes every picture in the docs: `python docs/pictures.py SESSION FOLDER [AT_S]` draws the live screen at a session's last
second or at a moment, `... SESSION FOLDER NAME AT_S [KEY...]` one picture at a moment, after some keys.

The screen is the real one, fed with the events of a real, saved session.
"""

from __future__ import annotations

import asyncio
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from capexplorer.model.events import Event, Sample
from capexplorer.session.reader import read
from capexplorer.tui.actions.watching import Watch
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.live_feed import LiveFeed

SIZES = {"wide": (120, 40), "narrow": (80, 24)}
THEMES = {"dark": "capexplorer-dark", "light": "capexplorer-light"}

FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
"""Textual names web fonts; a picture in a repository must fetch nothing."""


class Saved:
    """An EventSource that has everything at once."""

    def __init__(self, path: Path, at_s: float = math.inf) -> None:
        events = [event for event in read(path) if event.t_s <= at_s]
        last = max(index for index, event in enumerate(events) if isinstance(event, Sample) and event.users)
        self._events: Sequence[Event] = events[: last + 1]

    def start(self, wake: Callable[[], None]) -> None:
        """All is there."""
        wake()

    def take(self) -> Sequence[Event]:
        """All of it, once."""
        taken, self._events = self._events, ()
        return taken

    def close(self) -> None:
        """Nothing to end."""


async def picture(session: Path, size: tuple[int, int], theme: str, at_s: float = math.inf, keys: Sequence[str] = ()) -> str:
    """One SVG."""
    app = ExplorerApp(LiveFeed(Saved(session, at_s)), Watch())
    async with app.run_test(size=size) as pilot:
        app.theme = theme
        await pilot.pause(0.5)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.2)
        return FONT_FACE.sub("", app.export_screenshot(title="capexplorer"))


def main() -> None:
    session, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 4:
        name, at_s, *keys = sys.argv[3:]
        drawn = picture(session, SIZES["wide"], THEMES["dark"], float(at_s), keys)
        (folder / f"{name}.svg").write_text(asyncio.run(drawn), encoding="utf-8")
        return
    at_s = float(sys.argv[3]) if len(sys.argv) > 3 else math.inf
    for size_name, size in SIZES.items():
        for theme_name, theme in THEMES.items():
            path = folder / f"live-{size_name}-{theme_name}.svg"
            path.write_text(asyncio.run(picture(session, size, theme, at_s)), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
