"""Statistics of figures, of which some were not measured (None), and of series of seconds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capexplorer.analysis.statistics import (
    CORRELATION_MOST,
    all_known,
    chi_square,
    correlation_of,
    filled,
    mean_of_all,
    mean_of_known,
    median_of_known,
    remainder,
    upper_median,
    weighted,
    weighted_mean,
    wilson,
)


@pytest.mark.parametrize(
    ("values", "of_known", "of_all", "middle"),
    [((1.0, 2.0, 6.0), 3.0, 3.0, 2.0), ((1.0, None, 2.0), 1.5, None, 1.5), ((None,), None, None, None), ((), None, None, None)],
)
def test_means_and_the_median_skip_or_require_unknown_values(
    values: tuple[float | None, ...], of_known: float | None, of_all: float | None, middle: float | None
) -> None:
    assert {"of_known": mean_of_known(values), "of_all": mean_of_all(values), "median": median_of_known(values)} == {
        "of_known": of_known,
        "of_all": of_all,
        "median": middle,
    }


@pytest.mark.parametrize(
    ("whole", "parts", "expected"),
    [(2.0, (0.5, 0.25), 1.25), (0.5, (0.75,), 0.0), (None, (0.5,), None), (2.0, (0.5, None), None)],
    ids=["what is left", "never below zero", "the whole is not known", "a part is not known"],
)
def test_the_rest_is_the_whole_less_its_parts_and_never_negative(
    whole: float | None, parts: tuple[float | None, ...], expected: float | None
) -> None:
    assert remainder(whole, *parts) == expected


def test_one_unknown_value_makes_all_known_empty() -> None:
    assert (all_known([1.0, 2.0]), all_known([1.0, None])) == ([1.0, 2.0], [])


def test_the_upper_median_is_a_value_that_was_measured() -> None:
    assert [upper_median(values) for values in ([3.0, 1.0, 2.0], [4.0, None, 1.0], [None], [])] == [2.0, 4.0, None, None]


def test_a_weighted_mean_is_of_what_is_known_and_has_a_weight() -> None:
    assert weighted_mean([(1.0, 3), (5.0, 1), (None, 9), (100.0, 0)]) == 2.0
    assert weighted_mean([(None, 1), (2.0, 0)]) is None


@pytest.mark.parametrize(("apart", "error"), [(0.0, 0.5**0.5), (1.0, 1.0), (10.0, 10.0)])
def test_the_error_of_a_mean_grows_where_values_differ(apart: float, error: float) -> None:
    assert weighted((100.0 - apart, 100.0 + apart), (1.0, 1.0)) == pytest.approx((100.0, error))


@pytest.mark.parametrize(("share", "count", "bounds"), [(0.5, 100, (0.42, 0.58)), (0.0, 50, (0.0, 0.051)), (1.0, 0, (0.0, 1.0))])
def test_the_bounds_of_a_share_are_those_of_wilson(share: float, count: int, bounds: tuple[float, float]) -> None:
    assert wilson(share, count) == pytest.approx(bounds, abs=0.002)


@pytest.mark.parametrize(
    ("freedom", "deviate", "tabulated"),
    [(4, -1.64, 0.711), (5, -1.64, 1.145), (10, -1.64, 3.940), (30, -1.64, 18.493), (4, 1.64, 9.488), (10, 1.64, 18.307)],
)
def test_the_quantiles_of_chi_square_are_the_tabulated_ones(freedom: int, deviate: float, tabulated: float) -> None:
    assert chi_square(freedom, deviate) == pytest.approx(tabulated, rel=0.03)


def test_an_unknown_second_repeats_the_one_before_it() -> None:
    nan = math.nan
    assert filled(np.array([nan, 1.0, nan, nan, 2.0])).tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert np.isnan(filled(np.array([nan, nan]))).all()


def test_correlation_is_between_none_and_the_most_that_is_assumed() -> None:
    alternating, slow = np.array([1.0, -1.0] * 20), np.repeat([1.0, -1.0], 200)
    assert correlation_of(alternating, 40.0) == pytest.approx(1 / 40)  # none, but for the correction of its bias
    assert correlation_of(slow, 400.0) == CORRELATION_MOST
