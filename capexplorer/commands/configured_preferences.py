"""The user's preferences for a screen, read before it takes the terminal: a mistake in the configuration file is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import configuration

if TYPE_CHECKING:
    from ..tui.preferences import Preferences


def own_preferences() -> Preferences:
    """The preferences in the configuration file. Raises InputError: the file, the key, what was expected."""
    from ..tui.preferences import preferences_of

    return preferences_of(configuration.load(), str(configuration.path()))
