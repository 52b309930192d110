"""The experiment that `make short-trials` carries out: half a minute of load on a service of known capacity."""

from __future__ import annotations

import pytest
from disturbed_runs import repeated_while_disturbed

from capexplorer.model.events import Mark
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


def test_the_knee_of_a_real_service_is_marked_near_its_true_users(ran: Ran) -> None:
    knee = ran.knee
    assert knee is not None, ran.stderr
    assert knee["users"] == pytest.approx(system("two-workers").knee_users, rel=0.25)
    assert knee["users_low"] < knee["users"] < knee["users_high"]
    assert knee["capacity_rps"] == pytest.approx(system("two-workers").capacity_rps, rel=0.15)


def test_the_limit_of_that_knee_is_queueing(ran: Ran) -> None:
    assert ran.knee is not None
    assert ran.knee["limit"] == "queueing"


def test_that_knee_is_marked_from_the_levels_before_the_last(ran: Ran) -> None:
    """With noise the first mark may be a bend or "at or below" until the last level counts, so any kind is accepted."""
    last = ran.timeline.levels[-1].closed
    assert last is not None and last.settled_s is not None
    assert first_mark(ran).t_s < last.settled_s


def test_no_knee_was_marked_while_no_level_was_beyond_it(ran: Ran) -> None:
    beyond = next(level for level in ran.timeline.levels if level.users > system("two-workers").knee_users)
    assert first_mark(ran).t_s > beyond.opened.t_s


def first_mark(ran: Ran) -> Mark:
    return next(mark for mark in ran.marks if mark.kind in KNEE_KINDS)
