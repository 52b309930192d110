"""What a key is: one row of the table of keys (`keys`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScreenName = Literal["live", "replay", "inspect", "picker"]
"""`inspect`: a live or replayed session while it has an inspection cursor; the keys of that screen work beside these."""

LIVE: tuple[ScreenName, ...] = ("live",)
REPLAY: tuple[ScreenName, ...] = ("replay",)
CHARTS: tuple[ScreenName, ...] = ("live", "replay")
INSPECT: tuple[ScreenName, ...] = ("inspect",)
PICKER: tuple[ScreenName, ...] = ("picker",)


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be done on some screens."""

    keys: str
    """As Textual names them, comma separated; empty where Textual binds them itself."""
    action: str
    """`{index}` stands for the place of the key that was pressed among `keys`."""
    shown: str
    """The keys as they are printed on a keyboard, separated by spaces."""
    bar: str
    """Text in the key bar; empty: the key is not shown there."""
    priority: int
    """Keys with the highest number leave the key bar first where it is narrow; those with 0 stay."""
    help: str
    """What the key does, as an imperative: "go to the next pane"."""
    screens: tuple[ScreenName, ...]
    named: str = ""
    """Its name in a configuration file; empty: its action's, which needs one of its own where it has arguments."""

    @property
    def name(self) -> str:
        """By which a configuration file gives it other keys."""
        return self.named or self.action.partition("(")[0].removeprefix("app.")

    @property
    def can_be_rebound(self) -> bool:
        """Whether a configuration file may: not keys that stand for numbers, or that Textual itself binds."""
        return bool(self.keys) and "{index}" not in self.action
