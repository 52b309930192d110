"""Programs that tests run: a missing one is named with its Debian package, and CI installs the packages of all of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from programs import require

from capexplorer.target.spec import load_spec
from lab.kit import programs
from lab.trials.faults.trial import ALL

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent


def test_ci_installs_every_package() -> None:
    found = re.search(r'^PACKAGES="(.*)"$', (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert found is not None
    assert set(found[1].split()) == set(programs.PACKAGES.values())


def test_the_run_on_a_bare_machine_has_none_of_them_but_git() -> None:
    found = re.search(r'^NEEDED="(.*?)"$', (ROOT / ".ci" / "bare").read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    assert {"sh", "make", "git"} <= set(found[1].split())
    assert set(found[1].split()) & {*programs.PACKAGES, *programs.ONLY_TRIALS} == {"git"}


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PATH", "/nowhere")
    reason = "not installed: go, ip (Debian: apt-get install golang-go iproute2)"
    assert programs.missing("go", "ip") == reason
    with pytest.raises(pytest.skip.Exception, match=re.escape(reason)):
        require("go", "ip")


def test_programs_of_targets_and_fault_rows_have_a_package() -> None:
    targets = [program for path in (ROOT / "targets").glob("*/target.toml") for program in load_spec(path.parent).needs]
    rows = [program for row in ALL.values() for program in row.programs]
    assert {*targets, *rows} <= set(programs.PACKAGES)


def test_no_test_calls_shutil_which() -> None:
    calling = [str(path) for path in TESTS.rglob("*.py") if path.name != "programs.py" and _calls_which(path)]
    assert calling == [], "use programs.needs, require or find"


def _calls_which(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text if "which" in text else "")
    return any(isinstance(node, ast.Attribute) and node.attr == "which" for node in ast.walk(tree))
