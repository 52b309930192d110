"""Set-up with a Python that is not supported ends in one line, which says what is right."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from kit.package import PACKAGE

ROOT = Path(__file__).resolve().parents[1]


def set_up(folder: Path, python: str, *, carried_out: bool = True) -> subprocess.CompletedProcess[str]:
    words = ["make", "run", f"VENV={folder / 'venv'}", f"PYTHON={python}", *["--dry-run"] * (not carried_out)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # of a make that runs the tests
    return subprocess.run(words, cwd=ROOT, env=own, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_a_program_that_is_no_supported_python_is_refused_in_one_line(tmp_path: Path, python: str) -> None:
    done = set_up(tmp_path, python)
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert f"{python} is not Python 3.11, 3.12, 3.13 or 3.14" in line
    assert "make run PYTHON=python3.11" in line
    assert not (tmp_path / "venv").exists()


def test_this_python_is_accepted(tmp_path: Path) -> None:
    done = set_up(tmp_path, sys.executable, carried_out=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_versions_are_those_of_the_package() -> None:
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    found = re.search(r"\((\d+), (\d+)\) <= sys.version_info < \((\d+), (\d+)\)", (ROOT / "Makefile").read_text())
    assert found is not None
    assert requires == f">={found[1]}.{found[2]},<{found[3]}.{found[4]}"


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 15)])
def test_the_module_refuses_another_python_in_one_line(
    version: tuple[int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (*version, 1))
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("capexplorer", run_name="__main__")
    [line] = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert "needs Python 3.11, 3.12, 3.13 or 3.14; " in line
    assert " is {}.{}: ".format(*version) in line
    assert line.endswith("make setup PYTHON=python3.11")


def test_the_module_can_be_read_by_an_old_python() -> None:
    """Its statements are those of every Python: an annotation or an f-string would end it before it has said what is wrong."""
    text = (PACKAGE / "__main__.py").read_text("utf-8")
    new = (ast.AnnAssign, ast.JoinedStr, ast.NamedExpr, ast.Match, ast.FunctionDef, ast.AsyncFunctionDef)
    assert [node for node in ast.walk(ast.parse(text)) if isinstance(node, new)] == []
