"""Simulated worlds that move: no knee where the service changed, live marks as reanalysis finds them."""

from __future__ import annotations

import pytest

from capexplorer.analysis.reanalysis import reanalyse
from trials.simulation.moving import World, knee_marks, moving_ladder

FIRST_SEED = 250_000


@pytest.mark.parametrize("world", ["errors", "stall", "capacity_up", "passing_stall"])
def test_hardly_any_knee_is_far_from_every_truth(world: World) -> None:
    ladders = [moving_ladder(world, seed) for seed in range(FIRST_SEED, FIRST_SEED + 8)]
    knees = [
        (mark.users or 0.0, ladder.knees) for ladder in ladders for mark in knee_marks(ladder.timeline) if mark.kind == "knee"
    ]
    assert [users for users, truths in knees if all(abs(users / truth - 1) > 0.35 for truth in truths)] == []


def test_live_detectors_and_reanalysis_agree() -> None:
    for world in ("errors", "capacity_down"):
        assert reanalyse(moving_ladder(world, FIRST_SEED).timeline).changes == ()
