"""The workflow of docs/ci.md and its action, step by step, in a clean folder with nothing but the wheel to install."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import junitparser
import pytest
import yaml
from programs import require

from capexplorer.session.baseline_store import BaselineStore

from .distribution import build, environment_with_packages
from .rig import ROOT
from .workflow import Job, runner_environment

pytestmark = pytest.mark.slow

PROFILE = """\
target = "mixed"
[users]
wait_s = { constant = 0.1 }
[[users.task]]
name = "/health"
path = "/health"
"""
RESULTS = "capexplorer-results"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of a project that uses the action. Beside it are the wheel, a Python without capexplorer, and a `gh` that keeps
    what it is given.
    """
    require("bash", "git")
    folder = tmp_path_factory.mktemp("runner")
    (checkout := folder / "checkout").mkdir()
    build(folder, "wheel")
    programs = environment_with_packages(folder / "venv")
    (programs / "gh").write_text(f'#!/bin/sh\necho "$@" > {folder}/gh.txt\ncp "$7" {folder}/comment.md\n')
    (programs / "gh").chmod(0o755)
    shutil.copytree(ROOT / ".github", checkout / ".github")
    (checkout / "shop.toml").write_text(PROFILE)
    return checkout


def documented_steps() -> list[dict[str, Any]]:
    """Those of the workflow in docs/ci.md."""
    [text] = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.DOTALL)
    [job] = yaml.safe_load(text)["jobs"].values()
    steps: list[dict[str, Any]] = job["steps"]
    return steps


def ran(repository: Path, event: str, **changed: str) -> Job:
    """The job of the workflow for an event; its arguments with these replacements."""
    [wheel] = repository.parent.glob("capexplorer-*.whl")
    environment = runner_environment(repository.parent / "venv" / "bin", repository.parent / "home")
    github = {"event_name": event, "run_id": "1", "token": "t", "event": {"number": "7"}}
    job, steps = Job(repository, environment, {"github": github}), documented_steps()
    [action] = (step for step in steps if str(step.get("uses", "")).startswith("./"))
    arguments = [changed.get(line.partition("=")[0].strip("-"), line) for line in action["with"]["run"].splitlines()]
    action |= {"id": "capacity", "with": action["with"] | {"run": "\n".join(arguments), "install": f"{wheel}[ci]"}}
    job.run(steps)
    return job


def test_a_push_keeps_a_baseline_and_a_pull_request_is_compared_with_it_and_commented(repository: Path) -> None:
    folder = repository.parent
    pushed = ran(repository, "push", require="--plan=4:4s,50:5s", within="")
    assert not pushed.failed, pushed.outputs
    outputs = pushed.contexts["steps"]["capacity"]["outputs"]
    assert outputs["exit-code"] == "0"
    assert not (folder / "gh.txt").exists()
    if "baseline: not kept" in pushed.outputs[-1]:  # the machine is busy
        BaselineStore(repository / "baselines").keep(repository / outputs["session"])
    [baseline] = (repository / "baselines").rglob("*.jsonl")
    assert baseline.read_bytes() == (repository / outputs["session"]).read_bytes()

    asked = ran(repository, "pull_request", within="--within=10s")
    code = asked.contexts["steps"]["capacity"]["outputs"]["exit-code"]
    assert code in ("3", "5"), asked.outputs
    assert asked.failed
    assert "::warning title=" in asked.outputs[1] or "::error title=" in asked.outputs[1]
    assert not {"\x1b", "\r"} & set("".join(asked.outputs))
    assert (folder / "gh.txt").read_text().startswith("pr comment 7 ")
    page = (repository / RESULTS / "summary.md").read_text()
    assert (folder / "comment.md").read_text() == page
    assert (folder / "github_step_summary").read_text().endswith(page)
    assert baseline.stem in page
    suites = [suite.name for suite in junitparser.JUnitXml.fromfile(str(repository / RESULTS / "junit.xml"))]
    assert suites == ["shop: run", "shop: requirement", "shop: comparison"]
    assert list((repository / "baselines").rglob("*.jsonl")) == [baseline], "a pull request replaces no baseline"


def test_arguments_that_are_refused_fail_the_job_with_one_line(repository: Path) -> None:
    job = ran(repository, "push", require="--require=p95 < 300ms")
    assert job.failed
    assert job.contexts["steps"]["capacity"]["outputs"]["exit-code"] == "2"
    [line] = [line for line in job.outputs[-1].splitlines() if line.startswith("capexplorer: ")]
    assert "--require" in line
