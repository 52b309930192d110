"""200 random plans and profiles of `lab/trials/fuzz`; its full counts are run by hand."""

from __future__ import annotations

from lab.trials.fuzz import plans, profiles


def test_random_plans_are_parsed_or_refused_in_one_line() -> None:
    result = plans.run(200, seed=1)
    assert result.failures == ()
    assert {"by grammar", "damaged, refused", "hostile, refused", "hostile, still a plan"} <= set(result.outcomes)


def test_random_profiles_are_parsed_or_refused_in_one_line() -> None:
    result = profiles.run(200, seed=1)
    assert result.failures == ()
    assert {"right", "spoiled, refused", "misspelled, refused by name", "damaged, refused", "hostile, refused"} <= set(
        result.outcomes
    )
