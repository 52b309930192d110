"""A plan samples the stacks of the profile `mixed`: log, export and progress say so, and no curve has that level."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import LevelOpened, StacksSampled
from capexplorer.stacks import python

from .rig import events_of, export, run_to_end_unsuspended

pytestmark = [pytest.mark.slow, pytest.mark.skipif(python.why_not() is not None, reason=python.why_not() or "")]


def test_stacks_are_sampled_in_a_level_of_their_own(tmp_path: Path) -> None:
    run, code = run_to_end_unsuspended(tmp_path, "mixed", "--headless", "--plan", "6:4s, profile 3s, 12:1s")
    assert code == 0, run.stderr
    (event,) = events_of(run.events(), StacksSampled)
    assert event.failed == ()
    wall = next(each for each in event.sampled if each.clock == "wall")
    assert wall.runtime == "python"
    assert {Path(frame.file).name for frame in wall.frames if frame.is_own} >= {"app.py"}
    opened = events_of(run.events(), LevelOpened)
    assert [(each.users, each.stacks) for each in opened] == [(6, False), (6, True), (12, False)]
    levels = export(run.sessions)["levels"]
    assert [level["kind"] for level in levels] == ["step", "stacks", "step"]
    assert levels[1]["requests"] > 0
    assert f"stacks sampled by {wall.tool} for 3" in run.stderr
