"""Styles and blends of colours. Results are cached, since charts need the same ones for each line they draw."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from textual.color import Color


@lru_cache(1024)
def style(color: str, bold: bool = False) -> Style:
    """The style with this foreground colour (`#rrggbb`)."""
    return Style(color=color, bold=bold or None)


@lru_cache(1024)
def blend(color: str, other: str, share: float) -> str:
    """A mixture of two colours, of which `share` (0 to 1) is the other."""
    return Color.parse(color).blend(Color.parse(other), share).hex6


@lru_cache(1024)
def faded(given: Style, background: str) -> Style:
    """The style with its colour half mixed with the background: for seconds that are not settled."""
    return style(blend(given.color.name, background, 0.5)) if given.color else given
