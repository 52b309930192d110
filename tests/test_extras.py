"""What only some uses need is in an extra, and where it is missing one line names the extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from kit.package import modules
from packaging.requirements import Requirement

from capexplorer import cli, paths, profile
from capexplorer.commands.run.profile import DEFAULT_PROFILE
from capexplorer.extras import EXTRAS, lacking
from capexplorer.stacks import node, python
from capexplorer.target.spec import load_spec

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PROGRAMS = [*modules(), *(path for folder in ("profiles", "targets") for path in (ROOT / folder).rglob("*.py"))]
SAMPLE_PLAN = ["--headless", "--plan", "1:1s"]


def canonical(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def installed_with(requirement: Requirement, known: set[str]) -> set[str]:
    """The packages that come with it, itself included, if `known` are there."""
    if (name := canonical(requirement.name)) in known and not requirement.extras:
        return known
    known = known | {name}
    for each in map(Requirement, requires(name) or ()):
        if any(each.marker is None or each.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)):
            known |= installed_with(each, known)
    return known


def test_each_extra_brings_what_the_table_says() -> None:
    brought = {Requirement(each).name: name for name, each_of in PROJECT["optional-dependencies"].items() for each in each_of}
    providers = {"py-spy": ["py-spy"], **packages_distributions()}
    said = {(provider, extra) for module, extra in EXTRAS.items() for provider in providers[module] if provider in brought}
    assert {name for _, name in said} == set(PROJECT["optional-dependencies"])
    assert [(provider, name) for provider, name in said if brought[provider] != name] == []


def test_whatever_is_imported_is_installed_by_each_user_or_in_the_table() -> None:
    there: set[str] = set()
    for each in PROJECT["dependencies"]:
        there |= installed_with(Requirement(each), there)
    own = {path.stem for path in PROGRAMS} | {path.name for path in (ROOT / "targets").iterdir()} | {"capexplorer"}
    known = own | set(EXTRAS) | set(sys.stdlib_module_names)
    providers = packages_distributions()
    unknown = {
        f"{path.name}: {name}"
        for path in PROGRAMS
        for name in imported(path) - known
        if not there & set(map(canonical, providers.get(name, ())))
    }
    assert unknown == set()


def imported(path: Path) -> set[str]:
    found = set()
    for node_ in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node_, ast.Import):
            found |= {each.name.partition(".")[0] for each in node_.names}
        elif isinstance(node_, ast.ImportFrom) and node_.level == 0 and node_.module:
            found.add(node_.module.partition(".")[0])
    return found


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("junitparser", ["export", "sample", "--format", "junit"]),
        ("prometheus_client", ["metrics", "sample", "--listen", "127.0.0.1:9464"]),
        ("opentelemetry", ["metrics", "sample", "--otlp", "http://127.0.0.1:4318"]),
        ("mcp", ["mcp"]),
        ("waitress", ["run", "kv", *SAMPLE_PLAN]),
        ("prometheus_client", ["run", "sleepers", *SAMPLE_PLAN, "--metrics", "127.0.0.1:9464"]),
        ("psycopg", ["run", "sleepers", *SAMPLE_PLAN, "--watch", "db=here postgres=postgresql://a@127.0.0.1/a"]),
        ("redis", ["run", "sleepers", *SAMPLE_PLAN, "--watch", "db=here redis=redis://127.0.0.1"]),
    ],
)
def test_a_use_ends_in_one_line_that_names_the_extra(
    module: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == module] or [module]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    assert cli.run(words) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"needs {module}" in line
    assert f"pip install 'capexplorer[{EXTRAS[module]}]'" in line


def test_what_is_run_by_default_needs_no_extra() -> None:
    found = profile.load(paths.profile(DEFAULT_PROFILE))
    assert isinstance(found.target, str)
    assert load_spec(paths.target(found.target, DEFAULT_PROFILE)).packages == ()


def test_tools_that_sample_stacks_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "program", lambda: None)
    monkeypatch.setitem(sys.modules, "websockets", None)
    assert python.why_not() == "needs py-spy: pip install 'capexplorer[stacks]'"
    assert node.why_not() == "needs websockets: pip install 'capexplorer[stacks]'"


@pytest.mark.parametrize(
    ("left_by_the_installer", "installs"),
    [
        ("uv-receipt.toml", "uv pip install --python '{prefix}'"),
        ("pipx_metadata.json", "pipx runpip 'cap explorer' install"),
        ("pyvenv.cfg", "pip install"),
    ],
)
def test_the_line_installs_into_the_environment_of_capexplorer(
    left_by_the_installer: str, installs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix := tmp_path / "cap explorer").mkdir()
    (prefix / left_by_the_installer).touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setitem(sys.modules, "waitress", None)
    assert lacking("waitress") == f"needs waitress: {installs.format(prefix=prefix)} 'capexplorer[samples]'"


def test_each_extra_is_named_once_and_a_package_of_none_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("waitress", "wsgidav", "no_such_module"):
        monkeypatch.setitem(sys.modules, module, None)
    said = lacking("waitress", "json", "wsgidav", "no_such_module")
    assert said == "needs waitress and wsgidav and no_such_module: pip install 'capexplorer[samples]' no_such_module"
    assert lacking("json") == ""
