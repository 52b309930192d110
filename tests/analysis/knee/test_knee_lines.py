"""Whether a curve has bent or has a knee, and what lies at low load."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.knee_lines import KneeLines
from capexplorer.analysis.knee.verdict_kinds import unevenness
from capexplorer.analysis.ladder import LadderLevel

from ..ladders import ideal, rates


def lines_of(ladder: list[LadderLevel]) -> KneeLines:
    lines = KneeLines.of(ladder)
    assert lines is not None
    return lines


def test_the_lines_of_an_ideal_service_meet_at_its_knee() -> None:
    lines = lines_of(ideal([5, 10, 20, 30, 40, 60, 80]))
    assert (lines.users, lines.knees.rps_per_user, lines.capacity_rps) == pytest.approx((50, 2, 100), rel=0.01)
    assert [level.users for level in lines.baseline] == [5, 10, 20, 30]
    assert lines.ladder[lines.last_below].users == 40


@pytest.mark.parametrize(
    ("users", "has_knee"),
    [([10, 20, 30, 40], False), ([10, 20, 30, 40, 50.5], False), ([10, 20, 30, 40, 58], True), ([10, 20, 40, 60, 64], True)],
    ids=["on the line", "at the knee", "just beyond", "a little beyond"],
)
def test_an_ideal_curve_with_its_knee_at_50_users_has_one_just_beyond_it(users: list[float], has_knee: bool) -> None:
    assert lines_of(ideal(users)).has_knee is has_knee


@pytest.mark.parametrize(
    ("top_rps", "failure_ratio", "slope", "has_knee"),
    [(10, 0.0, 0.34, True), (11, 0.0, 0.69, False), (11, 0.1, None, True)],
    ids=["less steep than at low load", "as steep again", "clients that give up change the load of the others"],
)
def test_goodput_that_becomes_steep_again_beyond_the_knee_contradicts_it(
    top_rps: float, failure_ratio: float, slope: float | None, has_knee: bool
) -> None:
    climb = rates([(1, 2.4), (2, 4.8), (3, 7.2), (4, 7.3), (5, 7.7), (6, 8.3), (7, top_rps)], seconds=20)
    lines = lines_of([replace(level, goodput_se_rps=0.2, failure_ratio=failure_ratio) for level in climb])
    assert (lines.has_bent, lines.has_knee) == (True, has_knee)
    assert (lines.slope_beyond and lines.slope_beyond[0]) == (None if slope is None else pytest.approx(slope, abs=0.02))


@pytest.mark.parametrize(
    ("beyond_rps", "expected"),
    [((100, 100, 100), 0.0), ((100, 101, 99), 0.0), ((100, 130, 80), 0.335), ((100,), 0.0)],
    ids=["even", "within its errors", "uneven", "one level shows nothing"],
)
def test_unevenness_is_the_scatter_of_goodput_beyond_the_knee_that_errors_do_not_explain(
    beyond_rps: tuple[float, ...], expected: float
) -> None:
    """2/s per user up to 40 users, then this goodput at 60, 80, ... users, where a tenth of all requests is refused."""
    on_line = rates([(10, 20), (20, 40), (40, 80)], seconds=60)
    beyond = rates([(60 + 20 * index, rate) for index, rate in enumerate(beyond_rps)], seconds=60)
    lines = lines_of([*on_line, *(replace(level, failure_ratio=0.1) for level in beyond)])
    assert unevenness(lines) == pytest.approx(expected, abs=0.02)
