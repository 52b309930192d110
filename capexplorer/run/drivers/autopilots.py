"""The autopilot by users and the one by offered rate, of which at most one is on, and the next step, published each second.

Runs in the pump's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ... import wording
from ...model.events import By, Command, Event, Sample
from ...model.load import Load, Rate, Users
from ...model.offered import RATE_MOST_PER_S
from ...model.param import Param
from ...model.proposals import AddWorker, Done, GiveUp, GoTo, Hold, Proposal
from ...model.rate_verdicts import RateCapacity
from ...model.timeline import Timeline
from ...steer.rate_search import End, Offer, RateInput, RateSearch
from ...steer.requested_load import RequestedLoad
from ..current_epoch import CurrentEpoch
from ..proposals_published import PublishedProposals
from .adviser import Adviser, Growth

# -- autopilot -----------------------------------------------------------------------------------------------------------------
# The autopilot as a driver: each second it takes the proposal of the next step, if that is due. Runs in the pump's thread.
#
# The `Adviser` makes the proposals. While the autopilot is off, they are published but not carried out.


EmitCommand = Callable[[Literal["users", "autopilot"], Mapping[str, Param | None]], None]
"""Emits a command of the autopilot: its name and arguments."""


class AutopilotDriver:
    """Off until `begin`. `open_level(load, spawn_rate)` opens a level; `finish(reason)` is called when the search ends."""

    def __init__(
        self,
        timeline: Timeline,
        requested_load: RequestedLoad,
        *,
        max_users: int,
        emit: EmitCommand,
        open_level: Callable[[Load, float], None],
        finish: Callable[[str], None],
        growth: Callable[[], Growth] = lambda: "none",
        grow: Callable[[], None] = lambda: None,
        publish: Callable[[Proposal], None] | None = None,
    ) -> None:
        """`growth`: returns whether another worker may start. `grow`: starts it. `publish`: takes each second's proposal, also
        while the autopilot is off; if it is None, proposals are made only while the autopilot is on.
        """
        self._grow, self._publish = grow, publish
        self._timeline, self._requested_load, self._max_users = timeline, requested_load, max_users
        self._emit, self._open_level, self._finish = emit, open_level, finish
        self.adviser = Adviser(timeline, max_users, growth)
        self._on = self._only_verifies = False
        self._generation = 0

    @property
    def is_on(self) -> bool:
        """Whether its steps are accepted."""
        return self._on and self._requested_load.is_current(self._generation)

    def begin(self, generation: int, first_users: int = 1, *, only_verifies: bool = False) -> None:
        """Start a search with the levels measured so far; `first_users`: where to begin if no users run yet. `generation`: that
        of the driver it steps as.

        `only_verifies`: verify the knee that is known now, without a search.
        """
        self.adviser.begin(first_users, only_verifies=only_verifies)
        self._generation, self._only_verifies, self._on = generation, only_verifies, True

    def end(self) -> None:
        """No more steps."""
        self._on = False

    def taken_over(self, by: By) -> None:
        """Another driver has begun: take no more steps, and emit a command that says so."""
        if self._on:
            self.end()
            self._emit("autopilot", {"on": False, **self._task, "why": "taken_over", "who": by})

    def ticked(self, current: CurrentEpoch) -> None:
        """Called after each second was folded into the timeline."""
        is_asked = self._on or (self._publish is not None and self.adviser.is_due)
        if not self._requested_load.is_open or not is_asked:
            return
        proposal = self.adviser.propose(current)
        if self._publish is not None:
            self._publish(proposal)
        if self._on:
            self._take(proposal)

    def _take(self, proposal: Proposal) -> None:
        match proposal:
            case GoTo():
                self._step(proposal)
            case AddWorker():
                self._grow()  # a level begins when the worker is there
            case Done():
                self._end("done", proposal)
            case GiveUp():
                if self._step(GoTo(proposal.users, "rest")):
                    self._end("gave_up", proposal)

    def _step(self, step: GoTo) -> bool:
        """False if another driver has begun: the step is refused."""
        users, before = min(step.users, self._max_users), self._requested_load.load.users
        level = self._timeline.level
        if users == before and not step.opens_new_level and level is not None and level.closed is None:
            self.adviser.took(step)
            return True
        rate = self._requested_load.move(Users(users), self._generation)
        if rate is None:
            return False
        self.adviser.took(step)
        self._emit("users", {"users": users, "before": before, "why": step.why, **step.figures})
        self._open_level(Users(users), rate)
        return True

    def _end(self, how: str, ending: Done | GiveUp) -> None:
        self.end()
        self.adviser.end(ending)
        self._requested_load.end_autopilot(self._generation)
        left_out: dict[str, Param | None] = {"left_out": self.adviser.left_out} if self.adviser.left_out else {}
        args = {"on": False, **self._task, "end": how, "why": ending.why, **ending.figures, **left_out}
        self._emit("autopilot", args)
        self._finish(wording.autopilot(args))

    @property
    def _task(self) -> dict[str, Param | None]:
        return {"task": "verify"} if self._only_verifies else {}


# -- rate autopilot ------------------------------------------------------------------------------------------------------------
# The autopilot at offered rates as a driver: each second its input comes from the timeline, and its decision becomes a step.
#
# Runs in the pump's thread. `steer.rate_search` decides what to do; `analysis` judges the levels.


FIRST_PER_S = 10.0
"""Where a search begins unless a rate is offered already: a level there takes half a minute, and few services serve less."""

LATEST_S = 3.0
"""Seconds in which arrivals that were dropped count."""


class RateAutopilotDriver:
    """Off until `begin`. `open_level(load, spawn_rate)` opens a level; `finish(reason)` is called when the search ends."""

    def __init__(
        self,
        timeline: Timeline,
        requested_load: RequestedLoad,
        *,
        emit: Callable[[Literal["rate", "autopilot"], Mapping[str, Param | None]], None],
        open_level: Callable[[Load, float], None],
        finish: Callable[[str], None],
    ) -> None:
        self._timeline, self._requested_load = timeline, requested_load
        self._emit, self._open_level, self._finish = emit, open_level, finish
        self._search: RateSearch | None = None
        self._generation = 0

    @property
    def is_on(self) -> bool:
        """Whether its steps are accepted."""
        return self._search is not None and self._requested_load.is_current(self._generation)

    def begin(self, generation: int) -> None:
        """Start a search, from the rate that is offered now. `generation`: that of the driver it steps as."""
        self._search = RateSearch(self._requested_load.load.per_s or FIRST_PER_S)
        self._generation = generation

    def end(self) -> None:
        """No more steps."""
        self._search = None

    def taken_over(self, by: By) -> None:
        """Another driver has begun: take no more steps, and emit a command that says so."""
        if self._search is not None:
            self.end()
            self._emit("autopilot", {"on": False, "task": "rate", "why": "taken_over", "who": by})

    def ticked(self, current: CurrentEpoch) -> None:
        """Called after each second was folded into the timeline."""
        if self._search is None or not self._requested_load.is_open:
            return
        known = self._input(current)
        match self._search.due(known):
            case Offer(per_s, why):
                self._offer(per_s, why)
            case End(per_s, why, found):
                if self._offer(per_s, "rest"):
                    self._ended("done" if found else "gave_up", why, known.capacity)

    def _offer(self, per_s: float, why: str) -> bool:
        """False if another driver has begun: the step is refused."""
        before = self._requested_load.load.per_s
        if per_s == before:
            return self.is_on
        rate = self._requested_load.move(Rate(per_s), self._generation)
        if rate is None:
            return False
        self._emit("rate", {"per_s": per_s, "before": before, "why": why})
        self._open_level(Rate(per_s), rate)
        return True

    def _ended(self, how: str, why: str, capacity: RateCapacity | None) -> None:
        self.end()
        self._requested_load.end_autopilot(self._generation)
        args: dict[str, Param | None] = {"on": False, "task": "rate", "end": how, "why": why}
        if capacity is not None:
            args |= {"kind": capacity.kind, "limit": capacity.limit}
            args |= {name: getattr(capacity, name) for name in ("per_s", "low_per_s", "high_per_s", "kept_per_s")}
        self._emit("autopilot", args)
        self._finish(wording.autopilot(args))

    def _input(self, current: CurrentEpoch) -> RateInput:
        timeline, load = self._timeline, self._requested_load.load
        level, verdict = timeline.level, current.epoch.verdict
        rates = verdict.rates if verdict is not None else None
        levels = rates.levels if rates is not None else ()
        is_open = level is not None and level.load == load and level.closed is None
        return RateInput(
            per_s=load.per_s if is_open else None,
            open_s=timeline.last_s - level.started_s if level is not None else 0.0,
            settled_s=level.figures.settled_seconds if level is not None else 0.0,
            in_flight=self._in_flight(),
            dropped=any(sample.offered.dropped.total for sample in self._latest() if sample.offered is not None),
            level=next((each for each in levels if level is not None and each.level == level.opened.index), None),
            levels=levels,
            capacity=rates.capacity if rates is not None else None,
            most_per_s=RATE_MOST_PER_S,
        )

    def _in_flight(self) -> float:
        offered = self._timeline.last.offered if self._timeline.last is not None else None
        return float(offered.in_flight) if offered is not None else 0.0

    def _latest(self) -> list[Sample]:
        level = self._timeline.level
        opened_s = level.opened.t_s if level is not None else 0.0
        return self._timeline.since(max(opened_s + 1.0, self._timeline.last_s - LATEST_S))


class Autopilots:
    """`begin` one of them, `ticked` once a second; `end` or `taken_over` whichever is on."""

    def __init__(
        self,
        timeline: Timeline,
        requested_load: RequestedLoad,
        *,
        first_users: int,
        max_users: int,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        open_level: Callable[[Load, float], None],
        finish: Callable[[str], None],
        growth: Callable[[], Growth],
        grow: Callable[[], None],
        judge: Callable[[], None] = lambda: None,
    ) -> None:
        """`first_users`: where the first search begins. `open_level` takes the load and the users started per second.

        `finish(reason)` is called when a search ends. `growth`, `grow`: see `AutopilotDriver`; `judge`: see `PublishedProposals`.
        """

        def command(name: Literal["users", "rate", "autopilot"], args: Mapping[str, Param | None]) -> None:
            emit(Command(t_s=now_s(), name=name, by="autopilot", args=dict(args)))

        self._requested_load = requested_load
        self._proposals = PublishedProposals(emit, now_s, judge)
        self._by_users = AutopilotDriver(
            timeline,
            requested_load,
            max_users=max_users,
            emit=command,
            open_level=open_level,
            finish=finish,
            growth=growth,
            grow=grow,
            publish=self._proposals.show,
        )
        self._by_users.adviser.begin(first_users)
        self._by_rate = RateAutopilotDriver(
            timeline,
            requested_load,
            emit=command,
            open_level=open_level,
            finish=finish,
        )

    @property
    def is_on(self) -> bool:
        """Whether the steps of one of them are accepted."""
        return self._by_users.is_on or self._by_rate.is_on

    def begin(self, generation: int, first_users: int, *, only_verifies: bool = False) -> None:
        """Search by users; see `AutopilotDriver.begin`."""
        self._by_users.begin(generation, first_users, only_verifies=only_verifies)

    def begin_rate_search(self, generation: int) -> None:
        """Search by offered rate; see `RateAutopilotDriver.begin`."""
        self._by_rate.begin(generation)

    def end(self) -> None:
        """No more steps, without a command that says so."""
        self._by_users.end()
        self._by_rate.end()

    def taken_over(self, by: By) -> None:
        """Another driver has begun: end, and emit a command that says so."""
        self._by_users.taken_over(by)
        self._by_rate.taken_over(by)

    def set_by_hand(self, users: int, before: int) -> None:
        """Note that a person, a plan or a guard set the users, as proposed or otherwise."""
        self._by_users.adviser.set_by_hand(users, before)

    def ticked(self, current: CurrentEpoch, planned: Hold | None) -> None:
        """Called after each second was folded into the timeline. `planned`: proposal of the plan or shape that has the load."""
        self._by_rate.ticked(current)
        is_free = not self._by_users.is_on
        if is_free and planned is not None:
            self._proposals.show(planned)
        elif is_free and isinstance(self._requested_load.load, Rate):
            self._proposals.show(Hold("rate_search" if self._by_rate.is_on else "rate"))
        else:
            self._by_users.ticked(current)
