"""Figures as text: three digits, errors, and the ticks of an axis."""

from __future__ import annotations

import pytest

from capexplorer.report import svg
from capexplorer.wording import numbers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"), (float("nan"), "–"), (0.0, "0"), (5.0, "5"), (0.02134, "0.0213"), (4.068, "4.07"), (141.2, "141"),
        (12345.6, "12,346"), (-3.2, "-3.20"), (9.996, "10.0"),
    ],
)  # fmt: skip
def test_a_number_has_three_digits_and_an_unmeasured_one_is_a_dash(value: float | None, expected: str) -> None:
    assert numbers.significant(value) == expected


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (141.44, 2.13, "141.4 ± 2.1"), (141.44, 21.3, "141 ± 21"), (141.44, None, "141 ± –"), (None, None, "–"),
        (0.5123, 0.0121, "0.512 ± 0.012"), (7.0, 0.0, "7.0 ± 0.0"),
    ],
)  # fmt: skip
def test_a_figure_has_the_digits_that_its_error_allows(value: float | None, error: float | None, expected: str) -> None:
    assert numbers.with_error(value, error) == expected


@pytest.mark.parametrize("greatest", [0.003, 0.9, 1.0, 7.0, 99.0, 100.0, 101.0, 12345.0])
def test_ticks_begin_at_zero_and_end_at_or_above_the_greatest_value(greatest: float) -> None:
    ticks = svg.ticks(greatest, 5)
    assert ticks[0] == 0
    assert ticks[-1] >= greatest
    assert 2 <= len(ticks) <= 6


def test_an_axis_without_values_has_two_ticks() -> None:
    assert svg.ticks(0.0, 5) == [0.0, 1.0] == svg.ticks(float("nan"), 5)
