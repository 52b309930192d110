"""Simulated climbs beside neighbours: with the check for other processes no mark is wrong; without it some are."""

from __future__ import annotations

from lab.bench.neighbours import counts
from lab.simulation.crowded import QUIET, climb

SEEDS = range(200_000, 200_060)


def test_with_the_check_for_neighbours_no_knee_is_marked_below_that_of_the_service() -> None:
    assert counts(SEEDS, 0.6, 1.0, checks=False)["wrong"] > 5, (
        "without the check, other processes must cause wrong knees, or the next assertion tests nothing"
    )
    assert counts(SEEDS, 0.6, 1.0, checks=True)["wrong"] == 0


def test_on_a_quiet_machine_the_check_of_neighbours_changes_nothing() -> None:
    assert all(each == QUIET for each in climb(SEEDS[0], 2.5, busy_share=0.0).beside)
    undisturbed = [counts(SEEDS, 2.5, 0.0, checks=checks) for checks in (False, True)]
    assert undisturbed[0] == undisturbed[1]
    assert undisturbed[0]["wrong"] == 0
    assert undisturbed[0]["right"] > 30
