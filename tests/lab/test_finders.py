"""The benchmark of knee finders: its services, and when a knee is false."""

from __future__ import annotations

import msgspec
import pytest

from lab.trials.knees.exploration import Exploration, autopilot, explored
from lab.trials.knees.finders import MAX_USERS, POLICIES, Steps, Window
from lab.trials.knees.page import Totals
from lab.trials.knees.services import Service, services
from lab.trials.knees.trial import LEVEL_S, RUNGS, ladder

EXPLORED = Exploration(
    finder="a finder", service="queue", seed=1, knees=(40.0,), users=42.0, users_low=35.0, users_high=45.0,
    capacity_rps=100.0, seconds=60.0, most_users=80, overload_s=10.0,
)  # fmt: skip


def service(name: str) -> Service:
    return next(each for each in services(1) if each.name == name)


def test_the_interval_of_the_autopilot_contains_the_knee_of_a_queue() -> None:
    found = autopilot(service("queue"))
    assert found.covered and not found.is_false


class WithoutLimit:
    """A service that answers any number of users in 100 ms: without noise, and so without the cost of a simulated one."""

    def __init__(self) -> None:
        self.now_s, self.users = 0.0, 0
        self.steps: Steps = []

    def step(self, users: int) -> None:
        self.users = users

    def watch(self, seconds: int) -> Window:
        self.now_s += seconds
        self.steps.append((self.users, seconds))
        return Window(self.users, seconds, goodput_rps=float(self.users), failure_ratio=0.0, mean_ms=100.0, p95_ms=120.0)


@pytest.mark.parametrize("name", [name for name in POLICIES if "kneed" not in name])  # installed for benchmarks only
def test_no_finder_goes_beyond_its_users(name: str) -> None:
    found = explored(name, POLICIES[name], WithoutLimit(), "without limit", 1, knees=())
    assert 0 < found.most_users <= MAX_USERS


@pytest.mark.parametrize(
    ("users", "knees", "is_false"),
    [(42.0, (40.0,), False), (60.0, (40.0,), True), (60.0, (40.0, 62.0), False), (60.0, (), True), (None, (), False)],
)
def test_a_false_knee_is_one_that_the_service_never_had(users: float | None, knees: tuple[float, ...], is_false: bool) -> None:
    assert msgspec.structs.replace(EXPLORED, users=users, knees=knees).is_false == is_false


def test_a_missed_knee_counts_as_far_from_the_truth() -> None:
    found = Totals("a finder", [EXPLORED, msgspec.structs.replace(EXPLORED, users=None, users_low=None, users_high=None)])
    assert (found.near_ratio, found.covered_ratio, found.intervals) == (0.5, 1.0, 1)


def test_a_ladder_of_the_corpus_has_every_second_of_every_level() -> None:
    moving = ladder(service("queue, capacity halves"))
    assert len(moving["levels"]) == len(RUNGS) and len(moving["knees"]) == 2
    assert all(len(level[column]) == LEVEL_S for level in moving["levels"] for column in ("goodput", "failures", "mean_ms"))
