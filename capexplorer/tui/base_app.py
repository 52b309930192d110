"""Base of capexplorer's applications: the user's terminal, two keys that work on every screen, and exit at a signal.

Must not know screens or events.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.color import Color, ColorParseError
from textual.driver import Driver
from textual.theme import Theme

from ..configuration import Markers
from ..errors import InputError
from .display_options import Palette
from .preferences import Preferences
from .terminal import Terminal

# -- themes --------------------------------------------------------------------------------------------------------------------
# capexplorer's themes, and the palette that panes draw with, which is made from the present theme.


DARK = Theme(
    name="capexplorer-dark",
    primary="#5fb3e6",
    secondary="#7fc784",
    accent="#f0a860",
    foreground="#d5d9de",
    background="#14171a",
    surface="#1c2024",
    panel="#262b30",
    success="#7fc784",
    warning="#f2c94c",
    error="#f26d6d",
    dark=True,
)

LIGHT = Theme(
    name="capexplorer-light",
    primary="#0b66a8",
    secondary="#2c7a34",
    accent="#a85400",
    foreground="#22272b",
    background="#fbfbf9",
    surface="#f0f0ec",
    panel="#e3e4df",
    success="#2c7a34",
    warning="#8f6400",
    error="#b92525",
    dark=False,
)

SIXTEEN = Theme(
    name="capexplorer-16-colours",
    primary="#33ffff",
    secondary="#22ff22",
    accent="#ff33ff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#0000aa",
    success="#22ff22",
    warning="#ffff22",
    error="#ff3333",
    dark=True,
)
"""A theme for terminals with 16 colours. Each of its colours, and its dimmed form for settling seconds, has a distinct
nearest one there; those of the other themes become white or grey."""

OURS = (DARK, LIGHT, SIXTEEN)

WITHOUT_BRAILLE = "linux"
"""TERM of the Linux console, whose fonts have block characters but no braille."""


def dress(app: App[Any], chosen: str | None = None) -> None:
    """Register all themes, and set the chosen one, or else one that this terminal's colours can show."""
    for theme in OURS:
        app.register_theme(theme)
    app.theme = chosen or (SIXTEEN if app.console.color_system == "standard" else DARK).name


def palette_of(theme: Theme, markers: Markers | None = None, *, colours: bool = True) -> Palette:
    """The palette of a theme; colours that a theme leaves to the terminal are replaced by those of capexplorer's. `markers`: the
    user's choice; None: characters that this terminal's font has. `colours`: whether the screen has any.
    """
    ours = DARK if theme.dark else LIGHT
    background, text = (_color(theme, ours, name) for name in ("background", "foreground"))
    names = ("primary", "secondary", "accent", "success", "warning", "error")
    return Palette(
        background=background.hex6,
        text=text.hex6,
        muted=background.blend(text, 0.55).hex6,
        faint=background.blend(text, 0.25).hex6,
        markers=markers or ("blocks" if os.environ.get("TERM") == WITHOUT_BRAILLE else "braille"),
        colours=colours,
        **{name: _color(theme, ours, name).hex6 for name in names},
    )


def _color(theme: Theme, ours: Theme, name: str) -> Color:
    try:
        color = Color.parse(theme.to_color_system().generate()[name])
    except (KeyError, ColorParseError):
        color = Color.parse("ansi_default")
    return color if color.ansi is None else Color.parse(str(getattr(ours, name)))


Result = TypeVar("Result")


class SignalledApp(App[Result]):
    """An app that a signal handler or another thread can end, even while it waits for keys."""

    TITLE = "capexplorer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q,ctrl+c", "leave", "Quit", show=False, priority=True, system=True),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, system=True),
    ]

    def __init__(self, *, terminal: Terminal | None = None, preferences: Preferences | None = None) -> None:
        super().__init__(driver_class=_driver_on(terminal))
        self.preferences = preferences or Preferences()
        dress(self, self.preferences.theme)
        self._ending_signal: str | None = None
        self._events_loop: asyncio.AbstractEventLoop | None = None
        self._events_context = contextvars.copy_context()

    def run_until_left(self, *, mouse: bool = False) -> Result | None:
        """Run the app; raises an exception of the screen instead of only printing it. Without `mouse` the terminal's own
        selection works.
        """
        result = self.run(mouse=mouse)
        if self._exception is not None:
            raise self._exception
        return result

    def on_load(self) -> None:
        """Accept calls from other threads, before anything is started that makes them."""
        self._events_loop = asyncio.get_running_loop()
        self._events_context = contextvars.copy_context()

    def on_mount(self) -> None:
        """End at once if a signal came before the event loop existed."""
        self._exit_if_asked()
        self.theme_changed_signal.subscribe(self, lambda theme: self._keep_theme(theme.name))

    def _keep_theme(self, name: str) -> None:
        """Save the theme for the next start. If the file cannot be written, a message names it."""
        try:
            self.preferences.keep_theme(name)
        except InputError as error:
            self.notify(str(error), severity="warning", markup=False)

    def _soon(self, call: Callable[[], object]) -> None:
        """Run `call` in the screen's thread; ignored before the app runs or after it ended.

        Unlike `call_later` it wakes a loop that waits for keys.
        """
        if self._events_loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._events_loop.call_soon_threadsafe(call, context=self._events_context)

    def action_picture(self) -> None:
        """Save the screen as it is, as an SVG file in the working folder."""
        from ..report.writing import write_file

        path = Path(f"capexplorer-{datetime.now():%Y%m%d-%H%M%S-%f}.svg")
        try:
            write_file(path, self.export_screenshot(title="capexplorer").encode(), force=False)
        except InputError as error:
            self.notify(str(error), severity="warning", markup=False)
        else:
            self.notify(f"saved {path}", markup=False)

    def action_leave(self) -> None:
        """Leave without a result."""
        self.exit()

    def request_exit(self, reason: str) -> None:
        """From a signal handler or any thread: end; `reason` is the signal's name."""
        self._ending_signal = self._ending_signal or reason
        self._soon(self._exit_if_asked)

    def _exit_if_asked(self) -> None:
        if self._ending_signal is not None:
            self.exit(self.ended_by(self._ending_signal))

    def ended_by(self, signal: str) -> Result | None:
        """The result of `run` after this signal."""
        return None


def _driver_on(terminal: Terminal | None) -> type[Driver] | None:
    """The driver that draws on our own terminal; None: Textual's own."""
    if terminal is None or sys.platform == "win32":
        return None
    from .terminal_driver import TerminalDriver

    return TerminalDriver.on(terminal)
