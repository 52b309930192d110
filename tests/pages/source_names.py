"""Names and string constants that files of the capexplorer package use: tests compare them with what is declared elsewhere."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kit.package import PACKAGE, modules


@dataclass(frozen=True)
class SourceNames:
    """Names and string constants of one or more files."""

    strings: frozenset[str]
    """String constants."""
    attributes: frozenset[str]
    """Names after a dot: `b` of `a.b`."""
    keywords: frozenset[str]
    """Names of keyword arguments in calls."""
    called: frozenset[str]
    """Names that are called without a dot before them: `f` of `f()`."""


def names_in(*places: str, without: str = "") -> SourceNames:
    """Names in folders and files of the package. `without`: a file or folder that is left out."""
    paths = [
        path for place in places for path in modules(PACKAGE / place) if not without or not path.is_relative_to(PACKAGE / without)
    ]
    by_file = [_names_in_file(path) for path in paths]
    return SourceNames(
        frozenset().union(*(each.strings for each in by_file)),
        frozenset().union(*(each.attributes for each in by_file)),
        frozenset().union(*(each.keywords for each in by_file)),
        frozenset().union(*(each.called for each in by_file)),
    )


@cache
def _names_in_file(path: Path) -> SourceNames:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return SourceNames(
        frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)),
        frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute)),
        frozenset(keyword.arg for call in calls for keyword in call.keywords if keyword.arg is not None),
        frozenset(call.func.id for call in calls if isinstance(call.func, ast.Name)),
    )
