"""Two autopilots, one load: which of them is asked, and which next step is published."""

from __future__ import annotations

from capexplorer.model.events import Event, LevelOpened, Proposed, Target
from capexplorer.model.proposals import Hold
from capexplorer.model.timeline import Timeline
from capexplorer.run.current_epoch import CurrentEpoch
from capexplorer.run.drivers.autopilots import Autopilots
from capexplorer.run.drivers.driver import Autopilot
from capexplorer.run.drivers.load_target import LoadTarget


class Offering:
    """A run that offers 20 iterations a second."""

    def __init__(self) -> None:
        level = LevelOpened(t_s=2.0, index=0, users=0, spawn_rate=10.0, by="user", offered_per_s=20.0)
        self.timeline = Timeline([Target(t_s=1.0, state="ready"), level])
        self.load = LoadTarget(0, None, max_users=100)
        self.load.step_rate(20.0)
        self.load.is_open = True
        self.events: list[Event] = []
        self.levels: list[tuple[int, float | None]] = []
        self.autopilots = Autopilots(
            self.timeline,
            self.load,
            first_users=3,
            max_users=100,
            emit=self.events.append,
            now_s=lambda: 10.0,
            open_level=lambda users, _, per_s: self.levels.append((users, per_s)),
            finish=lambda _: None,
            growth=lambda: "none",
            grow=lambda: None,
        )

    def tick(self, planned: Hold | None = None) -> list[str]:
        """Reasons of the proposals that this second published."""
        self.autopilots.ticked(CurrentEpoch(self.timeline), planned)
        return [each.proposal.why for each in self.events if isinstance(each, Proposed) and isinstance(each.proposal, Hold)]


def test_while_a_rate_is_offered_by_hand_the_rate_search_proposes_the_next_step() -> None:
    assert Offering().tick() == ["rate"]


def test_a_plan_that_offers_a_rate_makes_the_proposals_itself() -> None:
    assert Offering().tick(Hold("plan", 5.0, 5.0)) == ["plan"]


def test_the_autopilot_of_users_takes_over_from_a_rate() -> None:
    """One that began while the target restarted once waited for ever: nobody asked it while a rate was offered."""
    run = Offering()
    run.autopilots.begin(run.load.hand_to(Autopilot()), 3)
    run.tick()
    assert (run.levels, run.load.offered_per_s) == ([(3, None)], None)


def test_the_autopilot_of_rates_says_that_it_searches() -> None:
    run = Offering()
    run.autopilots.begin_at_rate(run.load.hand_to(Autopilot()))
    assert run.tick() == ["rate_search"] and run.autopilots.is_on
