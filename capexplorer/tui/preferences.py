"""The user's preferences for every screen, from the configuration file: theme, keys, the charts' time window and characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import configuration
from ..configuration import Configuration, Markers
from .keys import KEYS, Key
from .rebinding import rebound


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences; their defaults apply without a configuration file."""

    theme: str | None = None
    """Name of the theme; None: one that the terminal's colours can show."""
    window_s: float | None = 300.0
    """Time window of the charts at the start; None: all."""
    markers: Markers | None = None
    keys: Sequence[Key] = KEYS
    keep_theme: Callable[[str], None] = lambda name: None
    """Called when another theme is chosen on the screen. May raise InputError."""


def preferences_of(found: Configuration, where: str) -> Preferences:
    """The preferences of the configuration file `where`. Raises InputError for an unknown action, and for a key in use."""
    return Preferences(
        theme=found.theme,
        window_s=None if found.window_s == "all" else float(found.window_s),
        markers=found.markers,
        keys=rebound(found.keys, where),
        keep_theme=configuration.keep_theme,
    )
