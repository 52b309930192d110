"""Short runs of `make fuzz`: damaged logs, plans and profiles give what is right, or one line."""

from __future__ import annotations

import random
from types import ModuleType

import pytest

from lab.trials.fuzz import logs, plans, profiles


@pytest.mark.parametrize(
    ("module", "count", "outcomes"),
    [
        (logs, 30, {"noted", "refused", "same figures"}),
        (plans, 200, {"by grammar", "damaged, refused", "hostile, refused", "hostile, still a plan"}),
        (profiles, 200, {"right", "spoiled, refused", "misspelled, refused by name", "damaged, refused", "hostile, refused"}),
    ],
)
def test_no_random_input_fails_and_each_outcome_occurs(module: ModuleType, count: int, outcomes: set[str]) -> None:
    result = module.run(count, seed=1)
    assert result.failures == ()
    assert outcomes <= set(result.outcomes)


@pytest.mark.parametrize("seed", [20632, 26538, 48497, 56308, 65562])
def test_seeds_that_failed_once_in_100_000_cases_pass(seed: int) -> None:
    assert logs.run(count=1, seed=seed).failures == ()


def test_a_case_depends_on_its_seed_alone() -> None:
    lines = logs.small_logs()[0]
    first, second = ([logs.forge(lines, random.Random(seed)) for seed in range(300)] for _ in range(2))
    assert first == second
