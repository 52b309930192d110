"""A headless run that a stop rule of its profile ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import Ended, LevelOpened, Mark
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise
from capexplorer.session.reader import read

pytestmark = pytest.mark.slow

PROFILE_WITH_A_STOP_RULE = """
title = "Twice as slow as allowed"
target = "sleepers"
params = { workers = 2, sleep_ms = 50 }
[users]
wait_s = { constant = 0.2 }
[[users.task]]
name = "/work"
[stop]
p95_ms = 200
"""


def test_a_stop_rule_ends_a_headless_run_with_exit_code_3_and_is_reported(tmp_path: Path) -> None:
    profile = tmp_path / "slow.toml"
    profile.write_text(PROFILE_WITH_A_STOP_RULE)
    command = [sys.executable, "-m", "capexplorer", "run", str(profile), "--headless", "--sessions-dir", str(tmp_path / "s")]
    run = subprocess.run([*command, "--plan", "3:5s,30:2m,60:30s"], capture_output=True, text=True, check=False)
    assert run.returncode == 3, run.stderr
    assert "stop rule: p95 " in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr
    (path,) = run.stdout.split()
    events = list(read(Path(path)))
    (mark,) = [event for event in events if isinstance(event, Mark) and event.kind == "stop_rule"]
    assert mark.finding.figures()["rule"] == "p95_ms"
    assert mark.finding.figures()["ended"] == "plan"
    assert mark.users == 30
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert ended.exit_code == 3
    assert "p95" in ended.reason
    levels = dict.fromkeys(event.users for event in events if isinstance(event, LevelOpened))
    assert list(levels) == [3, 30, 0], "a busy machine may open a level again"
    assert reanalyse(Timeline(events)).changes == ()
    document = json.dumps(summarise(Timeline(events)))
    assert "p95_ms" in document
