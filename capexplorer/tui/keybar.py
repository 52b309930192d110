"""Makes Textual's bindings, the key bar at the bottom of a screen, and the rows for help and README from the table of keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding

from .key import Key, ScreenName
from .keys import KEYS, keys_of

BETWEEN = "  "
"""Space between two keys of the bar."""


def bindings(screen: ScreenName) -> list[Binding]:
    """The bindings of one screen, hidden from Textual's own footer, which is not used."""
    return [
        Binding(pressed, key.action.format(index=index), key.help, show=False, id=_id(key, screen))
        for key in keys_of(screen)
        for index, pressed in enumerate(filter(None, key.keys.split(",")))
    ]


def perform_bindings(*screens: ScreenName) -> list[Binding]:
    """The bindings of a screen on which the rows of one of `screens` apply at a time: each key performs the action of its row."""
    return [
        Binding(each.key, f"perform({screen!r}, {each.action!r})", each.description, show=False, id=each.id)
        for screen in screens
        for each in bindings(screen)
    ]


def _id(key: Key, screen: ScreenName) -> str | None:
    """The id by which a keymap assigns other keys (`rebinding.keymap`); None if they cannot be changed."""
    return f"{screen}.{key.name}" if key.can_be_rebound else None


def key_bar(screen: ScreenName, width: int, table: Sequence[Key] = KEYS, /, **words: str) -> str:
    """The keys that matter most in at most `width` cells, in the order of the table. `words` fill names such as `{play}`."""
    kept = [key for key in keys_of(screen, table) if key.bar]
    while len(line := BETWEEN.join(key.bar.format(**words) for key in kept)) > width:
        last = max(reversed(kept), key=lambda key: key.priority)
        if last.priority == 0:
            break
        kept.remove(last)
    return line


def rows(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[tuple[str, str]]:
    """(keys, what they do) of one screen, one row for each action."""
    return [(key.shown, key.help) for key in keys_of(screen, table) if key.shown]


def palette_keys(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[Key]:
    """The rows whose action the command palette can perform."""
    return [key for key in keys_of(screen, table) if key.action and "{" not in key.action and key.shown]


def markdown(screen: ScreenName) -> str:
    """The README's table of one screen."""
    lines = [f"| {' '.join(f'`{name}`' for name in shown.split())} | {does} |" for shown, does in rows(screen)]
    return "\n".join(["| key | does |", "| --- | --- |", *lines])
