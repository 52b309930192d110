"""A headless run that a stop rule of its profile ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.analysis.reanalysis import reanalyse
from capexplorer.model.events import LevelOpened, Mark
from capexplorer.model.timeline import Timeline

from .rig import ended, events_of, run_to_end

pytestmark = pytest.mark.slow

PROFILE_WITH_A_STOP_RULE = """
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
    (profile := tmp_path / "slow.toml").write_text(PROFILE_WITH_A_STOP_RULE)
    run, code = run_to_end(tmp_path, str(profile), "--headless", "--plan", "3:5s,30:2m,60:30s")
    events = run.events()
    assert code == ended(events).exit_code == 3, run.stderr
    [mark] = [mark for mark in events_of(events, Mark) if mark.kind == "stop_rule"]
    assert (mark.finding.figures()["rule"], mark.finding.figures()["ended"], mark.users) == ("p95_ms", "plan", 30)
    levels = dict.fromkeys(event.users for event in events_of(events, LevelOpened))
    assert list(levels) == [3, 30, 0], "a busy machine may open a level again"
    assert reanalyse(Timeline(events)).changes == ()
