"""Paired differences: what the interval is, what it decides, and how often it is wrong when it is looked at after every pair."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from capexplorer.analysis.paired import PRIOR_VARIANCE, Change, MeanDifference, change, mean_difference

ERROR = 0.05


def log_evidence(differences: list[float], mean: float) -> float:
    """ln E as the docstring of `paired` states it."""
    n, g = len(differences), PRIOR_VARIANCE
    t2 = n * (float(np.mean(differences)) - mean) ** 2 / float(np.var(differences, ddof=1))
    ratio = (1 + t2 / (n - 1)) / (1 + t2 / ((1 + n * g) * (n - 1)))
    return -0.5 * math.log(1 + n * g) + n / 2 * math.log(ratio)


@pytest.mark.parametrize("count", [4, 7, 30])
def test_at_both_ends_of_the_interval_the_evidence_against_the_mean_is_just_enough(count: int) -> None:
    differences = list(np.random.default_rng(count).normal(0.03, 0.02, count))
    found = mean_difference(differences, ERROR)
    assert [log_evidence(differences, end) for end in (found.low, found.high)] == pytest.approx([math.log(1 / ERROR)] * 2)
    assert found.mean == pytest.approx(np.mean(differences))


def test_too_few_pairs_decide_nothing() -> None:
    for count in (1, 2, 3):
        found = mean_difference([-0.5 - 1e-9 * each for each in range(count)], ERROR)
        assert (found.low, found.high) == (-math.inf, math.inf)
        assert change(found, 0.05) == "undecided"


def test_pairs_that_do_not_differ_at_all_are_equal() -> None:
    assert mean_difference([0.0] * 6, ERROR) == MeanDifference(6, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.09, -0.02, "lower"),
        (0.02, 0.09, "higher"),
        (-0.03, 0.03, "equal"),
        (-0.03, -0.01, "equal"),
        (-0.06, 0.03, "undecided"),
        (-0.051, 0.0, "equal"),  # -5% is the logarithm -0.0513
        (-0.052, 0.0, "undecided"),
    ],
)
def test_an_interval_decides_by_zero_and_by_the_least_change(low: float, high: float, expected: Change) -> None:
    assert change(MeanDifference(8, (low + high) / 2, low, high), 0.05) == expected


# -- in the long run

PAIRS = 30
Noise = Callable[[np.random.Generator], NDArray[np.float64]]


def slow_minutes(rng: np.random.Generator) -> NDArray[np.float64]:
    """A machine that now and then loses a tenth of its speed for some blocks."""
    blocks = rng.normal(0, 0.01, 2 * PAIRS)
    for start in rng.integers(0, 2 * PAIRS, 6):
        blocks[start : start + rng.integers(1, 9)] -= 0.1
    return blocks


def lasting(rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise that is correlated over ten blocks, and a drift."""
    blocks = np.zeros(2 * PAIRS)
    for at in range(1, 2 * PAIRS):
        blocks[at] = 0.9 * blocks[at - 1] + rng.normal(0, 0.02)
    return blocks + 0.005 * np.arange(2 * PAIRS)


NOISE: dict[str, Noise] = {
    "white": lambda rng: rng.normal(0, 0.02, 2 * PAIRS),
    "slow minutes": slow_minutes,
    "lasting": lasting,
    "heavy tails": lambda rng: 0.02 * rng.standard_t(2, 2 * PAIRS),
    "the first block is quicker": lambda rng: rng.normal(0, 0.01, 2 * PAIRS) + np.tile([0.02, -0.02], PAIRS),
}


def pairs(noise: Noise, seed: int, true: float = 0.0) -> list[float]:
    """Differences of B - A: in each two pairs both orders, the first of them at random."""
    rng = np.random.default_rng(seed)
    blocks, first = noise(rng), rng.choice([-1, 1], PAIRS // 2)
    return list(true + np.repeat(first, 2) * np.tile([1, -1], PAIRS // 2) * (blocks[1::2] - blocks[::2]))


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_of_equal_builds_at_most_5_of_100_ever_differ(noise: Noise) -> None:
    def ever_differs(seed: int) -> bool:
        differences = pairs(noise, seed)
        looks = (mean_difference(differences[:count], ERROR) for count in range(2, PAIRS + 1))
        return any(not each.low <= 0 <= each.high for each in looks)

    assert sum(map(ever_differs, range(200))) <= 10


def test_a_change_of_twice_the_noise_of_pairs_is_found_within_12_pairs() -> None:
    quiet: Noise = lambda rng: rng.normal(0, 0.025 / math.sqrt(2), 2 * PAIRS)  # noqa: E731
    found = [change(mean_difference(pairs(quiet, seed, true=-0.05)[:12], ERROR / 3), 0.05) for seed in range(100)]
    assert found.count("lower") >= 90
