"""The user's habits for a screen, read before it takes the terminal: a mistake in the configuration file is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import configuration

if TYPE_CHECKING:
    from ..tui.habits import Habits


def own_habits() -> Habits:
    """Raises InputError: the file, the key, what was expected."""
    from ..tui.habits import habits_of

    return habits_of(configuration.load(), str(configuration.path()))
