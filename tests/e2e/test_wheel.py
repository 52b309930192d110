"""The wheel, installed elsewhere: the default profile runs with what it carries; sessions go to the user's data folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from .rig import ROOT, TIMEOUT_S, export

pytestmark = pytest.mark.slow


SAMPLES = sorted(path.stem for path in (ROOT / "sessions").glob("sample*.jsonl"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=TIMEOUT_S)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`capexplorer` in a venv of its own; its dependencies are those of this one, found by path."""
    folder = tmp_path_factory.mktemp("wheel")
    [wheel] = built.glob("capexplorer-*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-compile",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=TIMEOUT_S)
    _borrow_dependencies(folder / "venv")
    return folder / "venv" / "bin" / "capexplorer"


def _borrow_dependencies(environment: Path) -> None:
    """A folder of links to everything in our site-packages but capexplorer: its .pth would bring the checkout along."""
    [site] = environment.glob("lib/python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "capexplorer" not in path.name and path.suffix != ".pth" and not (site / path.name).exists():
            (site / path.name).symlink_to(path)


def test_wheel_and_sdist_hold_the_license(built: Path) -> None:
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    text = (ROOT / "LICENSE").read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        assert archive.read(name) == text
    with tarfile.open(sdist) as archive:
        packed = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/LICENSE")
        assert packed is not None and packed.read() == text


def test_the_default_profile_runs_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(installed), *args],
            cwd=tmp_path / "empty",
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    listed = run("targets", "--json")
    assert listed.returncode == 0 and str(installed.parents[1]) in listed.stdout, listed.stdout + listed.stderr
    done = run("run", "--headless", "--plan", "2:4s")
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip())
    assert path.parent == tmp_path / "data" / "capexplorer" / "sessions"
    level = export(path.parent)["levels"][-1]
    assert level["users"] == 2 and level["requests"] > 0
    assert str(installed.parents[1]) in run("profiles", "--json").stdout
    assert path.stem in run("sessions").stdout
    for command in (["export", SAMPLES[0]], ["compare", *SAMPLES]):
        page = run(*command, "--format", "html")
        assert page.returncode == 0 and page.stdout.startswith("<!doctype html>"), page.stderr
    assert list((tmp_path / "empty").iterdir()) == []
