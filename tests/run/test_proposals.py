"""Proposals for the next step while a person steps: following them makes the same levels as the autopilot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from capexplorer.model.events import Proposed, Verdict
from capexplorer.model.proposals import Done, GoTo, Hold, Proposal
from capexplorer.run.autopilot import Adviser, PublishedProposals
from capexplorer.run.live_levels import CurrentEpoch, LiveMarks

from .bare_context import NoWorkers, VirtualPump, bare_context
from .knee_search import KneeSearch, Service, failing_above_capacity, queueing
from .run_without_load import RunWithoutLoad


class ProposalFollower:
    """A run without load in which a person follows the proposals."""

    def __init__(self, path: Path, service: Service = queueing) -> None:
        self.run, self.service = RunWithoutLoad(path), service
        self.adviser = Adviser(self.run.context, NoWorkers())
        self.steps: list[tuple[int, str]] = []

    def set_users(self, users: int) -> None:
        """A step by hand."""
        opened = self.run.levels.opened
        self.adviser.set_by_hand(users, opened.users if opened is not None else 0)
        self.run.step(users)

    def add_second(self) -> Proposal:
        """A second of the service, and the proposal after it."""
        opened = self.run.levels.opened
        if opened is not None:
            self.run.add_second(*self.service(opened.users))
        return self.adviser.propose(CurrentEpoch(self.run.timeline))

    def follow(self, seconds: int = 400) -> Proposal:
        """Follow the proposals until they are done, or for this many seconds; the last proposal."""
        for _ in range(seconds):
            proposal = self.add_second()
            if isinstance(proposal, GoTo):
                self.steps.append((proposal.users, proposal.why))
                self.set_users(proposal.users)
            elif isinstance(proposal, Done):
                break
        return proposal


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[ProposalFollower]:
    follower = ProposalFollower(tmp_path / "by-hand.jsonl")
    yield follower
    follower.run.end()


@pytest.mark.parametrize("service", [queueing, failing_above_capacity])
def test_following_the_proposals_by_hand_makes_the_levels_of_the_autopilot(tmp_path: Path, service: Service) -> None:
    follower, search = ProposalFollower(tmp_path / "by-hand.jsonl", service), KneeSearch(tmp_path / "autopilot.jsonl", service)
    end = follower.follow()
    search.run_autopilot(400)
    steps = [(event.args["users"], event.args["why"]) for event in search.commands() if event.name == "users"]
    assert follower.steps == steps
    assert isinstance(end, Done)
    assert end.figures["verification"] == search.commands()[-1].args["verification"]
    follower.run.end()
    search.run.end()


def test_after_a_step_that_was_not_proposed_the_proposals_find_the_knee(follower: ProposalFollower) -> None:
    follower.follow(40)
    follower.set_users(20)
    end = follower.follow()
    assert isinstance(end, Done)
    assert float(end.figures["knee_users"] or 0) == pytest.approx(50, rel=0.05)


def test_a_proposed_step_does_not_change_until_it_is_taken(follower: ProposalFollower) -> None:
    follower.follow(12)
    found = [follower.add_second() for _ in range(30)]
    steps = [each for each in found if isinstance(each, GoTo)]
    assert len({each.users for each in steps}) == 1
    assert not any(isinstance(each, Hold) for each in found[found.index(steps[0]) :])


def test_a_proposed_step_has_its_least_and_most_duration(follower: ProposalFollower) -> None:
    follower.set_users(1)
    for _ in range(9):
        proposal = follower.add_second()
    assert isinstance(proposal, GoTo)
    assert (proposal.users, proposal.least_s, proposal.most_s) == (3, 8.0, 20.0)


# -- publishing


def test_the_end_of_a_search_is_published_after_the_verdict_that_it_rests_on() -> None:
    context = bare_context()
    marks = SimpleNamespace(judge=lambda: context.emit(Verdict(t_s=1.0)))
    published = PublishedProposals(context, cast(LiveMarks, marks))
    published.show(GoTo(3, "double"))
    published.show(Done("knee"))
    assert [type(event) for event in context.sink.take()] == [Proposed, Verdict, Proposed]


def test_a_proposal_is_published_when_its_step_or_reason_changes() -> None:
    pump = VirtualPump()
    context = bare_context(pump)
    published = PublishedProposals(context, LiveMarks(context))
    seconds: list[Proposal] = [
        Hold("settling", 8.0, 20.0), Hold("settling", 7.0, 19.0),
        Hold("measuring", 6.0, 18.0), Hold("measuring", 5.0, 17.0), Hold("measuring", 0.0, 9.0),
        GoTo(6, "double", {"efficiency": 0.97}), GoTo(6, "double", {"efficiency": 0.98}), GoTo(9, "double", {"efficiency": 0.98}),
        Done("knee"), Done("knee"),
    ]  # fmt: skip
    for proposal in seconds:
        pump.seconds += 1.0
        published.show(proposal)
    assert [(event.t_s, event.proposal) for event in context.sink.take() if isinstance(event, Proposed)] == [
        (1.0, seconds[0]), (3.0, seconds[2]), (5.0, seconds[4]), (6.0, seconds[5]), (8.0, seconds[7]), (9.0, seconds[8]),
    ]  # fmt: skip
