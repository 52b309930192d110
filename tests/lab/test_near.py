"""Which test files `make near` runs, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.near import ROOT, imported_names, main, near_tests

LOAD, ENGINE, SCREEN = (ROOT / "capexplorer" / name for name in ("load.py", "engine.py", "screen.py"))
OF_LOAD, OF_MANY, OF_ENGINE, OF_SCREEN = (
    ROOT / "tests" / "x" / f"test_{name}.py" for name in ("load", "many", "engine", "screen")
)
KIT = ROOT / "tests" / "x" / "kit.py"
IMPORTS = {
    LOAD: set[str](),
    ENGINE: {"capexplorer.load"},
    SCREEN: set[str](),
    KIT: {"capexplorer.screen"},
    OF_LOAD: {"capexplorer.load", "capexplorer.screen", "capexplorer.engine"},
    OF_MANY: {"capexplorer.load"},
    OF_ENGINE: {"capexplorer.engine"},
    OF_SCREEN: {"x.kit"},
}


def test_a_file_named_as_the_module_comes_first_and_importers_of_importers_last() -> None:
    assert near_tests([LOAD], IMPORTS) == [OF_LOAD, OF_MANY, OF_ENGINE]


def test_a_module_of_tests_leads_to_the_tests_that_import_it() -> None:
    assert near_tests([SCREEN], IMPORTS) == [OF_LOAD, OF_SCREEN]
    assert near_tests([KIT], IMPORTS) == [OF_SCREEN]


def test_a_changed_test_runs_itself() -> None:
    assert near_tests([OF_MANY], IMPORTS) == [OF_MANY]


def test_imports_of_all_forms_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.near.IMPORT_ROOTS", (tmp_path,))
    module = tmp_path / "a" / "b" / "c.py"
    module.parent.mkdir(parents=True)
    module.write_text("import e.f as g, h\nfrom . import i\nfrom ..j import k\ndef x():\n    from l import (\n  m as n,\n  o,)\n")
    expected = {"e.f", "h", "a.b", "a.b.i", "a.j", "a.j.k", "l", "l.m", "l.o"}
    assert set(imported_names(module)) == expected


def test_without_a_change_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.near.changed_files", lambda base: [])
    monkeypatch.setattr(pytest, "main", lambda *_, **__: pytest.fail("tests ran"))
    assert main() == 0
