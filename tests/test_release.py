"""What a release refuses before it changes anything, and that the workflows use what is there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from programs import needs

from capexplorer import __version__
from lab.release.__main__ import Refused, present_version, release

ROOT = Path(__file__).resolve().parents[1]


def git(tree: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run(["git", *who, *words], cwd=tree, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with version 0.3.0, one change to release, and all committed."""
    (tmp_path / "capexplorer").mkdir()
    (tmp_path / "capexplorer" / "__init__.py").write_text('"""What it is."""\n\n__version__ = "0.3.0"\n')
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "+one.added.md").write_text("One.\n")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "All")
    return tmp_path


def dirty(tree: Path) -> None:
    (tree / "changes" / "+two.added.md").write_text("Two.\n")


def detached(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "--detach")


def tagged(tree: Path) -> None:
    git(tree, "tag", "v0.4.0")


def nothing_new(tree: Path) -> None:
    git(tree, "rm", "--quiet", "changes/+one.added.md")
    (tree / "changes").mkdir(exist_ok=True)
    (tree / "changes" / "README.md").write_text("Files of changes.\n")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "Released")


@needs("git")
@pytest.mark.parametrize(
    ("version", "before", "why"),
    [
        ("0.3.0", None, "VERSION: expected one greater than 0.3.0, got 0.3.0"),
        ("0.2.9", None, "VERSION: expected one greater than 0.3.0, got 0.2.9"),
        ("next", None, "VERSION: expected a version such as 0.2.0, got `next`"),
        ("0.4.0", dirty, "the tree has changes that are not committed"),
        ("0.4.0", detached, "no branch is checked out"),
        ("0.4.0", tagged, "there is a tag v0.4.0"),
        ("0.4.0", nothing_new, "changes/ is empty: nothing to release"),
    ],
)
def test_a_release_is_refused_in_one_line(tree: Path, version: str, before: Callable[[Path], None] | None, why: str) -> None:
    if before is not None:
        before(tree)
    with pytest.raises(Refused) as refused:
        release(tree, version)
    assert str(refused.value) == why
    assert present_version(tree) == "0.3.0"


def test_the_version_is_in_one_place() -> None:
    assert __version__ not in (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.optional")[0]


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: str(path.name))
def test_files_for_github_are_valid_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)


def test_workflows_call_targets_that_the_makefile_has() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    texts = [path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    called = {name for text in texts for name in re.findall(r"run: make ([\w-]+)", text)}
    assert called == {"wheel-tests", "distributions", "site"}
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in called)


def test_workflows_test_each_python_that_may_install_it() -> None:
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]
    tested = {each["with"]["python-version"] for each in matrix["whole"]["steps"] if "python-version" in each.get("with", {})}
    tested |= set(matrix["pythons"]["strategy"]["matrix"]["python"])
    found = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert found is not None
    assert tested == {f"3.{minor}" for minor in range(int(found[1]), int(found[2]))}
