"""The tests nearest to a change: `make near` runs them beside ruff and mypy.

    python -m lab.near [BASE]     run the tests of what differs from the merge base with BASE (main), uncommitted work included

First come test files named as a changed module, then those that import it, then those that import an importer of it, and so on;
of equally near ones those that import little else. A file that is no module, such as a page or a profile, has the tests that
contain its name. Slow tests and trials are left to `make test`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IMPORT_ROOTS = (ROOT / "tests", ROOT)
"""Where a module name begins, as pytest has them in `sys.path`."""
FOLDERS = ("capexplorer", "tests", "lab", "docs", "targets")
IMPORT = re.compile(r"^\s*(?:from (\S+) )?import (\([^)]*\)|[^(\n]+)", re.MULTILINE)
NAME = re.compile(r"(?<!\bas )\b(?!as\b)[\w.]+")
ALWAYS = [ROOT / "tests" / "pages" / "test_generated_pages.py"]
"""Pages are made of texts of the whole product, in a process of their own, which no import shows."""
MOST_FILES = 24
"""Test files of one run: to import them takes up to 3 s."""
MOST_CPU_S = 10.0
"""Then no further test begins. With two cores, ruff and mypy take the other one. What is left is run by `make check`."""


def changed_files(base: str) -> list[Path]:
    """Files that differ from the merge base with `base`, and files that git does not have yet."""
    commands = (["diff", "--name-only", "--merge-base", base], ["ls-files", "--others", "--exclude-standard"])
    listed = (subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True) for command in commands)
    return [ROOT / name for result in listed for name in result.stdout.splitlines()]


def module_name(path: Path) -> str:
    """The name by which tests and product import `path`: without `tests`, which is an import root itself."""
    root = next(root for root in IMPORT_ROOTS if path.is_relative_to(root))
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def imported_names(path: Path) -> Iterator[str]:
    """Every module that `path` may import: `from a import b` gives `a` and `a.b`.

    Lines are read, not syntax trees, which would take a second more for all files.
    """
    package = module_name(path).split(".")[: None if path.stem == "__init__" else -1]
    for origin, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        if origin.startswith("."):
            below = origin.lstrip(".")
            origin = ".".join([*package[: len(package) + 1 - (len(origin) - len(below))], *([below] if below else [])])
        if origin:
            yield origin
        yield from (f"{origin}.{name}" if origin else name for name in NAME.findall(names))


def near_tests(changed: list[Path], imports: Mapping[Path, set[str]]) -> list[Path]:
    """All test files that a change of these files may reach, nearest first."""
    importers = defaultdict(set)
    for path, names in imports.items():
        for name in names:
            importers[name].add(path)
    tests = {path for path in imports if path.name.startswith("test_")}
    distance: dict[Path, int] = {}
    for path in changed:
        if path.name == "conftest.py":
            reached = {test for test in tests if test.is_relative_to(path.parent)}
        elif path.suffix != ".py":
            reached = {test for test in tests if path.name in test.read_text(encoding="utf-8")}
        else:
            reached = importers[module_name(path)] | ({path} & imports.keys())
        seen, steps = {path}, 1
        while reached:
            for test in reached & tests:
                named = test == path or path.stem in test.stem
                distance[test] = min(distance.get(test, steps), 0 if named and steps == 1 else steps)
            seen |= reached
            reached = {importer for at in reached for importer in importers[module_name(at)]} - seen
            steps += 1
    return sorted(distance, key=lambda test: (distance[test], len(imports[test]), test))


class Budget:
    """A plugin of pytest that ends the run after `MOST_CPU_S` of this process."""

    def __init__(self) -> None:
        self.spent = False

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if time.process_time() > MOST_CPU_S:
            self.spent = True
            item.session.shouldstop = f"{MOST_CPU_S:.0f} s of CPU are spent; the other tests are left to `make check`"


def main(base: str = "main") -> int:
    changed = changed_files(base)
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    near = near_tests(changed, {path: set(imported_names(path)) for path in paths})
    print(
        f"{len(changed)} files differ from {base}; {len(near)} test files may see it, the nearest {MOST_FILES} at most run",
        flush=True,
    )
    if not changed:
        return 0
    budget = Budget()
    code = pytest.main(["-q", "-m", "not slow and not trial", *map(str, [*near[:MOST_FILES], *ALWAYS])], plugins=[budget])
    ended_well = (pytest.ExitCode.NO_TESTS_COLLECTED, *([pytest.ExitCode.INTERRUPTED] if budget.spent else []))
    return 0 if code in ended_well else int(code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
