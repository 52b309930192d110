"""docs/knee.md has every threshold of the knee detector, with the value that the code has.

A row names a constant as `module.NAME` without the folder, so a module that moves within the package needs no edit of the page.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from .page_tables import ROOT, table_rows

PACKAGE = ROOT / "capexplorer"
THRESHOLD = re.compile(r"`(\w+)\.([A-Z][A-Z0-9_]*)`")


def thresholds_of_page() -> dict[tuple[str, str], object]:
    """(module, constant) to its value, as the page has it."""
    found = ((THRESHOLD.fullmatch(cells[0]), cells) for cells in table_rows("docs/knee.md"))
    return {(match[1], match[2]): ast.literal_eval(cells[1].strip("`")) for match, cells in found if match}


def constants_of_code(folder: str) -> dict[tuple[str, str], list[object]]:
    """(module without its package, constant) to its values; several if a folder has several modules of one name."""
    found: dict[tuple[str, str], list[object]] = defaultdict(list)
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for name, value in numeric_constants(path.read_text(encoding="utf-8")):
            found[path.stem, name].append(value)
    return found


def numeric_constants(source: str) -> Iterator[tuple[str, object]]:
    """Public constants of a module that are numbers, or tuples or dicts of numbers."""
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
    """Whether a value is a number, or a tuple or dict of numbers."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    return all(isinstance(each, int | float) for each in values)


def test_each_threshold_on_the_page_has_the_value_of_its_module() -> None:
    values = constants_of_code(".")
    wrong = [
        f"docs/knee.md has {module}.{name} = {value}; the code has {values.get((module, name)) or 'no such constant'}"
        for (module, name), value in thresholds_of_page().items()
        if value not in values.get((module, name), [])
    ]
    assert wrong == []


def test_the_page_has_every_threshold_of_the_modules_that_it_names() -> None:
    on_page = thresholds_of_page()
    modules = {module for module, _ in on_page}
    missing = [
        f"{module}.{name}"
        for module, name in constants_of_code("analysis")
        if module in modules and (module, name) not in on_page
    ]
    assert missing == []


def test_more_than_90_rows_of_the_page_are_recognised_as_thresholds() -> None:
    """Without rows the other tests would pass."""
    assert len(thresholds_of_page()) > 90
