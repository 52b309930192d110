"""Makes Textual's bindings, the key bar at the bottom of a screen, and the rows for help and docs/keys.md from the table of
keys."""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.widgets import Static

from .keys import KEYS, Key, ScreenName, keys_of, name_of

BETWEEN = "  "
"""Space between two keys of the bar."""

_KEYS_AND_WORDS = re.compile(r"\S+(?: \S+)*")
_KEY_NAMES = {"↑": "up", "↓": "down", "←": "left", "→": "right", "PgUp": "pageup", "PgDn": "pagedown", "Esc": "escape"}
_KEY_NAMES |= {name: name.lower() for name in ("Enter", "Tab", "Home", "End", "space")}
_PAIRED = frozenset("↑↓←→+-/")
"""Signs that stand side by side: `↑↓ level`, `+/- load`."""


Performs = Mapping[str, Callable[..., object]]
"""What a screen does, by the names in the table of keys. That of a row which is `numbered` gets the index of its key."""


def bindings(*screens: ScreenName) -> list[Binding]:
    """The bindings of a screen on which the rows of one of `screens` apply at a time: each key performs its row. They are hidden
    from Textual's own footer, which is not used.
    """
    return [
        Binding(pressed, _action(key, screen, index), key.help, show=False, id=_id(key, screen))
        for screen in screens
        for key in keys_of(screen)
        for index, pressed in enumerate(filter(None, key.keys.split(",")))
    ]


def _action(key: Key, screen: ScreenName, index: int) -> str:
    return f"perform({screen!r}, {key.name!r}{f', {index}' if key.numbered else ''})"


def performs(screens: Sequence[ScreenName], *parts: Performs) -> Performs:
    """What the keys of `screens` do, from the parts of a screen. Raises ValueError where they and the table of keys differ: a row
    that no part performs, or two do, or a part performs what is in no row.
    """
    names = Counter(name for part in parts for name in part)
    twice = {name for name, count in names.items() if count > 1}
    missing = {key.name for screen in screens for key in keys_of(screen) if key.name} - names.keys()
    wrong = twice | missing | names.keys() - {key.name for key in KEYS}
    if wrong:
        raise ValueError(f"the table of keys differs from what the screen performs: {', '.join(sorted(wrong))}")
    return ChainMap(*map(dict, parts))


LIKE_LESS: list[BindingType] = [
    Binding(pressed, f"app.simulate_key({same!r})", show=False)
    for pressed, same in (("j", "down"), ("k", "up"), ("g", "home"), ("G", "end"))
]
"""Bindings of lists and pages that are scrolled with the arrow keys, Home and End."""


def _id(key: Key, screen: ScreenName) -> str | None:
    """The id by which a keymap assigns other keys (`preferences.keymap`); None if they cannot be changed."""
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


class KeyLine(Static):
    """A line of keys that can be clicked. Its meta data are not Textual's `@click`, which would be drawn as a link."""

    def show_keys(self, line: str) -> None:
        """Show this line."""
        self.update(clickable(line))

    def on_click(self, event: Click) -> None:
        """Press the key that was clicked. Only with the mouse enabled."""
        key = event.style.meta.get("key")
        if key is not None:
            self.app.simulate_key(str(key))


def clickable(line: str) -> Text:
    """A line of keys on which a click presses the key: anywhere on `f failures`, on each sign of `↑↓ choose`."""
    text = Text(line, no_wrap=True)
    for part in _KEYS_AND_WORDS.finditer(line):
        found = list(_keys_at_the_start(part.group()))
        for at, end, key in found:
            span = part.span() if len(found) == 1 else (part.start() + at, part.start() + end)
            text.stylize(Style(meta={"key": key}), *span)
    return text


def _keys_at_the_start(part: str) -> Iterator[tuple[int, int, str]]:
    """(begin, end, Textual's name) of each key before the words of `part`."""
    for word in re.finditer(r"\S+", part):
        if word.group() in _KEY_NAMES:
            yield *word.span(), _KEY_NAMES[word.group()]
        elif len(word.group()) == 1 and (word.start() == 0 or not word.group().isalnum()):
            yield *word.span(), name_of(word.group())
        elif set(word.group()) <= _PAIRED:
            for at, sign in enumerate(word.group(), word.start()):
                if sign != "/":
                    yield at, at + 1, _KEY_NAMES.get(sign) or name_of(sign)
        else:
            return


def rows(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[tuple[str, str]]:
    """(keys, what they do) of one screen, one row for each action."""
    return [(key.shown, key.help) for key in keys_of(screen, table) if key.shown]


def palette_keys(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[Key]:
    """The rows that the command palette can perform, without the row of the palette itself."""
    return [key for key in keys_of(screen, table) if key.name not in ("", "commands") and key.shown and not key.numbered]
