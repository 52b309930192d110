"""The type of one row of the table of keys (`keys`), and the names of keys."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

ScreenName = Literal["live", "replay", "inspect", "picker"]
"""`inspect`: a live or replayed session while it has an inspection cursor; the keys of that screen work too."""

LIVE: tuple[ScreenName, ...] = ("live",)
REPLAY: tuple[ScreenName, ...] = ("replay",)
CHARTS: tuple[ScreenName, ...] = ("live", "replay")
"""The screens with charts."""
INSPECT: tuple[ScreenName, ...] = ("inspect",)
PICKER: tuple[ScreenName, ...] = ("picker",)

REPLACED = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus", "plus_sign": "plus",
    "low_line": "underscore",
}  # fmt: skip
"""Names of characters for which Textual has shorter ones, as in its `KEY_NAME_REPLACEMENTS`: the table of keys is also read by
commands without a screen, which do not import Textual."""


def name_of(character: str) -> str:
    """Textual's name of the key that types a character: `plus`; a letter or a digit is its own name."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace(" ", "_").replace("-", "_")
    return REPLACED.get(name, name)


_PRINTED = {name_of(chr(code)): chr(code) for code in range(ord("!"), ord("~") + 1)}


def character_of(name: str) -> str:
    """The character of a key that `name_of` names; beyond ASCII its name where that does not lead back to it."""
    try:
        return _PRINTED.get(name) or unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return name


@dataclass(frozen=True, slots=True)
class Key:
    """One action with its keys, on some screens."""

    keys: str
    """The keys by Textual's names, separated by commas; empty if Textual binds them itself."""
    action: str
    """The action; `{index}` is replaced by the index of the pressed key in `keys`."""
    shown: str
    """The keys as they are printed on a keyboard, separated by spaces."""
    bar: str
    """Text in the key bar; empty: the key is not shown there."""
    priority: int
    """In a narrow key bar, keys with the highest number are left out first; those with 0 stay."""
    help: str
    """What the key does, as an imperative: "go to the next pane"."""
    screens: tuple[ScreenName, ...]
    named: str = ""
    """Its name in a configuration file; empty: the action's name. An action with arguments needs one."""

    @property
    def name(self) -> str:
        """The name by which a configuration file assigns other keys."""
        return self.named or self.action.partition("(")[0].removeprefix("app.")

    @property
    def can_be_rebound(self) -> bool:
        """Whether a configuration file may assign other keys: not for keys that are numbers, or that Textual binds itself."""
        return bool(self.keys) and "{index}" not in self.action
