"""Simulated climbs beside neighbours: none of them makes a knee, and without looking at them some do."""

from __future__ import annotations

from benchmarks.neighbours import counts
from trials.simulation.crowded import QUIET, climb

SEEDS = range(200_000, 200_060)


def test_neighbours_make_no_knee_below_that_of_the_service() -> None:
    assert counts(SEEDS, 0.6, 1.0, looks=False)["wrong"] > 5, "they would"
    assert counts(SEEDS, 0.6, 1.0, looks=True)["wrong"] == 0


def test_on_a_quiet_machine_the_check_of_neighbours_changes_nothing() -> None:
    assert all(each == QUIET for each in climb(SEEDS[0], 2.5, busy_share=0.0).beside)
    quiet = [counts(SEEDS, 2.5, 0.0, looks=looks) for looks in (False, True)]
    assert quiet[0] == quiet[1]
    assert quiet[0]["wrong"] == 0
    assert quiet[0]["right"] > 30
