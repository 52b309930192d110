"""The broken line and Kneedle confirm a knee. They never mark one alone, since they find one in a straight line as well."""

from __future__ import annotations

import pytest

from capexplorer.analysis.knee.crossing import curve_of
from capexplorer.analysis.knee.verdict_kinds import broken_line, kneedle

from ..ladders import ideal, rates

LADDER = ideal([5, 10, 20, 30, 40, 50, 60, 80, 100])


def test_the_broken_line_and_kneedle_find_the_knee_of_an_ideal_service() -> None:
    curve = curve_of(LADDER)
    assert broken_line(curve) == pytest.approx(50, rel=0.03)
    assert kneedle(curve) == 50


def test_the_broken_line_finds_the_knee_before_a_collapse() -> None:
    collapsed = rates([(10, 20), (20, 40), (30, 60), (40, 80), (50, 100), (60, 100), (80, 20), (100, 5)], seconds=20)
    assert broken_line(curve_of(collapsed)) == pytest.approx(50, rel=0.05)


def test_kneedle_finds_no_knee_in_a_flat_or_a_convex_curve() -> None:
    assert kneedle(curve_of(rates([(10, 50), (20, 50), (30, 50)]))) is None
    assert kneedle(curve_of(rates([(10, 10), (20, 15), (30, 60)]))) is None
