"""Levels whose generator was saturated are left out once it has more workers."""

from __future__ import annotations

from collections.abc import Sequence

from kit.scenario import Scenario

from capexplorer.analysis.epoch.epoch import outgrown_levels
from capexplorer.model.figures import LevelFigures
from capexplorer.model.level import Level


def _levels(*levels: tuple[int, float]) -> Sequence[Level]:
    """One closed level for each (workers, cores that the busiest load thread used)."""
    scenario = Scenario()
    for workers, cpu in levels:
        figures = LevelFigures(settled=True, settled_seconds=10.0, requests=100, generator_cpu_ratio=cpu)
        scenario.measured(10, figures, workers=workers)
    return scenario.timeline.levels


def test_a_level_that_saturated_fewer_workers_than_a_later_one_has_is_left_out() -> None:
    assert outgrown_levels(_levels((0, 0.5), (0, 1.0), (2, 0.6), (2, 1.0), (3, 0.7)), 0.0) == (1, 3)


def test_a_level_that_did_not_saturate_its_workers_stays() -> None:
    assert outgrown_levels(_levels((0, 0.5), (2, 0.4)), 0.0) == ()


def test_the_latest_saturated_level_stays_and_so_does_one_after_a_worker_was_removed() -> None:
    assert outgrown_levels(_levels((2, 1.0)), 0.0) == ()
    assert outgrown_levels(_levels((3, 0.5), (2, 1.0)), 0.0) == ()
