"""By how much a table departs from a concave curve, from which its errors are estimated."""

from __future__ import annotations

import numpy as np
import pytest

from capexplorer.analysis.knee.measured_curve import curve_of, roughness

from ..ladders import rates


@pytest.mark.parametrize(
    ("goodput", "expected"),
    [((10, 20, 30, 40, 50), 0.0), ((10, 20, 25, 30, 32), 0.0), ((10, 20, 30), 0.0)],
    ids=["a straight line", "a concave curve", "too few levels"],
)
def test_a_concave_curve_is_not_rough(goodput: tuple[float, ...], expected: float) -> None:
    users = np.arange(1.0, len(goodput) + 1) * 10
    assert roughness(users, np.array(goodput, float)) == expected


def test_the_errors_of_a_rough_table_are_larger_than_those_of_a_smooth_one() -> None:
    rough = rates([(10, 20), (20, 34), (30, 62), (40, 72), (50, 101), (60, 104)])
    smooth = rates([(10, 20), (20, 40), (30, 60), (40, 80), (50, 100), (60, 104)])
    assert (curve_of(rough).error > curve_of(smooth).error).all()
