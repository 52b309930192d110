"""Builds the wheel, and virtual environments without capexplorer, into which it can be installed without a network."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Collection
from pathlib import Path

import pytest

from .rig import ROOT, TIMEOUT_S


def build(folder: Path, *kinds: str) -> None:
    """Write distributions of these kinds (wheel, sdist) into the folder; skips the test without the sources."""
    if not (ROOT / "capexplorer").is_dir():
        pytest.skip("builds the wheel from its sources, which `make wheel-tests` removes")
    targets = [word for kind in kinds for word in ("-t", kind)]
    command = [sys.executable, "-m", "hatchling", "build", *targets, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=TIMEOUT_S)


def environment_with_packages(folder: Path, without: Collection[str] = ()) -> Path:
    """Make a virtual environment with links to all installed packages but capexplorer and `without`, and to no .pth file: that of
    capexplorer would import the repository. Returns its folder of programs.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    [site] = folder.glob("lib/python*/site-packages")
    for packages in (Path(each) for each in sys.path if Path(each).name == "site-packages"):
        for path in packages.iterdir():
            if (
                "capexplorer" not in path.name
                and path.name not in without
                and path.suffix != ".pth"
                and not (site / path.name).exists()
            ):
                (site / path.name).symlink_to(path)
    return folder / "bin"
