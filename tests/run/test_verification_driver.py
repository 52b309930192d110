"""The autopilot as a driver that only verifies: a knee that a person found by hand."""

from __future__ import annotations

from pathlib import Path

from capexplorer import wording
from capexplorer.model.verdicts import KneeVerdict
from capexplorer.run.drivers.autopilot import AutopilotDriver
from capexplorer.run.drivers.driver import Autopilot

from .search import Search


def explored_by_hand(search: Search, *steps: tuple[int, int]) -> None:
    """(users, seconds), by a person."""
    for users, seconds in steps:
        search.load_target.step(users)
        search.run.step(users)
        for _ in range(seconds):
            search.second()


BY_HAND = ((10, 12), (20, 12), (30, 12), (40, 12), (65, 12), (90, 12))


def knee_of(search: Search) -> KneeVerdict:
    verdict = search.run.timeline.current_verdict
    assert verdict is not None and verdict.capacity.knee is not None
    return verdict.capacity.knee


def verify_alone(search: Search, seconds: int = 120) -> None:
    search.driver.begin(search.load_target.hand_to(Autopilot()), only_verifies=True)
    for _ in range(seconds):
        if not search.driver.is_on:
            break
        search.second()


def test_a_knee_found_by_hand_is_verified_without_a_search(search: Search) -> None:
    explored_by_hand(search, *BY_HAND)
    known = len(search.levels())
    verify_alone(search)
    assert search.levels()[known:] == [(35, "autopilot"), (60, "autopilot"), (10, "autopilot")]
    assert not knee_of(search).provisional
    assert search.finished[0].startswith("verification finished: knee 50 [") and search.finished[0].endswith(", verified")


def test_only_the_levels_that_a_person_has_not_made_are_made(search: Search) -> None:
    explored_by_hand(search, *BY_HAND, (35, 30))
    known = len(search.levels())
    verify_alone(search)
    assert search.levels()[known:] == [(60, "autopilot"), (10, "autopilot")]


def test_levels_made_by_hand_verify_as_well(search: Search) -> None:
    explored_by_hand(search, *BY_HAND, (35, 30), (60, 12), (10, 12))
    assert not knee_of(search).provisional
    verify_alone(search)
    assert search.finished and search.finished[0].endswith(", verified")


def test_a_service_that_became_slower_contradicts_its_knee_and_the_users_go_back_to_rest(search: Search) -> None:
    explored_by_hand(search, *BY_HAND)
    search.service = lambda users: (min(users, 25), users / min(users, 25) * 1000 - 400, 0)
    verify_alone(search, seconds=200)
    knee = knee_of(search)
    assert knee.verification is not None and (knee.verification.state, knee.confidence) == ("contradicted", "low")
    assert search.finished[0].endswith(", contradicted by later levels")
    assert search.load_target.wanted == 10


def test_a_step_by_hand_ends_a_verification(search: Search) -> None:
    explored_by_hand(search, *BY_HAND)
    verify_alone(search, seconds=5)
    search.load_target.step(20)
    search.driver.taken_over("user")
    assert wording.command(search.commands()[-1]) == "verification off: users were changed by hand"
    assert search.finished == []


def test_the_guard_prevents_the_level_beyond_the_knee_and_the_result_names_it(tmp_path: Path) -> None:
    search = Search(tmp_path / "guard.jsonl", max_users=1_000)
    explored_by_hand(search, *BY_HAND)
    search.driver = AutopilotDriver(
        search.run.timeline,
        search.load_target,
        max_users=52,
        emit=search._emit,
        open_level=lambda users, rate: search.run.step(users, "autopilot"),
        finish=search.finished.append,
    )
    verify_alone(search)
    assert max(users for users, by in search.levels() if by == "autopilot") == 35
    assert search.finished[0].endswith(", not verified: max_users does not allow a level 20% beyond the knee")
    search.run.end()
