"""A name stands for one thing: no two classes and no two files of capexplorer share one, except those listed with a reason."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "capexplorer"
NOT_NAMES = ("__init__", "__main__")

SAME_READING = "the probe of a platform without /proc takes the same readings by psutil"
COMMAND_AND_SCREEN = "the command and the screen of one task"
REPORT_AND_COMPARISON = "the same part of a report and of a comparison"
COUNTED_AND_SHOWN = "the probe counts them, a pane shows them"

CLASSES = {
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

FILES = {
    "app": "the probe of a target's own metrics, and the application of the screen",
    "axis": "ticks of a page and ticks of the terminal",
    "compare": COMMAND_AND_SCREEN,
    "profiles": COMMAND_AND_SCREEN,
    "replay": COMMAND_AND_SCREEN,
    "sessions": COMMAND_AND_SCREEN,
    "environment": REPORT_AND_COMPARISON,
    "figures": REPORT_AND_COMPARISON,
    "json": REPORT_AND_COMPARISON,
    "markdown": REPORT_AND_COMPARISON,
    "endpoints": "load counts them, a pane shows them",
    "failures": "load counts them, a pane shows them",
    "plan": "the language of plans, and the driver that follows one",
    "machine": "the facts of a machine, and what reads them",
    "ports": COUNTED_AND_SHOWN,
}


def test_no_two_classes_have_one_name() -> None:
    assert _doubles(_classes(), CLASSES) == {}, "rename one of them, or list the name in CLASSES with the reason"


def test_no_two_files_have_one_name() -> None:
    assert _doubles(_files(), FILES) == {}, "rename one of them, or list the name in FILES with the reason"


def test_every_exception_is_still_one() -> None:
    over = {name for names, listed in ((_classes(), CLASSES), (_files(), FILES)) for name in listed if len(names[name]) < 2}
    assert over == set(), "these names stand once now: delete them from the lists here"


def _doubles(places: dict[str, list[str]], listed: dict[str, str]) -> dict[str, list[str]]:
    return {name: where for name, where in places.items() if len(where) > 1 and name not in listed}


@cache
def _classes() -> defaultdict[str, list[str]]:
    """By name: the files that define such a class; private ones belong to their file alone."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    return places


def _files() -> defaultdict[str, list[str]]:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stem not in NOT_NAMES:
            places[path.stem].append(str(path.relative_to(PACKAGE)))
    return places
