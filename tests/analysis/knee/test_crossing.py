"""Where the low-load line meets the capacity line."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.crossing import crossing, curve_of, efficiency
from capexplorer.analysis.ladder import LadderLevel

from ..ladders import ideal

COUNTS = [5, 10, 20, 30, 40, 60, 80]
"""Of an ideal service with N* = 50, 2/s per user, 100/s."""


def test_the_lines_of_an_ideal_service_meet_at_its_knee() -> None:
    found = crossing(curve_of(ideal(COUNTS)))
    assert found.rps_per_user == pytest.approx(2.0, rel=0.01)
    assert found.capacity == pytest.approx(100.0, rel=0.01)
    assert found.users == pytest.approx(50.0, rel=0.02)
    assert found.linear == 5, "5 to 40 users lie on the line"
    assert list(np.flatnonzero(found.plateau)) == [5, 6], "60 and 80 users make the capacity"


def slower_at_first(*shares: float) -> list[LadderLevel]:
    """Levels of the ideal service of which the lowest make these shares of their goodput."""
    return [
        replace(level, goodput_rps=share * level.goodput_rps, goodput_se_rps=0.02 * level.goodput_rps)
        for level, share in zip(ideal(COUNTS), [*shares, *[1.0] * (len(COUNTS) - len(shares))], strict=True)
    ]


@pytest.mark.parametrize(
    ("shares", "slower"),
    [((0.6,), 1), ((0.6, 0.85), 2), ((0.6, 0.75, 0.88), 3), ((0.94, 0.94), 0)],
    ids=["a first level with cold caches", "a warm-up over two levels", "over three levels", "hardly slower"],
)
def test_levels_of_a_service_that_was_slower_are_left_out_of_the_line(shares: tuple[float, ...], slower: int) -> None:
    found = crossing(curve_of(slower_at_first(*shares)))
    assert found.slower == slower
    assert not found.baseline[:slower].any()
    assert found.users == pytest.approx(50.0, rel=0.08)


def test_levels_before_a_dip_stay_on_the_line() -> None:
    assert crossing(curve_of(slower_at_first(1.0, 0.6))).slower == 0


def test_without_measured_errors_no_level_is_left_out_as_slower() -> None:
    levels = [replace(level, goodput_se_rps=None) for level in slower_at_first(0.6, 0.85)]
    assert crossing(curve_of(levels)).slower == 0


def test_efficiency_is_1_on_the_line_and_falls_beyond_it() -> None:
    curve = curve_of(ideal(COUNTS))
    shares, errors = efficiency(curve, crossing(curve))
    assert shares == pytest.approx([1, 1, 1, 1, 1, 100 / 120, 100 / 160], rel=0.01)
    assert (errors > 0).all()
