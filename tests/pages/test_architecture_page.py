"""ARCHITECTURE.md: its table of packages agrees with the packages and their imports.

"Package" here means a package or a module directly under capexplorer/.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.package import PACKAGE, modules

from .page_tables import table_rows

NOT_PACKAGES = ("__init__", "__main__", "__pycache__", "shipped")


def packages() -> set[str]:
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    return found - set(NOT_PACKAGES)


def allowed_imports() -> dict[str, set[str]]:
    """By the page: each package with the packages that it may import."""
    found = {
        cells[0].strip("`"): cells[2] for cells in table_rows("ARCHITECTURE.md") if len(cells) == 3 and cells[0] != "package"
    }
    return {package: packages_named_in(cell) - {package} for package, cell in found.items()}


def packages_named_in(cell: str) -> set[str]:
    """The packages of a cell "may import"."""
    named = set(re.findall(r"`(\w+)`", cell))
    return packages() - named if cell.startswith("all packages but") else named


def actual_imports(package: str) -> set[str]:
    """Packages that the modules of one import, also inside functions."""
    module = PACKAGE / f"{package}.py"
    paths = modules(module if module.is_file() else PACKAGE / package)
    found = {each for path in paths for each in imports_of_file(path)}
    return (found & packages()) - {package}


def imports_of_file(path: Path) -> Iterator[str]:
    """The first name below capexplorer of each import."""
    package = path.relative_to(PACKAGE.parent).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("capexplorer."))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            full = (*base, *(node.module.split(".") if node.module else ()))
            if full[:1] == ("capexplorer",):
                yield from (full[1],) if len(full) > 1 else (name.name for name in node.names)


def test_the_table_has_one_row_for_every_package_and_no_other() -> None:
    assert set(allowed_imports()) == packages()


@pytest.mark.parametrize("package", sorted(packages()))
def test_a_package_imports_only_what_its_row_allows(package: str) -> None:
    assert actual_imports(package) <= allowed_imports()[package]
