"""Proposals without the autopilot: following them by hand makes the levels that the autopilot makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from capexplorer.model.events import Event, Proposed
from capexplorer.model.proposals import AddWorker, Done, GoTo, Hold, Proposal
from capexplorer.run.current_epoch import CurrentEpoch
from capexplorer.run.drivers.adviser import Adviser
from capexplorer.run.proposals_published import PublishedProposals

from .driven import Driven
from .search import Search, Service, shedding, steady


class Follower:
    """A person who does what the line NEXT says, at once or after some seconds."""

    def __init__(self, path: Path, service: Service = steady, *, waits_s: int = 0) -> None:
        self.run, self.service, self.waits_s = Driven(path), service, waits_s
        self.adviser = Adviser(self.run.timeline, 1_000, lambda: "none")
        self.steps: list[tuple[int, str]] = []

    def set_users(self, users: int) -> None:
        opened = self.run.tracker.opened
        self.adviser.set_by_hand(users, opened.users if opened is not None else 0)
        self.run.step(users)

    def second(self) -> Proposal:
        opened = self.run.tracker.opened
        if opened is not None:
            self.run.second(*self.service(opened.users))
        return self.adviser.propose(CurrentEpoch(self.run.timeline))

    def follow(self, seconds: int = 400) -> Proposal:
        waited = 0
        for _ in range(seconds):
            proposal = self.second()
            waited += isinstance(proposal, GoTo)
            if isinstance(proposal, GoTo) and waited > self.waits_s:
                waited = 0
                self.steps.append((proposal.users, proposal.why))
                self.set_users(proposal.users)
            elif isinstance(proposal, Done):
                break
        return proposal


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    made = Follower(tmp_path / "by-hand.jsonl")
    yield made
    made.run.end()


@pytest.mark.parametrize("service", [steady, shedding])
def test_following_them_by_hand_makes_the_levels_of_the_autopilot(tmp_path: Path, service: Service) -> None:
    follower, search = Follower(tmp_path / "by-hand.jsonl", service), Search(tmp_path / "autopilot.jsonl", service)
    end = follower.follow()
    search.go(400)
    steps = [(event.args["users"], event.args["why"]) for event in search.commands() if event.name == "users"]
    assert follower.steps == steps
    assert isinstance(end, Done) and end.figures["verification"] == search.commands()[-1].args["verification"]
    follower.run.end()
    search.run.end()


def test_a_proposal_waits_for_a_person(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "slow.jsonl", waits_s=15)
    end = follower.follow(800)
    assert isinstance(end, Done)
    assert float(end.figures["knee_users"] or 0) == pytest.approx(50, rel=0.05)
    assert {why for _, why in follower.steps} >= {"first", "double", "soak", "beyond", "return_to_first"}
    follower.run.end()


def test_another_step_continues_with_the_levels_so_far(follower: Follower) -> None:
    follower.follow(40)
    follower.set_users(20)
    end = follower.follow()
    assert isinstance(end, Done)
    assert float(end.figures["knee_users"] or 0) == pytest.approx(50, rel=0.05)


def test_a_proposal_stays_until_it_is_taken(follower: Follower) -> None:
    follower.follow(12)
    found = [follower.second() for _ in range(30)]
    steps = [each for each in found if isinstance(each, GoTo)]
    assert len({each.users for each in steps}) == 1
    assert not any(isinstance(each, Hold) for each in found[found.index(steps[0]) :])


def test_the_cost_is_the_time_to_settle_and_to_measure(follower: Follower) -> None:
    follower.set_users(1)
    for _ in range(9):
        proposal = follower.second()
    assert isinstance(proposal, GoTo)
    assert (proposal.users, proposal.least_s, proposal.most_s) == (3, 8.0, 20.0)


def test_a_saturated_generator_that_may_grow_asks_for_a_worker(tmp_path: Path) -> None:
    search = Search(tmp_path / "growing.jsonl", most_workers=2)
    published: list[Proposal] = []
    search.driver._publish = published.append
    search.run.step(20)
    search.load_target.wanted = 20
    for _ in range(12):
        search.second()
    assert published[-1] == AddWorker()
    assert search.run.tracker.workers == 0, "nobody added one"
    search.run.end()


# -- as events


def test_a_proposal_is_published_when_it_changes() -> None:
    events: list[Event] = []
    now_s = 0.0
    published = PublishedProposals(events.append, lambda: now_s)
    seconds: list[Proposal] = [
        Hold("settling", 8.0, 20.0), Hold("settling", 7.0, 19.0),
        Hold("measuring", 6.0, 18.0), Hold("measuring", 5.0, 17.0), Hold("measuring", 0.0, 9.0),
        GoTo(6, "double", {"efficiency": 0.97}), GoTo(6, "double", {"efficiency": 0.98}), GoTo(9, "double", {"efficiency": 0.98}),
        Done("knee"), Done("knee"),
    ]  # fmt: skip
    for proposal in seconds:
        now_s += 1.0
        published.show(proposal)
    assert [(event.t_s, event.proposal) for event in events if isinstance(event, Proposed)] == [
        (1.0, seconds[0]), (3.0, seconds[2]), (5.0, seconds[4]), (6.0, seconds[5]), (8.0, seconds[7]), (9.0, seconds[8]),
    ]  # fmt: skip
