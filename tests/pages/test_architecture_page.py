"""ARCHITECTURE.md: its table of packages is complete, true to the imports, and within the contracts of pyproject.toml."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .tables import ROOT, rows

PACKAGE = ROOT / "capexplorer"
NOT_ROOMS = ("__init__", "__main__", "__pycache__", "shipped")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS: list[dict[str, Any]] = PROJECT["tool"]["importlinter"]["contracts"]


def rooms() -> set[str]:
    """Packages and modules directly under capexplorer/."""
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    return found - set(NOT_ROOMS)


def table() -> dict[str, set[str]]:
    """Room to the rooms that it may import."""
    found = {cells[0].strip("`"): cells[2] for cells in rows("ARCHITECTURE.md") if len(cells) == 3 and cells[0] != "package"}
    return {room: may_import(cell) - {room} for room, cell in found.items()}


def may_import(cell: str) -> set[str]:
    named = set(re.findall(r"`(\w+)`", cell))
    return rooms() - named if cell.startswith("all packages but") else named


def imported(room: str) -> set[str]:
    """Rooms that the modules of one import, also inside functions."""
    paths = [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").is_file() else sorted((PACKAGE / room).rglob("*.py"))
    found = {each for path in paths for each in imported_by(path)}
    return (found & rooms()) - {room}


def imported_by(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("capexplorer."))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            full = (*base, *(node.module.split(".") if node.module else ()))
            if full[:1] == ("capexplorer",):
                yield from (full[1],) if len(full) > 1 else (name.name for name in node.names)


def layers() -> list[set[str]]:
    """Rooms of the layers contract, from the top down."""
    lines = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
    return [{name.strip().removeprefix("capexplorer.") for name in line.split("|")} for line in lines]


def banned() -> Iterator[tuple[str, str]]:
    """(room, room that it must not import) of the contracts that forbid whole rooms."""
    for contract in CONTRACTS:
        names = [name.removeprefix("capexplorer.") for name in contract.get("forbidden_modules", ())]
        for source in contract.get("source_modules", ()):
            yield from ((source.removeprefix("capexplorer."), name) for name in names if name in rooms())


def test_every_room_has_a_row_and_every_row_a_room() -> None:
    assert set(table()) == rooms()


@pytest.mark.parametrize("room", sorted(rooms()))
def test_a_room_imports_what_its_row_says(room: str) -> None:
    assert imported(room) <= table()[room]


def test_the_layers_name_every_room_once() -> None:
    assert sorted(room for layer in layers() for room in layer) == sorted(rooms())


def test_a_row_allows_only_rooms_of_lower_layers() -> None:
    level = {room: index for index, layer in enumerate(layers()) for room in layer}
    upwards = [
        f"{room} may import {other}"
        for room, others in table().items()
        for other in others
        if room in level and other in level and level[other] <= level[room]
    ]
    assert upwards == []


def test_a_row_allows_nothing_that_a_contract_forbids() -> None:
    allowed = table()
    assert [f"{room} may import {other}" for room, other in banned() if other in allowed.get(room, ())] == []


def test_it_is_one_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 85
