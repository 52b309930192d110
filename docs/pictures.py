"""Makes every picture in the docs: `python docs/pictures.py SESSION FOLDER` draws the live screen at a session's last second.

The screen is the real one, fed with the events of a real, saved session.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from capexplorer.model.events import Event, Sample
from capexplorer.session.reader import read
from capexplorer.tui.app import ExplorerApp

SIZES = {"wide": (120, 40), "narrow": (80, 24)}
THEMES = {"dark": "capexplorer-dark", "light": "capexplorer-light"}

FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
"""Textual names web fonts; a picture in a repository must fetch nothing."""


class Saved:
    """An EventSource that has everything at once."""

    def __init__(self, path: Path) -> None:
        events = list(read(path))
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


async def picture(session: Path, size: tuple[int, int], theme: str) -> str:
    """One SVG."""
    app = ExplorerApp(Saved(session))
    async with app.run_test(size=size) as pilot:
        app.theme = theme
        await pilot.pause(0.5)
        return FONT_FACE.sub("", app.export_screenshot(title="capexplorer"))


def main() -> None:
    session, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for size_name, size in SIZES.items():
        for theme_name, theme in THEMES.items():
            path = folder / f"live-{size_name}-{theme_name}.svg"
            path.write_text(asyncio.run(picture(session, size, theme)), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
