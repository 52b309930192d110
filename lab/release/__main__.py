"""Makes a release: the version, its section of the changelog, a commit and a tag, and in dist/ what would be published.

Everything happens in a worktree of its own. Only when the distributions have been built, checked and installed in a new
environment do the branch and the tag move, so that a release that fails leaves nothing behind. Nothing is published.

`--check`: only build and check what the present commit has, as the workflow does that publishes a tag.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[2]
VERSION_FILE = Path("capexplorer/__init__.py")
RELEASED = Path("tests/released")
"""For each version a folder with its promises, and files that it wrote (`formats`)."""
PROMISED = "promised.json.gz"
"""As in `formats`, which the tools of a release cannot import: it needs what capexplorer does."""
EXAMPLES = ("docs/profiles.toml", "docs/configuration.toml")
"""Files with each key that a version reads."""
DIST = ROOT / "dist"
PYTHON = sys.executable


class Refused(Exception):
    """Why there is no release, in one line."""


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.release", description=__doc__.partition("\n")[0])
    parser.add_argument("version", nargs="?", default="", help="such as 0.2.0, greater than the present one")
    parser.add_argument("--check", action="store_true", help="build and check the present commit; change nothing but dist/")
    asked = parser.parse_args(words)
    try:
        made = distributions_of(ROOT, present_version(ROOT)) if asked.check else release(ROOT, asked.version)
    except Refused as refused:
        print(f"release: {refused}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as failed:
        print(f"release: `{' '.join(map(str, failed.cmd))}` ended with exit code {failed.returncode}", file=sys.stderr)
        return 1
    for path in made:
        print(path.relative_to(ROOT))
    return 0


def present_version(tree: Path) -> str:
    """The one place that has it."""
    [found] = re.findall(r'^__version__ = "(.+)"$', (tree / VERSION_FILE).read_text("utf-8"), re.MULTILINE)
    return str(found)


def release(tree: Path, version: str) -> list[Path]:
    """Commit and tag a version. Returns what is in dist/. Raises Refused, CalledProcessError; then nothing has changed."""
    _check_asked(tree, version)
    branch = _git(tree, "branch", "--show-current")
    with _worktree(tree) as work:
        file = work / VERSION_FILE
        file.write_text(file.read_text("utf-8").replace(f'"{present_version(work)}"', f'"{version}"'), encoding="utf-8")
        _run(work, PYTHON, "-m", "towncrier", "build", "--yes", "--version", version)
        _git(work, "add", "--all")
        _git(work, "commit", "--quiet", "--message", f"Release {version}")
        made = distributions_of(work, version, keep=True)
        built_at = _git(work, "log", "-1", "--format=%ct")
        _git(work, "add", "--all")
        _run(work, "git", "commit", "--quiet", "--amend", "--no-edit", GIT_COMMITTER_DATE=built_at)
        commit = _git(work, "rev-parse", "HEAD")
    _git(tree, "merge", "--ff-only", "--quiet", commit)
    _git(tree, "tag", "--annotate", f"v{version}", "--message", f"capexplorer {version}", commit)
    print(f"committed and tagged v{version} on {branch}; `git push origin {branch} v{version}` publishes it")
    return made


def _check_asked(tree: Path, version: str) -> None:
    present = present_version(tree)
    try:
        if Version(version) <= Version(present):
            raise Refused(f"VERSION: expected one greater than {present}, got {version}")
    except InvalidVersion:
        raise Refused(f"VERSION: expected a version such as 0.2.0, got `{version}`") from None
    if _git(tree, "status", "--porcelain"):
        raise Refused("the tree has changes that are not committed")
    if not _git(tree, "branch", "--show-current"):
        raise Refused("no branch is checked out")
    if _git(tree, "tag", "--list", f"v{version}"):
        raise Refused(f"there is a tag v{version}")
    if not any(path.name.startswith("+") for path in (tree / "changes").iterdir()):
        raise Refused("changes/ is empty: nothing to release")


@contextmanager
def _worktree(tree: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "tree"
        _git(tree, "worktree", "add", "--quiet", "--detach", str(work))
        try:
            yield work
        finally:
            _git(tree, "worktree", "remove", "--force", str(work))


# -- distributions -------------------------------------------------------------------------------------------------------------


def distributions_of(tree: Path, version: str, *, keep: bool = False) -> list[Path]:
    """Build wheel and sdist of a tree into dist/, check them, install the wheel in a new environment and use it there, and write
    the bill of materials of that environment and checksums. `keep`: what later versions are tested with, in the tree."""
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("capexplorer-*"):
        old.unlink()
    built_at = _git(tree, "log", "-1", "--format=%ct")
    _run(tree, PYTHON, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(DIST), SOURCE_DATE_EPOCH=built_at)
    [wheel], [sdist] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    if {wheel.name.split("-")[1], sdist.name.removesuffix(".tar.gz").split("-")[1]} != {version}:
        raise Refused(f"expected {version} in the names of {wheel.name} and {sdist.name}")
    _run(tree, PYTHON, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    bill = DIST / f"capexplorer-{version}.cdx.json"
    with tempfile.TemporaryDirectory() as folder:
        python = _installed(Path(folder) / "venv", wheel)
        _use(python.with_name("capexplorer"), Path(folder), version)
        formats = _formats_kept(tree, python, Path(folder) / version)
        if keep:
            for example in EXAMPLES:
                shutil.copy(tree / example, formats)
            shutil.copytree(formats, tree / RELEASED / version)
        words = ["environment", str(python), "--output-reproducible", "--of", "JSON", "-o", str(bill)]
        _run(tree, PYTHON, "-m", "cyclonedx_py", *words)
    sums = DIST / f"capexplorer-{version}.sha256"
    made = [wheel, sdist, bill]
    sums.write_text("".join(f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in made), encoding="utf-8")
    return [*made, sums]


def _installed(folder: Path, wheel: Path) -> Path:
    """The Python of a new environment that has the wheel and, from the index, what it requires."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    _run(folder, str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    return python


def _use(program: Path, folder: Path, version: str) -> None:
    """The installed program says its version, and replays each session that comes with it."""
    said = subprocess.run([program, "--version"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()[0]
    if said != f"capexplorer {version}":
        raise Refused(f"the installed program says `{said}`")
    samples = sorted((ROOT / "sessions").glob("sample*.jsonl"))
    for sample in samples:
        subprocess.run([program, "export", sample.stem, "--format", "json"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    print(f"installed in a new environment: {said}; {len(samples)} sample sessions replayed")


def _formats_kept(tree: Path, python: Path, folder: Path) -> Path:
    """Record the formats of the installed program in a folder. Raises Refused: it breaks what the last release has promised."""
    before = sorted(
        (each for each in (tree / RELEASED).iterdir() if each.name != folder.name and (each / PROMISED).exists()),
        key=lambda each: Version(each.name),
    )[-1:]
    command = [str(word) for word in (python, "-P", tree / "lab" / "release" / "formats.py", folder, *before)]
    lines = subprocess.run(command, cwd=folder.parent, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    if broken := [line for line in lines if line]:
        raise Refused(
            f"{len(broken)} promises of {before[-1].name} are broken without another number of their format: {broken[0]}"
        )
    return folder


def _git(tree: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=tree, check=True, capture_output=True, text=True).stdout.strip()


def _run(folder: Path, *words: str, **environment: str) -> None:
    subprocess.run(words, cwd=folder, check=True, env={**os.environ, **environment})


if __name__ == "__main__":
    sys.exit(main())
