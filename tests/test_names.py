"""No two classes and no two files of capexplorer have the same name, except those that are listed here with a reason."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "capexplorer"
NAMES_OF_PYTHON = ("__init__", "__main__")

SAME_READING = "the probe of a platform without /proc takes the same readings by psutil"
COMMAND_AND_SCREEN = "the command and the screen of one task"
REPORT_AND_COMPARISON = "the same part of a report and of a comparison"
COUNTED_AND_SHOWN = "the probe counts them, a pane shows them"

ALLOWED_CLASSES = {
    "GeneratorProbe": SAME_READING,
    "HostProbe": SAME_READING,
    "NeighboursProbe": SAME_READING,
    "PortsProbe": SAME_READING,
    "TargetProbe": SAME_READING,
    "TcpProbe": SAME_READING,
    "Chart": "a chart of a page and a chart of the terminal",
    "Column": "a column of a table: read from a file, or shown by a pane",
    "Row": "a line of a pane's table",
    "Shape": "a load shape of Locust, and how the terminal draws a point",
}

ALLOWED_FILES = {
    "app": "the probe of a target's own metrics, and the application of the screen",
    "compare": COMMAND_AND_SCREEN,
    "profiles": COMMAND_AND_SCREEN,
    "replay": COMMAND_AND_SCREEN,
    "sessions": COMMAND_AND_SCREEN,
    "environment": REPORT_AND_COMPARISON,
    "figures": REPORT_AND_COMPARISON,
    "markdown": REPORT_AND_COMPARISON,
    "endpoints": "load counts them, a pane shows them",
    "failures": "load counts them, a pane shows them",
    "ports": COUNTED_AND_SHOWN,
}


def test_no_two_classes_have_the_same_name() -> None:
    duplicates = _duplicates(_classes(), ALLOWED_CLASSES)
    assert duplicates == {}, "rename one of them, or list the name in ALLOWED_CLASSES with the reason"


def test_no_two_files_have_the_same_name() -> None:
    duplicates = _duplicates(_files(), ALLOWED_FILES)
    assert duplicates == {}, "rename one of them, or list the name in ALLOWED_FILES with the reason"


def test_every_allowed_name_is_still_used_twice() -> None:
    allowed = ((_classes(), ALLOWED_CLASSES), (_files(), ALLOWED_FILES))
    unnecessary = {name for files_by_name, names in allowed for name in names if len(files_by_name[name]) < 2}
    assert unnecessary == set(), "delete these names from the lists here"


def _duplicates(files_by_name: dict[str, list[str]], allowed: dict[str, str]) -> dict[str, list[str]]:
    return {name: files for name, files in files_by_name.items() if len(files) > 1 and name not in allowed}


@cache
def _classes() -> defaultdict[str, list[str]]:
    """The files that define each class, by its name; private classes, which only their own file uses, are left out."""
    files_by_name: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files_by_name[node.name].append(str(path.relative_to(PACKAGE)))
    return files_by_name


def _files() -> defaultdict[str, list[str]]:
    """The files of each name without its suffix."""
    files_by_name: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stem not in NAMES_OF_PYTHON:
            files_by_name[path.stem].append(str(path.relative_to(PACKAGE)))
    return files_by_name
