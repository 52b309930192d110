"""Where N* lies if the service refuses requests, and its goodput differs from level to level."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.crossing import crossing, curve_of
from capexplorer.analysis.knee.verdict_kinds import raised_to_refusals, unevenness
from capexplorer.analysis.ladder import LadderLevel

from ..ladders import rates


def ladder(*beyond_rps: float) -> list[LadderLevel]:
    """2/s per user up to 40 users, then this goodput at 60, 80, ... users, where a tenth of all requests is refused."""
    on_line = rates([(10, 20), (20, 40), (40, 80)], seconds=60)
    beyond = rates([(60 + 20 * index, rate) for index, rate in enumerate(beyond_rps)], seconds=60)
    return [*on_line, *(replace(level, failure_ratio=0.1) for level in beyond)]


@pytest.mark.parametrize(
    ("beyond_rps", "expected"),
    [((100, 100, 100), 0.0), ((100, 101, 99), 0.0), ((100, 130, 80), 0.335), ((100,), 0.0)],
    ids=["even", "within its errors", "uneven", "one level shows nothing"],
)
def test_unevenness_is_the_scatter_of_goodput_beyond_the_knee_that_errors_do_not_explain(
    beyond_rps: tuple[float, ...], expected: float
) -> None:
    curve = curve_of(ladder(*beyond_rps))
    assert unevenness(curve, crossing(curve)) == pytest.approx(expected, abs=0.02)


def test_with_uneven_refusals_the_knee_moves_halfway_to_the_first_level_with_refusals() -> None:
    levels = [replace(level, goodput_se_rps=10.0) if level.users >= 60 else level for level in ladder(80, 85, 100)]
    found = crossing(curve_of(levels))
    moved = raised_to_refusals(levels, found, 0.15)
    assert moved.users == pytest.approx((found.users * 60) ** 0.5)
    assert moved.rps_per_user == found.rps_per_user


def test_the_knee_does_not_move_beyond_the_goodput_that_a_level_may_have_reached() -> None:
    levels = ladder(80, 85, 100)
    found = crossing(curve_of(levels))
    assert (found.users, raised_to_refusals(levels, found, 0.15).users) == pytest.approx((50, 51.64), rel=0.001)


@pytest.mark.parametrize(("uneven", "first_refused"), [(0.04, 60), (0.15, 40)], ids=["an even limit", "refusals before the knee"])
def test_the_knee_does_not_move_if_goodput_is_even_or_refusals_begin_below_it(uneven: float, first_refused: float) -> None:
    levels = [replace(level, failure_ratio=0.1 if level.users >= first_refused else 0.0) for level in ladder(100, 100, 100)]
    found = crossing(curve_of(levels))
    assert raised_to_refusals(levels, found, uneven) is found
