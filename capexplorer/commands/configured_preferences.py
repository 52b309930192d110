"""The user's preferences, read before a command does anything else: a mistake in the configuration file is one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import configuration

if TYPE_CHECKING:
    from ..tui.preferences import Preferences


def use_units(own: configuration.Configuration) -> None:
    """Use the configured units in all that this process writes."""
    default = configuration.Configuration()
    if (own.byte_units, own.latency_units) == (default.byte_units, default.latency_units):
        return  # a start without a choice imports no sentences for it
    from ..wording import units

    units.choose(units.Units(own.byte_units, own.latency_units))


def check_keys(own: configuration.Configuration) -> None:
    """Raises InputError: an action or a key that no screen has, which also commands without a screen refuse."""
    if own.keys:
        from ..tui.preferences import rebound  # imports no Textual

        rebound(own.keys, str(configuration.path()))


def own_preferences() -> Preferences:
    """The preferences in the configuration file. Raises InputError: the file, the key, what was expected."""
    from ..tui.preferences import preferences_of

    return preferences_of(configuration.load(), str(configuration.path()))
