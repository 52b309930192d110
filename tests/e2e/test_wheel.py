"""The wheel in a new virtual environment: it runs the default profile and shows the sample sessions without the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from .distribution import build, environment_with_packages
from .rig import ROOT, TIMEOUT_S, export

pytestmark = pytest.mark.slow


SAMPLES = sorted(path.stem for path in (ROOT / "sessions").glob("sample*.jsonl"))


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("distributions")
    build(folder, "wheel", "sdist")
    return folder


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `capexplorer` program of a new virtual environment that has the wheel, and links to the packages of this one."""
    return installed_beside(environment_with_packages(tmp_path_factory.mktemp("wheel") / "venv"), distributions)


def installed_beside(bin_folder: Path, distributions: Path) -> Path:
    [wheel] = distributions.glob("capexplorer-*.whl")
    options = "install --quiet --no-compile --no-deps --no-index".split()
    install = [sys.executable, "-m", "pip", "--python", str(bin_folder / "python"), *options, str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=TIMEOUT_S)
    return bin_folder / "capexplorer"


def test_wheel_and_source_distribution_have_the_license(distributions: Path) -> None:
    [wheel], [sdist] = distributions.glob("*.whl"), distributions.glob("*.tar.gz")
    text = (ROOT / "LICENSE").read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        assert archive.read(name) == text
    with tarfile.open(sdist) as archive:
        packed = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/LICENSE")
        assert packed is not None and packed.read() == text


def test_an_installed_wheel_runs_and_exports_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "data")}

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
    assert listed.returncode == 0, listed.stderr
    assert str(installed.parents[1]) in listed.stdout, "the targets are not those of the wheel"
    done = run("run", "--headless", "--plan", "2:4s")
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.strip())
    assert path.parent == tmp_path / "data" / "capexplorer" / "sessions"
    level = export(path.parent)["levels"][-1]
    assert level["users"] == 2
    assert level["requests"] > 0
    assert str(installed.parents[1]) in run("profiles", "--json").stdout, "the profiles are not those of the wheel"
    assert path.stem in run("sessions").stdout
    for command in (["export", SAMPLES[0]], ["compare", *SAMPLES]):
        page = run(*command, "--format", "html")
        assert page.returncode == 0, page.stderr
        assert page.stdout.startswith("<!doctype html>")
    assert list((tmp_path / "empty").iterdir()) == [], "files were written to the working folder"


def test_a_plain_install_explores_an_own_service_and_names_the_extra_of_the_samples(distributions: Path, tmp_path: Path) -> None:
    samples = ("gunicorn", "waitress", "wsgidav")
    program = installed_beside(environment_with_packages(tmp_path / "venv", without=samples), distributions)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [str(program), "run", *args, "--headless", "--plan", "2:4s"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )

    sample = run("webdav")
    assert sample.returncode == 2
    assert "needs waitress and wsgidav: pip install 'capexplorer[samples]'" in sample.stderr
    own = run("--target-cmd", "python3 -m http.server {port} --bind 127.0.0.1", "--request", "/")
    assert own.returncode == 0, own.stderr
