"""capexplorer's themes, and the palette that panes draw with, which is made from the present theme."""

from __future__ import annotations

import os
from typing import Any

from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import Theme

from ..configuration import Markers
from .display_options import Palette

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
