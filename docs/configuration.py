"""docs/configuration.md: the keys of the configuration file, from `capexplorer/configuration.py`, and docs/configuration.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import inspect as shape

from capexplorer.configuration import Configuration
from docs.profiles import COLUMNS, Table, row
from lab.kit.tables import table

DOCS = Path(__file__).parent

HEAD = """\
# The configuration file

Preferences that do not affect what a session measures: `~/.config/capexplorer/config.toml` (`$XDG_CONFIG_HOME` is respected; on
macOS `~/Library/Application Support`), or the file that `--config FILE` or `CAPEXPLORER_CONFIG` names.
Every key may be left out. [keys.md](keys.md) has the names of actions for `[keys]`.
"""


def page(examples: Mapping[str, Any]) -> str:
    """The whole page."""
    found = shape.type_info(Configuration)
    assert isinstance(found, shape.StructType)
    rows = [row(Table("", Configuration, found.fields), field, examples) for field in found.fields]
    return f"{HEAD}\n{table(COLUMNS, rows)}\n"


def examples() -> Mapping[str, Any]:
    """The examples, which are written by hand."""
    return tomllib.loads((DOCS / "configuration.toml").read_text(encoding="utf-8"))
