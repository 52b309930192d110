"""Which of many series change at a bend: probabilities, and what remains of them after many comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from capexplorer.analysis.telemetry.bends import (
    Bend,
    LevelMeans,
    false_shares,
    means_and_errors,
    probabilities,
    student_t,
)

LOADS = np.array([1.0, 3, 6, 12, 24, 48, 96, 136, 56, 96, 1])
BEND = Bend(load=80.0, low=75.0, high=86.0)
TIMES_S = np.linspace(0.0, 120.0, len(LOADS))
GOODPUT = np.minimum(LOADS, BEND.load)


def p_of(values: np.ndarray, error: float = 0.2, loads: np.ndarray = LOADS) -> float:
    column, count = values[:, np.newaxis].astype(float), len(loads)
    levels = LevelMeans(loads, GOODPUT[:count], TIMES_S[:count], column, np.full((count, 1), error))
    return float(probabilities(levels, BEND)[0])


QUEUE = np.maximum(0.0, LOADS - BEND.load)
NOISE = np.random.default_rng(5).normal(0, 0.2, len(LOADS))


@pytest.mark.parametrize(
    "values", [QUEUE + NOISE, 50 - QUEUE + NOISE, 20.0 * (LOADS > BEND.load) + NOISE], ids=["queue", "falling", "counter"]
)
def test_a_series_that_changes_at_the_bend_is_unlikely_by_chance(values: np.ndarray) -> None:
    assert p_of(values) < 1e-4


@pytest.mark.parametrize(
    "values",
    [
        5 + NOISE,
        0.5 * LOADS + NOISE,
        GOODPUT + NOISE,
        LOADS**2 + NOISE,
        TIMES_S + NOISE,
        np.maximum(0.0, LOADS - 20) + NOISE,
        1000 + 0.1 * QUEUE + NOISE,
        20.0 * (TIMES_S > 70) + NOISE,
    ],
    ids=["constant", "load", "goodput", "square", "time", "elsewhere", "too little", "from then on"],
)
def test_a_series_that_needs_no_bend_of_its_own_there_is_not(values: np.ndarray) -> None:
    assert p_of(values) > 0.01


def test_a_jump_counts_only_if_less_load_followed_and_growth_counts_in_any_order() -> None:
    climb = np.sort(LOADS)
    queue, jump = np.maximum(0.0, climb - BEND.load), 20.0 * (climb > BEND.load)
    levels = LevelMeans(
        climb, np.minimum(climb, BEND.load), TIMES_S, np.column_stack([queue, jump]) + NOISE[:, np.newaxis], ERRORS
    )
    grows, jumps = probabilities(levels, BEND)
    assert grows < 1e-4
    assert jumps == 1.0


ERRORS = np.full((len(LOADS), 2), 0.2)


def test_few_levels_and_levels_on_one_side_say_nothing() -> None:
    assert p_of(QUEUE[:5], loads=LOADS[:5]) == 1.0
    assert p_of(QUEUE[:6], loads=LOADS[:6]) == 1.0


@pytest.mark.parametrize(
    ("t", "freedom", "p"), [(12.706, 1, 0.05), (4.303, 2, 0.05), (3.499, 7, 0.01), (2.228, 10, 0.05), (0, 3, 1)]
)
def test_probabilities_of_students_t(t: float, freedom: int, p: float) -> None:
    assert student_t(np.array([t]), freedom)[0] == pytest.approx(p, rel=1e-3)


def test_many_comparisons_are_paid_for() -> None:
    shares = false_shares(np.array([0.04, 0.001, 0.02, 0.9]))
    assert shares == pytest.approx([0.04 * 4 / 3, 0.004, 0.04, 0.9])
    assert false_shares(np.array([0.01])) == pytest.approx([0.01])
    assert len(false_shares(np.empty(0))) == 0


def test_a_level_has_means_and_errors_by_batches_and_none_where_a_batch_has_no_value() -> None:
    rows = np.column_stack([np.arange(12.0), np.full(12, 3.0), np.r_[np.full(6, np.nan), np.ones(6)]])
    means, errors = means_and_errors(rows)
    assert means[:2] == pytest.approx([5.5, 3.0])
    assert errors[:2] == pytest.approx([np.std([0.5, 2.5, 4.5, 6.5, 8.5, 10.5], ddof=1) / 6**0.5, 0.0])
    assert np.isnan(means[2])
