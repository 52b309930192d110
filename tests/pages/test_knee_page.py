"""docs/knee.md names each threshold of the detector with the value that the code has, and leaves none out.

A row names its module without the folder, so a module that moves within the package needs no edit of the page.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from .tables import ROOT, rows

PACKAGE = ROOT / "capexplorer"
THRESHOLD = re.compile(r"`(\w+)\.([A-Z][A-Z0-9_]*)`")


def stated() -> dict[tuple[str, str], object]:
    """(module, constant) to its value, as the page has it."""
    found = ((THRESHOLD.fullmatch(cells[0]), cells) for cells in rows("docs/knee.md"))
    return {(match[1], match[2]): ast.literal_eval(cells[1].strip("`")) for match, cells in found if match}


def defined(where: str) -> dict[tuple[str, str], list[object]]:
    """(module's last name, constant) to the values that modules of that name in a folder give it."""
    found: dict[tuple[str, str], list[object]] = defaultdict(list)
    for path in sorted((PACKAGE / where).rglob("*.py")):
        for name, value in assigned(path.read_text(encoding="utf-8")):
            found[path.stem, name].append(value)
    return found


def assigned(source: str) -> Iterator[tuple[str, object]]:
    """Numbers, and tuples and tables of numbers, that a module gives to names in capitals."""
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Assign):
            continue
        try:
            value = ast.literal_eval(statement.value)
        except ValueError:
            continue
        target = statement.targets[0]
        pairs = zip(target.elts, value, strict=True) if isinstance(target, ast.Tuple) else [(target, value)]
        for name, each in pairs:
            if isinstance(name, ast.Name) and name.id.isupper() and not name.id.startswith("_") and is_numeric(each):
                yield name.id, each


def is_numeric(value: object) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    return all(isinstance(each, int | float) for each in inside)


def test_each_threshold_on_the_page_has_the_value_of_its_module() -> None:
    values = defined(".")
    wrong = [
        f"docs/knee.md has {module}.{name} = {value}; the code has {values.get((module, name)) or 'no such constant'}"
        for (module, name), value in stated().items()
        if value not in values.get((module, name), [])
    ]
    assert wrong == []


def test_the_page_leaves_no_threshold_of_its_modules_out() -> None:
    on_page = stated()
    modules = {module for module, _ in on_page}
    missing = [f"{module}.{name}" for module, name in defined("analysis") if module in modules and (module, name) not in on_page]
    assert missing == []


def test_the_page_has_rows() -> None:
    assert len(stated()) > 90
