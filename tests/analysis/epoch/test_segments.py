"""Seconds at which a service changed inside a level: counts of each second in, indices out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from capexplorer.analysis.epoch.segments import BINS_MOST, Seconds, changes_of

from .test_shifts import counts


def seconds(goodput: Sequence[float], failures: Sequence[float] | None = None) -> Seconds:
    good, failed = np.array(goodput, float), np.array(failures or [0.0] * len(goodput), float)
    return Seconds(good + failed, failed, good)


def at(of: Seconds) -> list[int]:
    return [change.at for change in changes_of(of)]


CASES: dict[str, tuple[Sequence[float], Sequence[float] | None, list[int]]] = {
    "all fail at the end of the level": ([53] * 10 + [0] * 4, [0] * 10 + [50] * 4, [10]),
    "failures ended two seconds before the level": ([53] * 10 + [0] * 4 + [53] * 2, [0] * 10 + [50] * 4 + [0] * 2, [10, 14]),
    "half fail": ([40] * 6 + [20] * 6, [0] * 6 + [20] * 6, [6]),
    "the second within which failures began": ([40] * 6 + [30] + [0] * 5, [0] * 6 + [10] + [40] * 5, [6]),
    "the second within which failures ended": ([0] * 5 + [30] + [40] * 6, [40] * 5 + [10] + [0] * 6, [6]),
    "a few percent fail now and then": ([40, 37, 40, 38, 40, 40, 36, 40, 40, 38], [0, 3, 0, 2, 0, 0, 4, 0, 0, 2], []),
    "always failing, now more": ([20] * 6 + [5] * 6, [20] * 6 + [35] * 6, []),
    "a slowdown": ([73, 77, 81, 75, 76, 79, 74, 19, 21, 20], None, [7]),
    "a stall at the end, with its first second": ([24, 26, 24, 23, 25, 24, 26, 24, 24, 22, 27, 24, 21, 2, 0, 0, 0], None, [13]),
    "less by a tenth": ([80] * 10 + [72] * 10, None, []),
    "few requests": ([7, 8, 6, 7, 8, 7, 3, 4], None, []),
    "one second alone": ([60] * 8 + [0] + [60] * 8, None, []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_level_is_cut_at_the_second_of_a_large_and_certain_change(name: str) -> None:
    goodput, failures, expected = CASES[name]
    if name == "always failing, now more":  # what remains is a change of goodput
        assert [change.column for change in changes_of(seconds(goodput, failures))] == ["goodput"]
    else:
        assert at(seconds(goodput, failures)) == expected


def test_a_change_is_named_by_what_shows_it_best() -> None:
    failing, slow = seconds([50] * 8 + [10] * 8, [0] * 8 + [40] * 8), seconds([50] * 8 + [20] * 8)
    assert [changes_of(each)[0].column for each in (failing, slow)] == ["failures", "goodput"]


def test_cuts_of_a_long_level_are_placed_to_the_second() -> None:
    first = 3 * BINS_MOST + 1
    assert at(seconds(counts([(60, first), (30, 2 * BINS_MOST)]))) == pytest.approx([first], abs=1)


def test_without_a_count_of_work_failures_alone_show_a_change() -> None:
    failures = np.array([0.0] * 6 + [30.0] * 6)
    assert [change.at for change in changes_of(Seconds(np.full(12, 40.0), failures))] == [6]


@pytest.mark.parametrize("rate", [2.0, 5.0, 20.0])
def test_random_arrivals_at_a_constant_rate_are_no_change(rate: float) -> None:
    rng = np.random.default_rng(7)
    drawn = [rng.poisson(rate, 20).astype(float) for _ in range(50)]
    assert sum(bool(changes_of(Seconds(each, np.zeros(20), each, at_random=True))) for each in drawn) == 0
