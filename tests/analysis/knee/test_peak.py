"""The peak of goodput: reported only if goodput falls significantly after it."""

from __future__ import annotations

import pytest

from capexplorer.analysis.knee.knee_lines import KneeLines
from capexplorer.analysis.knee.verdict_kinds import peak_of
from capexplorer.model.verdicts import Peak

from ..ladders import rates

RISE = [(10, 20), (20, 40), (30, 60), (40, 80), (50, 100)]


def peak(*after: tuple[float, float]) -> Peak | None:
    lines = KneeLines.of(rates([*RISE, *after], seconds=20))
    assert lines is not None
    return peak_of(lines)


@pytest.mark.parametrize(
    ("after", "shape"),
    [
        ([], None),
        ([(60, 100), (80, 100)], None),
        ([(60, 100), (80, 97)], None),
        ([(60, 100), (80, 90), (100, 75)], "retrograde"),
        ([(60, 100), (80, 60), (100, 30)], "collapse"),
    ],
    ids=["the top is the last level", "a plateau", "a fall under 5%", "a fall by a quarter", "a fall by more than half"],
)
def test_the_peak_is_retrograde_or_a_collapse_by_how_far_goodput_falls_after_it(
    after: list[tuple[float, float]], shape: str | None
) -> None:
    found = peak(*after)
    assert (None if found is None else found.shape) == shape


def test_the_fall_is_relative_to_the_highest_goodput() -> None:
    found = peak((60, 100), (80, 60), (100, 30))
    assert found is not None
    assert found.goodput_rps == 100
    assert found.fall_ratio == pytest.approx(0.7)
