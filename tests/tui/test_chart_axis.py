"""Axes: round bounds, ticks and labels; pages of time that move in steps."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.tui.render.axis import (
    Axis,
    compact,
    count_axis,
    duration_ticks,
    linear_axis,
    log_axis,
    log_ticks,
    page,
    round_bound,
    ticks,
)
from capexplorer.wording import session_time


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0, 100, 3, (0, 50, 100)),
        (0, 100, 6, (0, 20, 40, 60, 80, 100)),
        (0, 150, 4, (0, 50, 100, 150)),
        (0, 0.3, 4, (0, 0.1, 0.2, 0.3)),
        (0, 5, 3, (0, 2, 4)),
        (0, 2_000_000, 3, (0, 1_000_000, 2_000_000)),
        (10, 40, 4, (10, 20, 30, 40)),
        (3, 4, 1, (4,)),
        (0, 0, 5, ()),
        (0, math.nan, 5, ()),
        (0, 10, 0, ()),
    ],
)
def test_ticks_are_multiples_of_1_2_5(low: float, high: float, most: int, expected: tuple[float, ...]) -> None:
    assert ticks(low, high, most) == pytest.approx(expected)


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e9), st.integers(1, 12))
def test_ticks_keep_inside_and_are_never_too_many(low: float, span: float, most: int) -> None:
    found = ticks(low, low + span, most)
    assert len(found) <= most
    assert all(low - span * 1e-3 <= tick <= low + span * 1.001 for tick in found)


@pytest.mark.parametrize(
    ("highest", "bound"),
    [
        (0, 1), (0.7, 0.8), (1, 1), (1.01, 1.5), (98, 100), (121, 150), (160, 200), (210, 300), (999, 1000), (1001, 1500),
        (math.nan, 1), (math.inf, 1),
    ],
)  # fmt: skip
def test_a_bound_is_round_and_not_below_the_data(highest: float, bound: float) -> None:
    assert round_bound(highest) == pytest.approx(bound)


def test_the_bound_is_a_tick() -> None:
    assert linear_axis(121, 4).ticks == ((0, "0"), (50, "50"), (100, "100"), (150, "150"))


def test_an_axis_of_users_has_whole_numbers_only() -> None:
    assert count_axis(1, 8).ticks == ((0, "0"), (1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5"))


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (1, 100, 7, (1, 2, 5, 10, 20, 50, 100)),
        (1, 100, 4, (1, 10, 100)),
        (1, 1_000_000, 4, (1, 100, 10_000, 1_000_000)),
        (0.2, 5, 9, (0.2, 0.5, 1, 2, 5)),
    ],
)
def test_logarithmic_ticks(low: float, high: float, most: int, expected: tuple[float, ...]) -> None:
    assert log_ticks(low, high, most) == pytest.approx(expected)


def test_a_logarithmic_axis_spans_at_least_a_decade_and_has_equal_decades() -> None:
    axis = log_axis(120, 180, 4)
    assert (axis.low, axis.high) == (100, 1000)
    assert axis.fraction(100 * math.sqrt(10)) == pytest.approx(0.5)
    assert math.isnan(axis.fraction(0))


@pytest.mark.parametrize(
    ("start_s", "end_s", "most", "labels"),
    [
        (0, 60, 3, ["00:00", "00:30", "01:00"]),
        (0, 300, 6, ["00:00", "01:00", "02:00", "03:00", "04:00", "05:00"]),
        (240, 300, 5, ["04:00", "04:15", "04:30", "04:45", "05:00"]),
        (3600, 4500, 4, ["1:00:00", "1:05:00", "1:10:00", "1:15:00"]),
        (0, 86_400, 5, ["00:00", "6:00:00", "12:00:00", "18:00:00", "24:00:00"]),
    ],
)
def test_time_ticks_are_round_moments(start_s: float, end_s: float, most: int, labels: list[str]) -> None:
    assert [session_time(round(tick)) for tick in duration_ticks(start_s, end_s, most)] == labels


@pytest.mark.parametrize(
    ("now_s", "window_s", "expected"),
    [
        (0, 300, (0, 60)),
        (61, 300, (0, 120)),
        (300, 300, (0, 300)),
        (301, 300, (150, 450)),
        (450, 300, (150, 450)),
        (451, 300, (300, 600)),
        (61, 60, (30, 90)),
        (59, None, (0, 60)),
        (61, None, (0, 120)),
        (121, None, (0, 180)),
        (90_000, None, (0, 172_800)),
    ],
)
def test_a_page_grows_to_the_window_then_moves_by_half_of_it(
    now_s: float, window_s: float | None, expected: tuple[float, float]
) -> None:
    assert page(now_s, window_s) == expected


@given(st.floats(61.0, 10 * 86_400.0))
def test_the_page_of_a_whole_session_is_at_least_half_used_and_from_two_minutes_on_two_thirds(now_s: float) -> None:
    _, end_s = page(now_s, None)
    least = 0.5 if now_s <= 120.0 or now_s > 86_400.0 else 0.66
    assert now_s >= least * end_s


@given(st.floats(0, 1e6), st.sampled_from([60.0, 300.0, 900.0, None]))
def test_a_page_contains_the_present(now_s: float, window_s: float | None) -> None:
    start_s, end_s = page(now_s, window_s)
    assert start_s <= now_s <= end_s + 1e-6


@pytest.mark.parametrize(
    ("value", "label"),
    [(0, "0"), (0.5, "0.5"), (150, "150"), (1500, "1.5k"), (1000, "1k"), (2e7, "20M"), (1e12, "1T"), (1e100, "1e100")],
)
def test_tick_labels_are_compact(value: float, label: str) -> None:
    assert compact(value) == label


def test_nan_and_infinity_have_no_fraction_of_an_axis() -> None:
    assert math.isnan(Axis(0, 1).fraction(math.nan)) and math.isnan(Axis(0, 1).fraction(math.inf))
