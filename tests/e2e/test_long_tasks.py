"""Users whose tasks take longer than a level, on a service of known capacity: levels settle if all users make requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capexplorer.model.events import LevelClosed

from .rig import Run, events_of, export, run_to_end

pytestmark = pytest.mark.slow

PAUSE_S = 0.4
"""Between two requests of a task (locustfiles/long_tasks.py)."""


@pytest.fixture(scope="module")
def long_tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    return run_to_end(tmp_path_factory.mktemp("tasks"), "long-tasks", "--headless", "--plan", "2:9s,6:9s")


@pytest.fixture(scope="module")
def levels(long_tasks: tuple[Run, int]) -> list[dict[str, Any]]:
    run, code = long_tasks
    assert code == 0, run.stderr
    exported: list[dict[str, Any]] = export(run.sessions)["levels"]
    return exported


def test_goodput_agrees_with_littles_law_for_all_users(levels: list[dict[str, Any]]) -> None:
    """Each user makes one request per pause and latency: about 0.5 s while the service has a free worker."""
    for level in levels:
        assert level["settled"]
        assert level["warm_ratio"] == 1.0
        cycle_s = PAUSE_S + level["latency_ms"]["mean"] / 1000
        assert level["goodput_rps"] == pytest.approx(level["users"] / cycle_s, rel=0.2)


def test_sleeps_inside_a_task_count_as_think_time(levels: list[dict[str, Any]]) -> None:
    assert [level["think_s"] for level in levels] == pytest.approx([PAUSE_S] * 2, rel=0.1)


def test_a_level_that_ends_before_its_users_are_warm_does_not_settle_and_reports_their_share(tmp_path: Path) -> None:
    run, code = run_to_end(tmp_path, "long-sleeps", "--headless", "--plan", "4:8s")
    levels = events_of(run.events(), LevelClosed)
    assert not any(level.figures.settled or level.figures.warm_ratio for level in levels)
    assert code == 4
    assert "0% of its users warm" in run.stderr
