"""The autopilots of users and of rates on one load: which of them steps, and which proposal is published."""

from __future__ import annotations

from capexplorer.load import native
from capexplorer.model.events import Event, LevelOpened, Proposed, Target
from capexplorer.model.load import Load, Rate, Users
from capexplorer.model.proposals import Hold
from capexplorer.model.timeline import Timeline
from capexplorer.run.autopilot import Autopilots
from capexplorer.run.live_levels import CurrentEpoch
from capexplorer.steer.requested_load import Autopilot, RequestedLoad


class RunAtRate:
    """A run whose open level offers 20 iterations a second, set by hand."""

    def __init__(self) -> None:
        level = LevelOpened(t_s=2.0, index=0, users=0, spawn_rate=10.0, by="user", offered_per_s=20.0)
        self.timeline = Timeline([Target(t_s=1.0, state="ready"), level])
        self.load = RequestedLoad(Users(0), None, native.allocate_lock(), max_users=100)
        self.load.step(Rate(20.0))
        self.load.is_open = True
        self.events: list[Event] = []
        self.levels: list[Load] = []
        self.autopilots = Autopilots(
            self.timeline,
            self.load,
            first_users=3,
            max_users=100,
            emit=self.events.append,
            now_s=lambda: 10.0,
            open_level=lambda load, _: self.levels.append(load),
            finish=lambda _: None,
            growth=lambda: "none",
            grow=lambda: None,
        )

    def tick(self, planned: Hold | None = None) -> list[str]:
        """Let a second pass; the reasons of all proposals published so far. `planned`: the proposal of a plan."""
        self.autopilots.ticked(CurrentEpoch(self.timeline), planned)
        return [each.proposal.why for each in self.events if isinstance(each, Proposed) and isinstance(each.proposal, Hold)]


def test_while_a_rate_is_offered_by_hand_the_rate_search_proposes_the_next_step() -> None:
    assert RunAtRate().tick() == ["rate"]


def test_a_plan_that_offers_a_rate_makes_the_proposals_itself() -> None:
    assert RunAtRate().tick(Hold("plan", 5.0, 5.0)) == ["plan"]


def test_the_autopilot_of_users_begins_while_a_rate_is_offered() -> None:
    """One that began while the target restarted once never stepped: it was not called while a rate was offered."""
    run = RunAtRate()
    run.autopilots.begin(run.load.hand_to(Autopilot()), 3)
    run.tick()
    assert run.levels == [Users(3)]
    assert run.load.load == Users(3)


def test_the_autopilot_of_rates_publishes_that_it_searches() -> None:
    run = RunAtRate()
    run.autopilots.begin_rate_search(run.load.hand_to(Autopilot()))
    assert run.tick() == ["rate_search"]
    assert run.autopilots.is_on
