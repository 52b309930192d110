"""The autopilot as a driver that only verifies a knee, which a person has found by hand."""

from __future__ import annotations

from capexplorer.model.load import Users
from capexplorer.model.verdicts import KneeVerdict

from .knee_search import KneeSearch


def step_by_hand(search: KneeSearch, *steps: tuple[int, int]) -> None:
    """Levels that a person makes, each (users, seconds)."""
    for users, seconds in steps:
        search.run.step(users)
        for _ in range(seconds):
            search.add_second()


STEPS_BY_HAND = ((10, 12), (20, 12), (30, 12), (40, 12), (65, 12), (90, 12))


def knee_of(search: KneeSearch) -> KneeVerdict:
    """The knee that is known now."""
    verdict = search.run.timeline.current_verdict
    assert verdict is not None
    assert verdict.capacity.knee is not None
    return verdict.capacity.knee


def verify_knee(search: KneeSearch, seconds: int = 120) -> None:
    """Let the autopilot verify the knee until it has finished, or for this many seconds."""
    search.begin("verify")
    for _ in range(seconds):
        if not search.driver.is_on:
            break
        search.add_second()


def ended(search: KneeSearch) -> tuple[object, ...]:
    """Task, end and verification of the last command."""
    args = search.commands()[-1].args
    return args["task"], args["end"], args["verification"]


def test_a_knee_found_by_hand_is_verified_by_three_levels_without_a_search(search: KneeSearch) -> None:
    step_by_hand(search, *STEPS_BY_HAND)
    known = len(search.levels())
    verify_knee(search)
    assert search.levels()[known:] == [(35, "autopilot"), (60, "autopilot"), (10, "autopilot")]
    assert not knee_of(search).provisional
    assert ended(search) == ("verify", "done", "verified")


def test_a_service_that_became_slower_contradicts_its_knee_and_users_return_to_the_first_level(search: KneeSearch) -> None:
    step_by_hand(search, *STEPS_BY_HAND)
    search.service = lambda users: (min(users, 25), users / min(users, 25) * 1000 - 400, 0)
    verify_knee(search, seconds=200)
    knee = knee_of(search)
    assert knee.kind == "bend"
    assert knee.evidence.return_agrees is False
    assert ended(search) == ("verify", "done", "contradicted")
    assert search.requested_load.load.users == 10


def test_a_step_by_hand_ends_a_verification(search: KneeSearch) -> None:
    step_by_hand(search, *STEPS_BY_HAND)
    verify_knee(search, seconds=5)
    search.requested_load.step(Users(20))
    search.driver.taken_over("user")
    assert search.commands()[-1].args == {"on": False, "task": "verify", "why": "taken_over", "who": "user"}
    assert search.finished == []
