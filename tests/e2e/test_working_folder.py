"""Modules in the working folder that have the names of Python's or of a library's: none is executed, by no process of ours."""

from __future__ import annotations

import ast
import re
import signal
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from kit.package import PACKAGE, modules

from capexplorer import namespace, paths
from capexplorer.commands.pick import SessionFolders
from capexplorer.model.events import Sample
from capexplorer.model.sources import SessionEntry

from .rig import E2E_FOLDER, command_on_terminal, events_of, run_command, run_to_end

STARTS_PYTHON = re.compile(r"sys\.executable|['\"]\{python\}['\"]")

SERVICE = ("--target-cmd", f"{sys.executable} {E2E_FOLDER}/targets/actor/actor.py {{port}} serves", "--ready", "/")
PLAN = ("--headless", "--plan", "2:3s")

PROFILE = """
url = "http://127.0.0.1:1"

[users]
wait_s = 0.1

[[users.task]]
name = "/"

[limits.network]
somaxconn = 128
"""

LOCUSTFILE = """
import beside
from locust import HttpUser, constant, task

class Visitor(HttpUser):
    wait_time = constant(0.1)

    @task
    def visit(self):
        import in_a_task
        self.client.get("/", name=beside.NAME + in_a_task.NAME)
"""


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A folder with a module for each name that Python or an installed package has; each one that is imported writes its name."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in {*sys.stdlib_module_names, *packages_distributions(), "capexplorer"}:
        if name.isidentifier():
            (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write({name + chr(10)!r})\n")
    return folder


def executed(trapped: Path) -> set[str]:
    written = trapped.parent / "executed"
    return set(written.read_text().split()) if written.exists() else set()


def test_doctor(trapped: Path) -> None:
    done = run_command("doctor", cwd=trapped)
    assert (done.returncode, executed(trapped)) == (0, set())


def test_whether_a_namespace_is_allowed(trapped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = namespace.refusal()
    monkeypatch.chdir(trapped)
    assert (namespace.refusal(), executed(trapped)) == (expected, set())


def test_an_export_of_the_picker(trapped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = paths.sample_sessions()["sample"]
    monkeypatch.chdir(trapped)
    SessionFolders([trapped]).export(SessionEntry(id="sample", path=sample, size_bytes=0), "json")
    assert (trapped / "sample.json").stat().st_size
    assert executed(trapped) == set()


@pytest.mark.slow
def test_the_run_that_the_picker_starts(trapped: Path, tmp_path: Path) -> None:
    with command_on_terminal(tmp_path, "--sessions-dir", str(tmp_path / "sessions"), cwd=trapped) as run:
        run.wait_for(lambda: "Enter runs" in run.written, "the picker")
        run.type("\r")
        run.wait_for(lambda: events_of(run.events(), Sample), "a run of the selected profile")
        run.process.send_signal(signal.SIGTERM)
        run.exit_code()
    assert executed(trapped) == set()


@pytest.mark.slow
def test_a_run_with_workers_a_watched_part_and_limits(trapped: Path, tmp_path: Path) -> None:
    (profile := tmp_path / "limited.toml").write_text(PROFILE)
    run, _ = run_to_end(tmp_path, str(profile), *SERVICE, "--workers", "2", "--watch", "machine=here", *PLAN, cwd=trapped)
    assert any(tick.requests + tick.warmup_requests for sample in events_of(run.events(), Sample) for tick in sample.endpoints)
    assert executed(trapped) == set()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["in process", "in a worker"])
def test_a_locustfile_imports_modules_beside_it_at_any_time(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "visitor.py").write_text(LOCUSTFILE)
    (tmp_path / "beside.py").write_text("NAME = 'beside'")
    (tmp_path / "in_a_task.py").write_text("NAME = ' and in a task'")
    run, _ = run_to_end(tmp_path, "-f", str(tmp_path / "visitor.py"), *SERVICE, *workers, *PLAN)
    assert {tick.name for sample in events_of(run.events(), Sample) for tick in sample.endpoints} == {"beside and in a task"}


def test_each_python_that_the_product_starts_ignores_the_working_folder() -> None:
    """-I and -P leave the working folder out of `sys.path`, as a script does; with -c and -m it is the first entry."""
    starts = [
        (f"{path.relative_to(PACKAGE)}:{node.lineno}", ast.unparse(node.elts[index + 1]))
        for path in modules()
        if STARTS_PYTHON.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.List, ast.Tuple))
        for index, element in enumerate(node.elts[:-1])
        if STARTS_PYTHON.fullmatch(ast.unparse(element))
    ]
    assert len(starts) >= 6
    assert [place for place, word in starts if word not in ("'-I'", "'-P'") and not word.endswith(".py'")] == []
