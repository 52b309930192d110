"""The detector on simulated systems whose knee is known exactly. A fixed sample; `python -m lab.bench knees` has 600 ladders.

Seeds 200,000 and up: thresholds were tuned on others (simulation/ladders.py).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from capexplorer.analysis.knee.detector import judge
from capexplorer.model.verdicts import KneeVerdict
from lab.simulation.ladders import KINDS, Ladder, ladder, linear_ladder, rungs, shown

SEEDS = range(200_000, 200_012)


@cache
def climbs() -> tuple[tuple[Ladder, KneeVerdict | None], ...]:
    ladders = [ladder(kind, seed) for kind in KINDS for seed in SEEDS]
    return tuple((climb, judge(shown(climb)).knee) for climb in ladders)


def test_ladders_to_twice_their_knee_are_marked_within_25_percent_of_it() -> None:
    errors = [
        abs((knee.users or 0.0) / (climb.truth.knee_users or 1.0) - 1) if knee is not None and knee.kind == "knee" else np.inf
        for climb, knee in climbs()
    ]
    assert np.mean(np.array(errors) <= 0.25) >= 0.96
    assert np.median(errors) <= 0.05


def test_90_percent_intervals_cover_the_true_knee_in_85_to_100_percent_of_ladders() -> None:
    covered = [
        (knee.users_low or 0.0) <= (climb.truth.knee_users or 0.0) <= (knee.users_high or 0.0)
        for climb, knee in climbs()
        if knee is not None and knee.kind == "knee"
    ]
    assert 0.85 <= np.mean(covered) <= 1.0  # 72 ladders: three standard errors about 0.94


def test_the_reported_limit_is_the_simulated_one() -> None:
    right = [knee is not None and knee.limit == climb.truth.limit for climb, knee in climbs()]
    assert np.mean(right) >= 0.97


@pytest.mark.parametrize("kind", KINDS)
def test_ladders_that_stop_well_below_their_knee_are_not_marked(kind: str) -> None:
    for seed in SEEDS:
        climb = ladder(next(known for known in KINDS if known == kind), seed, top=0.45)
        knee = judge(shown(climb)).knee
        assert len(rungs(0.45 * (climb.truth.knee_users or 0.0))) < 3 or (knee is not None and knee.kind in ("no_knee", "bend"))


def test_systems_that_never_saturate_have_no_knee() -> None:
    kinds = [knee.kind if (knee := judge(shown(linear_ladder(seed))).knee) else None for seed in range(200_000, 200_006)]
    assert set(kinds) == {"no_knee"}
