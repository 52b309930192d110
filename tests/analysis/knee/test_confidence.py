"""If Little's law leaves users' time unaccounted for by more than a factor of 1.3, the confidence of a verdict is low."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import judge
from capexplorer.analysis.knee.verdict_kinds import LITTLE_MOST, unaccounted_ratio
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.verdicts import KneeVerdict

from ..ladders import ideal

PAUSE_S = 0.45
USERS = [5, 10, 20, 30, 40, 60, 80, 100]


def ladder(pause_s: float | None, users: Sequence[float] = USERS) -> list[LadderLevel]:
    """N* = 50 at 100/s. Users pause for 0.45 s; `pause_s` is what was measured of it."""
    return [replace(level, wait_s=pause_s, wait_includes_sleeps=pause_s is not None) for level in ideal(users)]


def knee(levels: Sequence[LadderLevel]) -> KneeVerdict:
    found = judge(levels).knee
    assert found is not None
    return found


def test_a_knee_whose_users_time_is_accounted_for_keeps_its_confidence() -> None:
    found = knee(ladder(PAUSE_S))
    assert (found.kind, found.confidence) == ("knee", "high")
    assert found.evidence.unaccounted_ratio is None


@pytest.mark.parametrize("pause_s", [0.0, 0.1, 0.2])
def test_a_knee_whose_users_spend_time_unaccounted_for_has_low_confidence(pause_s: float) -> None:
    found = knee(ladder(pause_s))
    assert found.confidence == "low"
    assert found.evidence.unaccounted_ratio is not None
    assert found.evidence.unaccounted_ratio > LITTLE_MOST


def test_linear_scaling_with_time_unaccounted_for_has_low_confidence() -> None:
    low = [5, 10, 20, 30]
    assert knee(ladder(PAUSE_S, low)).confidence == "high"
    assert knee(ladder(0.0, low)).confidence == "low"


def test_without_measured_think_times_the_users_time_is_not_checked() -> None:
    found = knee(ladder(None))
    assert (found.confidence, found.evidence.unaccounted_ratio) == ("high", None)


def test_the_users_time_is_not_checked_in_older_logs_with_waits_but_no_sleeps() -> None:
    waits = [replace(level, wait_includes_sleeps=False) for level in ladder(0.0)]
    assert knee(waits).confidence == "high"


def test_levels_shorter_than_three_cycles_do_not_count() -> None:
    short = [replace(level, requests=2 * int(level.users)) for level in ladder(0.0)]
    assert unaccounted_ratio(short) is None


def test_the_median_of_all_levels_decides_how_much_time_is_unaccounted_for() -> None:
    levels = ladder(PAUSE_S)
    levels[0] = replace(levels[0], wait_s=0.0)
    assert unaccounted_ratio(levels) == pytest.approx(1.0, rel=0.01)
