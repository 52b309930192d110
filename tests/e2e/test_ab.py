"""`capexplorer ab` on two real services: what it measures, and that nothing is left behind, however it ends."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from capexplorer.model.events import Ended
from capexplorer.session.reader import read

from .rig import Run, events_of, started_run, wait_until

pytestmark = pytest.mark.slow


@contextmanager
def started(folder: Path, *args: str) -> Iterator[Run]:
    """Of the actor against the actor, with its result in `result.json`."""
    words = ("--a", "actor", "--b", "actor", "--users", "4", "--json", str(folder / "result.json"), *args)
    with started_run(folder, *words, subcommand="ab") as run:
        yield run


def result_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_bytes())
    return found


def wait_for_line(run: Run, text: str) -> None:
    def is_there() -> bool:
        assert run.process.poll() is None, f"it ended with exit code {run.process.returncode}: {run.stderr}"
        return text in run.stderr

    wait_until(is_there, f"`{text}` in {run.stderr}")


def assert_both_ended(run: Run) -> None:
    """Two complete sessions, and no process."""
    run.marked.assert_no_process_left()
    logs = sorted(run.sessions.glob("*.jsonl"))
    assert len(logs) == 2
    assert all(events_of(list(read(log)), Ended) for log in logs)


def test_a_signal_keeps_the_pairs_that_are_known_and_ends_both_runs(tmp_path: Path) -> None:
    with started(tmp_path, "--seed", "7") as run:
        wait_for_line(run, "pair 1 at 4 users: A ")
        run.process.send_signal(signal.SIGINT)
        assert run.exit_code() == 128 + signal.SIGINT
        assert_both_ended(run)
    found = result_in(tmp_path)
    assert found["exit_code"] == 5
    found = found["run"]
    assert (found["ended"], found["seed"], len(found["blocks"])) == ("interrupted", 7, 2)
    for block in found["blocks"]:
        assert block["figures"]["seconds"] >= 6
        assert block["figures"]["goodput_per_s"] == pytest.approx(20, rel=0.2), "4 users who wait for 0.2 s"
    assert all(Path(found[side]["path"]).is_file() for side in ("a", "b"))
    assert "4 users  goodput" in run.stdout


def test_a_signal_while_the_targets_start_leaves_nothing(tmp_path: Path) -> None:
    with started(tmp_path) as run:
        wait_until(lambda: run.marked.pids("actor.py"), "a target")
        run.process.send_signal(signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    assert result_in(tmp_path)["run"]["blocks"] == []


def test_a_target_that_dies_ends_both_runs_and_the_command_with_exit_code_4(tmp_path: Path) -> None:
    with started(tmp_path) as run:
        wait_for_line(run, "B: session ")
        os.kill(run.marked.pids("actor.py")[-1], signal.SIGKILL)
        assert run.exit_code() == 4
        assert_both_ended(run)
    assert "target died (SIGKILL)" in result_in(tmp_path)["run"]["why"]
