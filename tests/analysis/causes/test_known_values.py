"""Means, medians and differences of figures, some of which were not measured (None)."""

from __future__ import annotations

import pytest

from capexplorer.analysis.causes.generator_saturation import all_known, mean_of_all, mean_of_known, median_of_known, remainder


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
