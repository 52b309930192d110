"""The harness of trials: what is repeated, skipped, kept and counted as a failure; and that nothing of a trial is left."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from select import select

import pytest

from lab import trial
from lab.kit import namespaces, record
from lab.kit.programs import missing
from lab.kit.runs import ROOT
from lab.trial import Judged, Result, Trial

WRONG, RIGHT = Judged(missing=("a mark",)), Judged()
SPOILT = Judged(missing=("a mark",), busy_cores=0.9)


class Scripted(Trial[Sequence[Judged | Exception]]):
    """A trial whose cases are the outcomes of their runs, one after another."""

    name = "scripted"
    about = ""

    def __init__(self, **cases: Sequence[Judged | Exception]) -> None:
        self.cases, self.runs = cases, 0

    def why_not(self, case: Sequence[Judged | Exception], options: argparse.Namespace) -> str:
        return "" if case else "nothing to do"

    def carry_out(self, case: Sequence[Judged | Exception], variant: str, folder: Path, options: argparse.Namespace) -> Judged:
        folder.mkdir()
        outcome = case[self.runs]
        self.runs += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def page(self, results: Sequence[Result]) -> str:
        return trial.not_right(results)


@pytest.fixture(autouse=True)
def results_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(trial, "RESULTS", tmp_path)
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(Scripted, "page_path", tmp_path / "page.md")
    return tmp_path


@pytest.mark.parametrize(
    ("outcomes", "runs", "code"),
    [
        ([RIGHT], 1, 0),
        ([WRONG], 1, 1),
        ([SPOILT, RIGHT], 2, 0),
        ([SPOILT, SPOILT], 2, 1),
        ([OSError("no disk")], 1, 1),
        ([], 0, 0),
    ],
    ids=["right", "wrong on an idle machine", "right at the second attempt", "disturbed twice", "an exception", "skipped"],
)
def test_what_was_disturbed_and_is_not_right_runs_once_more(
    outcomes: list[Judged | Exception], runs: int, code: int, tmp_path: Path
) -> None:
    scripted = Scripted(case=outcomes)
    assert scripted.main(["--keep", str(tmp_path / "kept")]) == code
    assert scripted.runs == runs
    assert (tmp_path / "kept" / "case-1").exists() == bool(code)


def test_what_is_wrong_beside_other_runs_is_repeated_alone(results_folder: Path) -> None:
    scripted = Scripted(case=[WRONG, RIGHT])
    assert scripted.main(["--parallel", "2"]) == 0
    assert [(each.parallel, each.right) for each in scripted.kept()] == [(2, False), (1, True)]
    assert "All are right" in (results_folder / "page.md").read_text()


def test_each_result_is_kept_with_its_commit_and_problem(results_folder: Path) -> None:
    assert Scripted(one=[WRONG, RIGHT], two=[WRONG, RIGHT]).main(["one", "--repeats", "2"]) == 1
    kept = Scripted(one=[]).kept()
    assert [(each.number, each.missing) for each in kept] == [(1, ("a mark",)), (2, ())]
    assert all(each.commit and each.at for each in kept)
    assert "missing a mark" in (results_folder / "page.md").read_text()


def test_an_unsaved_run_changes_no_file(results_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    keep = tmp_path_factory.mktemp("sessions")
    assert Scripted(case=[RIGHT]).main(["--unsaved", "--keep", str(keep)]) == 0
    assert list(results_folder.iterdir()) == []


def test_an_unknown_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Scripted(case=[RIGHT]).main(["other"])
    assert "no case other; expected some of case" in capsys.readouterr().err


SERVER = "import os, sys, time; print('ready', flush=True); time.sleep(600)"
"""A program that runs in a process session of its own, as servers do, and keeps the pipe open until it ends."""
STARTS_ONE = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SERVER!r}], start_new_session=True).wait()"
CONTAINED = (
    "import sys; from lab.kit.namespaces import contained; "
    f"sys.exit(contained([sys.executable, '-c', {STARTS_ONE!r}]))"
)  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0 or bool(missing(*namespaces.CONTAINING)), reason="needs root, setpriv and unshare")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_trial_that_is_ended_leaves_no_server(end: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", CONTAINED], stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        process.send_signal(end)
        assert select([process.stdout], [], [], 30.0)[0], "a process of the trial still has the pipe open"
        assert process.stdout.read() == b""
    assert process.returncode in (128 + end, -end)
