"""Makes docs/configuration.md: `python docs/configuration.py`. Keys come from `capexplorer/configuration.py`, names of actions
from the table of keys, examples from docs/configuration.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from msgspec import inspect as shape

from capexplorer.configuration import Configuration
from capexplorer.tui.key import ScreenName
from capexplorer.tui.keys import KEYS
from capexplorer.tui.rebinding import RESERVED
from docs.profiles import COLUMNS, Table, row

DOCS = Path(__file__).parent

HEAD = """\
# The configuration file

Made by `python docs/configuration.py` from the model (`capexplorer/configuration.py`), the table of keys and
`docs/configuration.toml`; a test fails if the page differs from them.

The file has preferences that do not affect what a session measures. It is `~/.config/capexplorer/config.toml`
(`$XDG_CONFIG_HOME` is respected; on macOS `~/Library/Application Support/capexplorer/config.toml`), or the file that `--config
FILE` or the environment variable `CAPEXPLORER_CONFIG` names. Every key may be left out. A mistake is refused in one line with the
file, the key and what was expected, and exit code 2. A theme that you choose on the screen (`Ctrl+P`, "choose the colours") is
written to this file, which is otherwise not changed.
"""

KEYS_HEAD = """\
## Keys

`[keys]` gives an action, by its name, one key or a list of keys. They replace its default keys, on each screen that has
the action. A key is one character, or a name: `ctrl+k`, `alt+k`, `f5`, `left`, `space`, `tab`, `insert`, `delete`. A key that
another action of the same screen has is refused; two actions may swap their keys. The key bar and the help (`?`) show the new
keys. Digits cannot be rebound, nor can these keys of all screens: {reserved}.
"""


def page(examples: Mapping[str, Any]) -> str:
    """The whole page."""
    found = shape.type_info(Configuration)
    assert isinstance(found, shape.StructType)
    table = Table("", Configuration, found.fields)
    rows = "\n".join(row(table, field, examples) for field in found.fields)
    reserved = ", ".join(f"`{key}`" for key in sorted(RESERVED))
    return "\n".join([HEAD, COLUMNS, rows, "", KEYS_HEAD.format(reserved=reserved), key_table(), ""])


def key_table() -> str:
    """The Markdown table of all actions with their keys, by screen."""
    lines = ["| name | screen | keys | what it does |", "| --- | --- | --- | --- |"]
    for screen in get_args(ScreenName):
        for key in KEYS:
            if screen in key.screens and key.can_be_rebound and key.shown:
                shown = " ".join(f"`{each}`" for each in key.shown.split())
                lines.append(f"| `{key.name}` | {screen} | {shown} | {key.help} |")
    return "\n".join(lines)


def examples() -> Mapping[str, Any]:
    """The examples, which are written by hand."""
    return tomllib.loads((DOCS / "configuration.toml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    (DOCS / "configuration.md").write_text(page(examples()), encoding="utf-8")
