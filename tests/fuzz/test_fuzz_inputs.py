"""A few hundred of the plans and profiles of `trials/fuzz`; the full counts run by hand."""

from __future__ import annotations

from trials.fuzz import plans, profiles


def test_plans() -> None:
    result = plans.run(200, seed=1)
    assert result.failures == ()
    assert {"by grammar", "damaged, refused", "hostile, refused", "hostile, still a plan"} <= set(result.outcomes)


def test_profiles() -> None:
    result = profiles.run(200, seed=1)
    assert result.failures == ()
    assert {"right", "spoiled, refused", "misspelled, refused by name", "damaged, refused", "hostile, refused"} <= set(
        result.outcomes
    )
