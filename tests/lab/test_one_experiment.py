"""The experiment that `make short-trials` carries out: half a minute of load on a service of known capacity."""

from __future__ import annotations

import pytest
from disturbed_runs import repeated_while_disturbed

from lab.kit.runs import Ran, headless
from lab.trials.experiments.known import KNEE_KINDS, SYSTEMS, system

pytestmark = [pytest.mark.slow, pytest.mark.trial]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return repeated_while_disturbed(
        lambda folder: headless(folder, str(system("two-workers").path), "--plan", "short", timeout_s=200.0),
        lambda ran: ran.knee is not None,
        lambda ran: ran.median("others_cpu_ratio") or 0.0,
        tmp_path_factory.mktemp("short"),
    )


def test_the_systems_have_the_knees_that_the_titles_of_their_profiles_state() -> None:
    assert [each.knee_users for each in SYSTEMS] == pytest.approx([24, 56, 30])


def test_the_knee_of_a_real_service_is_marked_near_its_true_users_and_its_limit_is_queueing(ran: Ran) -> None:
    knee, true = ran.knee, system("two-workers")
    assert knee is not None, ran.stderr
    assert knee["users"] == pytest.approx(true.knee_users, rel=0.25)
    assert knee["users_low"] < knee["users"] < knee["users_high"]
    assert knee["capacity_rps"] == pytest.approx(true.capacity_rps, rel=0.15)
    assert knee["limit"] == "queueing"


def test_it_is_marked_once_a_level_is_beyond_it_and_from_the_levels_before_the_last(ran: Ran) -> None:
    """With noise the first mark may be a bend or "at or below" until the last level counts, so any kind is accepted."""
    first = next(mark for mark in ran.marks if mark.kind in KNEE_KINDS)
    beyond = next(level for level in ran.timeline.levels if level.users > system("two-workers").knee_users)
    last = ran.timeline.levels[-1].closed
    assert last is not None and last.settled_s is not None
    assert beyond.opened.t_s < first.t_s < last.settled_s
