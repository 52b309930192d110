"""The picker with fake profiles and fake saved sessions, keys that are pressed on it, and the text of its screen."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from capexplorer.tui.picker_app import PickerApp
from capexplorer.tui.screens.sessions import ProfileEntry

from .fake_sessions import FakeSessions
from .stage import NARROW

PROFILES = (
    ProfileEntry(name="hello", title="One [bold]line[/]", target="hello"),
    ProfileEntry(name="mixed", title="Mixed CPU and I/O", target="mixed"),
    ProfileEntry(name="broken", problem="broken.toml: unknown key `user`"),
)
"""At the start the second is highlighted, the default profile."""


def picker(saved_sessions: FakeSessions | None = None, profiles: Sequence[ProfileEntry] = PROFILES) -> PickerApp:
    return PickerApp(profiles, saved_sessions or FakeSessions(), default="mixed")


@contextlib.asynccontextmanager
async def after_keys(app: PickerApp, *keys: str, size: tuple[int, int] = NARROW) -> AsyncIterator[str]:
    """The text of the screen after these keys were pressed and everything that they started has ended."""
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await app.workers.wait_for_complete()
        await pilot.pause()
        yield "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def choice_after(app: PickerApp, *keys: str) -> object:
    """What the picker returns, a profile or a session, if these keys end it; else None."""
    async with after_keys(app, *keys):
        pass
    return app.return_value


def message_lines(text: str) -> str:
    """The lines between the list and the key bar, with the details of the highlighted entry or a message."""
    return "\n".join(text.splitlines()[-4:-1])
