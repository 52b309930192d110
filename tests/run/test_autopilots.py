"""The autopilots of users and of rates on one load: which of them steps, and which proposal is published."""

from __future__ import annotations

from capexplorer.model.events import LevelOpened, Proposed, Target
from capexplorer.model.load import Load, Rate, Users
from capexplorer.model.proposals import Hold
from capexplorer.run.autopilot import AutopilotDriver, Task
from capexplorer.run.live_levels import CurrentEpoch, LiveLevels
from capexplorer.steer.requested_load import Autopilot

from .bare_context import NoWorkers, bare_context, requested_load


class RunAtRate:
    """A run whose open level offers 20 iterations a second, set by hand."""

    def __init__(self) -> None:
        self.context, self.load = bare_context(), requested_load(is_open=True)
        self.context.emit(Target(t_s=0.0, state="ready"))
        levels = LiveLevels(self.context, self.load)
        levels.step(Rate(20.0), "user", self.load.step(Rate(20.0)))
        self.autopilot = AutopilotDriver(self.context, self.load, levels, NoWorkers())
        self.context.sink.take()

    def begin(self, task: Task) -> None:
        self.autopilot.begin(self.load.hand_to(Autopilot()), task, 3)

    def tick(self, planned: Hold | None = None) -> list[str | Load]:
        """Let a second pass: the reasons of the proposals that are published, and the loads of levels. `planned`: a plan's."""
        self.autopilot.ticked(CurrentEpoch(self.context.timeline), planned)
        found: list[str | Load] = []
        for event in self.context.sink.take():
            match event:
                case Proposed():
                    found.append(getattr(event.proposal, "why"))  # noqa: B009
                case LevelOpened():
                    found.append(event.load)
        return found


def test_while_a_rate_is_offered_by_hand_the_rate_search_proposes_the_next_step() -> None:
    assert RunAtRate().tick() == ["rate"]


def test_a_plan_that_offers_a_rate_makes_the_proposals_itself() -> None:
    assert RunAtRate().tick(Hold("plan", 5.0, 5.0)) == ["plan"]


def test_the_autopilot_of_users_begins_while_a_rate_is_offered() -> None:
    """One that began while the target restarted once never stepped: it was not called while a rate was offered."""
    run = RunAtRate()
    run.begin("knee")
    assert run.tick() == ["first", Users(3)]
    assert run.load.load == Users(3)


def test_the_autopilot_of_rates_publishes_that_it_searches() -> None:
    run = RunAtRate()
    run.begin("rate")
    assert run.tick() == ["rate_search"]
    assert run.autopilot.is_on


def test_a_search_by_rate_that_another_driver_replaced_steps_no_more() -> None:
    run = RunAtRate()
    run.begin("rate")
    run.load.step(Rate(5.0))
    assert run.tick() == ["rate"]
    assert run.load.load == Rate(5.0)
