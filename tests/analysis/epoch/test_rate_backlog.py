"""How many iterations in flight are a backlog at the start of an offered rate."""

from __future__ import annotations

import pytest
from kit.scenario import Scenario

from capexplorer.analysis.epoch.measured_rates import backlog_above
from capexplorer.model.figures import LevelFigures
from capexplorer.model.level import Level
from capexplorer.model.load import OfferedFigures


def level(offered_per_s: float, in_flight_mean: float, *, settled: bool = True, ramp: bool = False) -> Level:
    offered = OfferedFigures(offered_per_s=offered_per_s, in_flight_mean=in_flight_mean) if settled else None
    figures = LevelFigures(settled=settled, offered=offered)
    return Scenario().measured(figures=figures, offered_per_s=offered_per_s, ramp=ramp).timeline.levels[0]


CLIMB = [level(20, 1.0), level(40, 2.0), level(60, 6.0), level(120, 600.0)]


@pytest.mark.parametrize(
    ("rate_per_s", "above"),
    [(40, 2 * 2.0 + 5), (50, 2 * 2.5 + 5), (80, 2 * 8.0 + 5), (10, 2 * 0.5 + 5)],
    ids=["the same rate", "a lower rate is known", "overload is not the measure", "no lower rate is known"],
)
def test_the_iterations_in_flight_that_a_rate_needs_follow_from_the_nearest_rate_below_it(
    rate_per_s: float, above: float
) -> None:
    assert backlog_above(CLIMB, rate_per_s, in_flight=600) == pytest.approx(above)


def test_a_rate_that_begins_with_what_it_needs_has_no_backlog() -> None:
    assert backlog_above(CLIMB, 40, in_flight=9) is None


def test_without_a_settled_level_of_a_constant_rate_a_backlog_is_not_known() -> None:
    assert backlog_above([], 40, in_flight=600) is None
    assert backlog_above([level(20, 1.0, settled=False), level(20, 1.0, ramp=True)], 40, in_flight=600) is None
