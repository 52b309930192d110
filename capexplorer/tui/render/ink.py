"""Styles and mixed colours, each made once."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from textual.color import Color


@lru_cache(1024)
def style(color: str, bold: bool = False) -> Style:
    """A foreground."""
    return Style(color=color, bold=bold or None)


@lru_cache(1024)
def blend(color: str, other: str, share: float) -> str:
    """`share` of the way from one colour to the other."""
    return Color.parse(color).blend(Color.parse(other), share).hex6


@lru_cache(1024)
def faded(given: Style, background: str) -> Style:
    """Half of the way to the background: seconds that are set aside."""
    return style(blend(given.color.name, background, 0.5)) if given.color else given
