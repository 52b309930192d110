"""Names and texts of the product's source, by file: they show that something is used, and not only declared."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PRODUCT = Path(__file__).resolve().parents[2] / "capexplorer"


@dataclass(frozen=True)
class Words:
    """What stands in one or more files."""

    strings: frozenset[str]
    """String constants."""
    attributes: frozenset[str]
    """Names that are read from or called on objects."""
    keywords: frozenset[str]
    """Names of arguments in calls."""
    called: frozenset[str]
    """Names that are called, without what stands before the point."""


def words(*rooms: str, without: str = "") -> Words:
    """Of these folders and files of the product; `without`: a file or folder that is left out."""
    paths = (path for room in rooms for path in ([PRODUCT / room] if room.endswith(".py") else (PRODUCT / room).rglob("*.py")))
    found = [_words(path) for path in paths if not without or not path.is_relative_to(PRODUCT / without)]
    return Words(
        frozenset().union(*(each.strings for each in found)),
        frozenset().union(*(each.attributes for each in found)),
        frozenset().union(*(each.keywords for each in found)),
        frozenset().union(*(each.called for each in found)),
    )


@cache
def _words(path: Path) -> Words:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return Words(
        frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)),
        frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute)),
        frozenset(keyword.arg for call in calls for keyword in call.keywords if keyword.arg is not None),
        frozenset(call.func.id for call in calls if isinstance(call.func, ast.Name)),
    )
