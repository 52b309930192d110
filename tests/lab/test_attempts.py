"""Rows of a trial are repeated if they were disturbed, and no process is left when a trial is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from select import select

import pytest

from lab.trials import contained
from lab.trials.attempts import carried_out, repeated_if_disturbed
from lab.trials.programs import missing


@dataclass(frozen=True)
class Result:
    right: bool
    disturbed: bool


WRONG, SPOILT, RIGHT = Result(False, False), Result(False, True), Result(True, True)


@pytest.mark.parametrize(
    ("results", "runs", "left"),
    [
        ((RIGHT, WRONG), 1, []),
        ((WRONG, RIGHT), 1, ["0"]),
        ((SPOILT, RIGHT), 2, ["0"]),
        ((SPOILT, SPOILT), 2, ["0", "1"]),
    ],
    ids=["right", "wrong on an idle machine", "right at the second attempt", "disturbed twice"],
)
def test_a_disturbed_row_runs_again_and_the_files_of_right_ones_are_removed(
    results: tuple[Result, ...], runs: int, left: list[str], tmp_path: Path
) -> None:
    def run(folder: Path) -> Result:
        folder.mkdir()
        return results[int(folder.name)]

    kept: list[Result] = []
    assert repeated_if_disturbed(run, kept.append, [tmp_path / "0", tmp_path / "1"]) == results[runs - 1]
    assert kept == list(results[:runs])
    assert sorted(each.name for each in tmp_path.iterdir()) == left


def test_a_row_that_raises_is_wrong_and_one_that_cannot_be_carried_out_is_skipped() -> None:
    def raises() -> None:
        raise OSError("no disk")

    assert carried_out("", raises)[:2] == (None, "wrong: not carried out: no disk")
    assert carried_out("needs root", raises) == (None, "skipped: needs root", 0.0)
    assert carried_out("", lambda: 7)[:2] == (7, "")


SERVER = "import os, sys, time; print('ready', flush=True); time.sleep(600)"
"""A program that runs in a process session of its own, as servers do, and keeps the pipe open until it ends."""
STARTS_ONE = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SERVER!r}], start_new_session=True).wait()"
CONTAINED = f"import sys; from lab.trials import contained; sys.exit(contained.run([sys.executable, '-c', {STARTS_ONE!r}]))"


@pytest.mark.skipif(os.geteuid() != 0 or bool(missing(*contained.PROGRAMS)), reason="needs root, setpriv and unshare")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_trial_that_is_ended_leaves_no_server(end: signal.Signals) -> None:
    root = Path(contained.__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", CONTAINED], stdout=subprocess.PIPE, cwd=root) as trial:
        assert trial.stdout is not None and trial.stdout.readline() == b"ready\n"
        trial.send_signal(end)
        assert select([trial.stdout], [], [], 30.0)[0], "a process of the trial still has the pipe open"
        assert trial.stdout.read() == b""
    assert trial.returncode in (128 + end, -end)
