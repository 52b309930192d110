"""docs/keys.md: the keys of all screens, from the table of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from capexplorer.tui.keys import KEYS, Key
from capexplorer.tui.preferences import RESERVED
from lab.kit.tables import table

HEAD = """\
# Keys

`?` shows the keys of a screen, and its bottom line the most important ones.

The column "name" is for keys of your own: `[keys]` of the [configuration file](configuration.md) gives an action one key or a
list, in place of those below: `autopilot = "f8"`. A key is one character or a name: `ctrl+k`, `alt+k`, `f5`, `left`, `space`. A
key that another action of the same screen has is refused; two actions may swap keys. An action without a name keeps its keys, as
do {reserved}.
"""

SECTIONS: dict[str, tuple[str, Callable[[Key], bool]]] = {
    "The live screen": ("", lambda key: "live" in key.screens and "replay" not in key.screens),
    "A replay": ("", lambda key: "replay" in key.screens and "live" not in key.screens),
    "The live screen and a replay": ("", lambda key: {"live", "replay"} <= set(key.screens)),
    "While there is an inspection cursor": (
        "`i` begins the inspection of a live screen or a replay. Keys that are not in this table work as above.\n\n",
        lambda key: "inspect" in key.screens,
    ),
    "The picker": ("`capexplorer` without a command. `P` and `?` work as above.\n\n", lambda key: "picker" in key.screens),
}


def page() -> str:
    """The whole page: a key that does the same in several sections stands in the first one."""
    rows: dict[tuple[str, str, str], str] = {}
    for title, (_, belongs) in SECTIONS.items():
        for key in KEYS:
            if key.shown and belongs(key):
                rows.setdefault(_cells(key), title)
    sections = (
        f"## {title}\n\n{text}{table(('key', 'does', 'name'), [cells for cells, first in rows.items() if first == title])}\n"
        for title, (text, _) in SECTIONS.items()
    )
    return "\n".join([HEAD.format(reserved=code(sorted(RESERVED))), *sections])


def _cells(key: Key) -> tuple[str, str, str]:
    return code(key.shown.split()), key.help, f"`{key.name}`" if key.can_be_rebound else ""


def code(words: Iterable[str]) -> str:
    """Each word as code, separated by blanks."""
    return " ".join(f"`{word}`" for word in words)
