"""docs/knee.md: the text of docs/knee.template with the thresholds of the code.

In the text `{LINEAR_LIKELY}` is the value of a constant, `{LINEAR_LIKELY:.0%}` the same as a percentage. A name that several
modules have is preceded by a file or folder in which it is the only one: `{limit.LITTLE_MOST}`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import capexplorer

DOCS = Path(__file__).parent
FOLDERS = ("analysis", "model", "load")
PLACEHOLDER = re.compile(r"\{(?:(\w+)\.)?([A-Z][A-Z0-9_]*)(?::([^}]*))?\}")


@dataclass(frozen=True)
class Constant:
    """A constant of a module."""

    places: tuple[str, ...]
    """Its folders, and its file without `.py`."""
    name: str
    value: float


def constants() -> Iterator[Constant]:
    """All public constants that are numbers."""
    package = Path(capexplorer.__file__).parent
    for path in sorted(path for folder in FOLDERS for path in (package / folder).rglob("*.py")):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.Assign):
                yield from _assigned(statement, path.relative_to(package).with_suffix("").parts)


def _assigned(statement: ast.Assign, places: tuple[str, ...]) -> Iterator[Constant]:
    names, value = statement.targets[0], statement.value
    several = isinstance(names, ast.Tuple) and isinstance(value, ast.Tuple)
    for name, each in zip(names.elts, value.elts, strict=True) if several else [(names, value)]:
        if isinstance(name, ast.Name) and isinstance(each, ast.Constant) and isinstance(each.value, int | float):
            yield Constant(places, name.id, each.value)


def text() -> str:
    """The text, which is written by hand."""
    return (DOCS / "knee.template").read_text(encoding="utf-8")


def page(text: str) -> str:
    """The whole page. Raises ValueError if a name in the text is not exactly one constant."""
    known = list(constants())

    def value(found: re.Match[str]) -> str:
        place, name, form = found.groups()
        fitting = [each for each in known if each.name == name and (place is None or place in each.places)]
        if len(fitting) != 1:
            raise ValueError(f"docs/knee.template: {found[0]} is in {[each.places for each in fitting]}")
        return format(fitting[0].value, form or "g")

    return PLACEHOLDER.sub(value, text)
