"""The user's preferences for every screen, from the configuration file: theme, keys, the charts' time window and characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import msgspec
from msgspec.structs import replace

from .. import configuration
from ..configuration import Configuration, Markers
from ..errors import InputError
from ..toml import nearest, shown
from .keys import KEYS, NAMED, Key, ScreenName, name_of, printed

# -- rebinding -----------------------------------------------------------------------------------------------------------------
# The table of keys with the user's own keys for some actions. A key of another action is refused in one line. Pure.


RESERVED = frozenset("ctrl+c ctrl+q ctrl+z ctrl+p enter pageup pagedown home end".split())
"""Keys with the same meaning on every screen, and those that scroll panes."""

_KEY = re.compile(r"(?P<modifier>(?:ctrl|alt|shift)\+)?(?P<base>[a-z0-9]+)", re.IGNORECASE)
_LABEL = re.compile(r"(?:[^\w\s{]+ )+|\S+ ")
"""The keys at the beginning of a text in the key bar."""


def rebound(wanted: Mapping[str, str | Sequence[str]], where: str) -> tuple[Key, ...]:
    """The table of keys with those of the user. `where` names the file. Raises InputError for an unknown action or key, and for
    a key of another action on the same screen.
    """
    known = {key.name for key in KEYS if key.can_be_rebound}
    given: dict[str, tuple[str, ...]] = {}
    for name, keys in wanted.items():
        if name not in known:
            raise InputError(f"{where}: unknown key `keys.{name}`; {nearest(name, known)}")
        given[name] = tuple(_read(key, f"{where}: keys.{name}") for key in ([keys] if isinstance(keys, str) else keys))
    table = tuple(_with_keys(key, given[key.name]) if key.name in given else key for key in KEYS)
    for screen in get_args(ScreenName):
        _refuse_conflicts([key for key in table if screen in key.screens], given, screen, where)
    return table


def keymap(table: Sequence[Key], screen: ScreenName) -> dict[str, str]:
    """Textual's keymap: keys by binding id, for rows whose keys differ from the default table."""
    default = {(key.name, screens): key.keys for key in KEYS for screens in key.screens}
    return {f"{screen}.{key.name}": key.keys for key in table if screen in key.screens and key.keys != default[key.name, screen]}


def _read(key: str, where: str) -> str:
    """Textual's name of a key that is given as one character or as a name such as ctrl+k, f5, left, space."""
    if len(key) == 1 and key.isprintable() and key != " ":
        return name_of(key)
    found = _KEY.fullmatch(key)
    is_known = found is not None and (
        found["base"].lower() in NAMED
        or (found["modifier"] is not None and not found["modifier"].lower().startswith("shift") and len(found["base"]) == 1)
    )
    if key.lower() in RESERVED:
        raise InputError(f"{where}: expected another key: {key.lower()} has the same meaning on all screens")
    if not is_known:
        raise InputError(f"{where}: expected one character, or a name such as ctrl+k, f5, left or space, got {shown(key)}")
    return key.lower()


def _with_keys(key: Key, keys: Sequence[str]) -> Key:
    """The row with these keys, also in its printed form and in the text of the key bar. Printed keys beyond those of
    its `keys` work on all screens, and stay.
    """
    own = " ".join(map(printed, keys))
    on_all_screens = " ".join(key.shown.split(" ")[len(key.keys.split(",")) :])
    bar = f"{printed(keys[0])} {_LABEL.sub('', key.bar, count=1)}" if key.bar else ""
    return replace(key, keys=",".join(keys), written=f"{own} {on_all_screens}".strip(), bar=bar)


def _refuse_conflicts(keys: Sequence[Key], given: Mapping[str, object], screen: ScreenName, where: str) -> None:
    taken: dict[str, Key] = {}
    for key in keys:
        for each in filter(None, key.keys.split(",")):
            other = taken.setdefault(each, key)
            if other is not key:
                mine, theirs = (key, other) if key.name in given else (other, key)
                expected = f"expected a free key: `{printed(each)}` is the key of `{theirs.name}` on the {screen} screen"
                raise InputError(f"{where}: keys.{mine.name}: {expected}")


class Preferences(msgspec.Struct, frozen=True):
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
