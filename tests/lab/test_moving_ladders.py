"""Simulated services that change: a change is not marked as a knee, and live marks agree with reanalysis."""

from __future__ import annotations

import math

import numpy as np
import pytest

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.analysis.reanalysis import reanalyse
from lab.simulation.moving import World, explored, knee_marks, moving_ladder
from lab.simulation.queues import System, Trouble

FIRST_SEED = 250_000


@pytest.mark.parametrize("world", ["errors", "stall", "capacity_up", "passing_stall"])
def test_no_knee_is_far_from_every_true_knee(world: World) -> None:
    ladders = [moving_ladder(world, seed) for seed in range(FIRST_SEED, FIRST_SEED + 2)]
    knees = [
        (mark.users or 0.0, ladder.truths) for ladder in ladders for mark in knee_marks(ladder.timeline) if mark.kind == "knee"
    ]
    assert [users for users, truths in knees if all(abs(users / truth - 1) > 0.35 for truth in truths)] == []


def test_live_detectors_and_reanalysis_agree() -> None:
    for world in ("errors", "capacity_down"):
        changes = reanalyse(moving_ladder(world, FIRST_SEED).timeline).changes
        assert [each.key for each in changes if not each.key.startswith("cause:")] == []  # causes are found from events


def test_a_neighbour_that_begins_inside_a_level_disturbs_that_part_of_it() -> None:
    busy = Trouble(46.0, math.inf, speed=0.3, by_neighbour=True)
    service = System(service_s=0.02, think_s=0.5, service_spread="constant", think_spread="constant", trouble=busy)
    timeline = explored(service, [5, 10, 20, 24], 18, np.random.default_rng(FIRST_SEED)).timeline
    third = [level for level in epoch_of(timeline, 0).ladder if round(level.users) == 20]
    assert [level.goodput_disturbed for level in third] == [False, True]
    assert knee_marks(timeline) == []


def test_a_neighbour_whose_share_of_a_level_is_too_small_to_split_it_still_disturbs_it() -> None:
    busy = Trouble(90.0, math.inf, speed=0.4, by_neighbour=True)
    service = System(service_s=0.07, think_s=1.56, servers=2, trouble=busy)
    timeline = explored(service, [8, 16, 24, 32, 37], 20, np.random.default_rng(FIRST_SEED + 1)).timeline
    last = [level for level in epoch_of(timeline, 0).ladder if round(level.users) == 37]
    assert [level.goodput_disturbed for level in last] == [True]
    assert knee_marks(timeline) == []
