"""A process of the package starts with its own modules, whatever lies in the working folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from capexplorer.procs import isolated

MODULES = ("isolated", "lines", "signals", "processes")


def printed(folder: Path, program: list[str]) -> str:
    return subprocess.run(program, cwd=folder, input="", capture_output=True, text=True, check=True).stdout


def test_a_module_in_the_working_folder_shadows_none_of_the_library(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "capexplorer.py").write_text("raise SystemExit('shadowed')")
    assert printed(tmp_path, isolated.command("capexplorer.read.parts_process", has_site=True)) == ""


def test_the_arguments_come_after_the_folder_of_the_package() -> None:
    *start, root, first, second = isolated.command("a.module", "3", "4")
    assert start[:4] == [sys.executable, "-I", "-S", "-c"]
    assert (Path(root) / "capexplorer" / "procs").is_dir()
    assert (first, second) == ("3", "4")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_procs_needs_the_standard_library_alone(tmp_path: Path, module: str) -> None:
    root = str(Path(__file__).resolve().parents[2])
    program = (
        f"import sys; sys.path.append({root!r}); import capexplorer.procs.{module}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'__main__', 'capexplorer'}))"
    )
    assert printed(tmp_path, [sys.executable, "-I", "-S", "-c", program]) == "[]\n"
