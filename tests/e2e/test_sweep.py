"""A sweep of the real program: a setting with which the target does not start, a budget, the report, and going on with it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from capexplorer.model.events import Sweep, Target
from capexplorer.session.reader import open_session
from lab.kit.runs import started_run

from .rig import E2E_FOLDER, ROOT, Run, run_in_process

pytestmark = pytest.mark.slow

SERVER = f"{sys.executable} {ROOT / 'targets/sleepers/serve.py'} --port {{port}} --workers {{workers}} --sleep-ms 20"
WORDS = ("--target-cmd", SERVER, "--ready", "/health", "--request", "/work")


def swept(folder: Path, sessions: Path, *words: str) -> tuple[Run, int]:
    folder.mkdir()
    with started_run(folder, *WORDS, *words, sessions=sessions, cwd=E2E_FOLDER, subcommand="sweep") as run:
        return run, run.exit_code()


def exported(path: Path) -> list[dict[str, object]]:
    """The settings of the JSON export."""
    document = json.loads(run_in_process("export", str(path), "--format", "json").stdout)
    settings: list[dict[str, object]] = document["sweep"]["settings"]
    return settings


def ends(settings: Sequence[dict[str, object]]) -> list[object]:
    return [each.get("ended") for each in settings]


def started(path: Path) -> list[object]:
    """The settings with which the target was started, in that order."""
    with open_session(path) as log:
        return [event.params["workers"] for event in log if isinstance(event, Target) and event.state == "starting"]


def test_a_setting_that_fails_is_reported_and_a_resumed_sweep_explores_only_what_has_no_verdict(tmp_path: Path) -> None:
    run, code = swept(tmp_path / "first", sessions := tmp_path / "sessions", "--set", "workers=1,none,2", "--within", "6s")
    (first,) = sessions.glob("*.jsonl")
    assert code in (0, 5), run.stderr
    assert first.name in run.stderr
    settings = exported(first)
    assert ends(settings) == ["budget", "failed", "budget"], run.stderr
    assert "exit code 2" in str(settings[1]["why"])
    assert [line.split()[0] for line in run.stdout.splitlines()[:3]] == ["workers=1", "workers=none", "workers=2"]
    assert started(first) == ["1", "2", "none"]

    left = [each["params"]["workers"] for each in settings if each["state"] != "explored"]  # type: ignore[index]
    again, code = swept(tmp_path / "second", sessions, "--resume", first.stem, "--within", "1s")
    assert code in (0, 4, 5), again.stderr
    (second,) = set(sessions.glob("*.jsonl")) - {first}
    assert set(started(second)) == set(left)
    assert ends(exported(second)) == ["budget", "failed", "budget"]


def test_a_signal_ends_the_sweep_which_reports_what_it_has(tmp_path: Path) -> None:
    (folder := tmp_path / "run").mkdir()
    with started_run(folder, *WORDS, "--set", "workers=1,2", cwd=E2E_FOLDER, subcommand="sweep") as run:
        run.wait_for_events(Sweep)
        run.target_pid()
        run.process.send_signal(signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    (path,) = run.sessions.glob("*.jsonl")
    assert [each["state"] for each in exported(path)] == ["no_verdict", "not_explored"]
    assert "workers=2" in run.stdout
    assert f"--resume {path.stem}" in run.stderr
