"""Proposes the next step from the levels measured so far: the screen shows the proposals, and the autopilot carries them out.

Runs in the pump's thread. `analysis` judges the levels, and `steer.search` decides; this module passes the verdict on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from statistics import median
from typing import Literal

from .. import wording
from ..analysis.causes.generator_saturation import is_saturated
from ..analysis.epoch.epoch import Epoch
from ..model.controls import Param
from ..model.events import By, Command, Event, Proposed, Sample
from ..model.level import Level
from ..model.level_use import level_use
from ..model.load import RATE_MOST_PER_S, Load, Rate, Users
from ..model.proposals import AddWorker, Done, GiveUp, GoTo, Hold, Proposal
from ..model.timeline import Timeline
from ..model.verdicts import CapacityVerdict, RateCapacity
from ..steer.open_level import LEAST_S, SETTLING_S, InputLevel, SearchInput, timed
from ..steer.rate_search import End, Offer, RateInput, RateSearch
from ..steer.requested_load import RequestedLoad
from ..steer.search import Search
from .live_levels import CurrentEpoch

# -- adviser -------------------------------------------------------------------------------------------------------------------
# Proposes the next step from the levels measured so far: the screen shows the proposals, and the autopilot carries them out.
#
# Runs in the pump's thread. `analysis` judges the levels, and `steer.search` decides; this module passes the verdict on.


LATEST_S = 3.0
"""Seconds over which failures are counted for leaving a level at once."""

IDLE_LEAST = 0.3
"""Idle cores from which an additional worker increases the load that can be generated (set by judgement)."""

DISTURBED_MOST = 3
"""Consecutive levels disturbed by other processes below the low-load line after which the search ends without a knee."""

AGAIN_S = 10.0
"""Seconds after which a proposal that was not carried out is made again: free ports, other processes and the knee may have
changed."""

SETTLED_LEVELS = 3
"""Number of latest levels from which the time to settle is estimated."""


Growth = Literal["possible", "coming", "none"]
"""Whether one more worker may be started, one was started and has not joined yet, or neither."""


class Adviser:
    """Call `propose` once a second, and `took` or `set_by_hand` when users were set. A step that was proposed advances the
    search; any other step begins a new search with the levels measured so far.
    """

    def __init__(self, timeline: Timeline, max_users: int, growth: Callable[[], Growth]) -> None:
        self._timeline, self._max_users, self._growth = timeline, max_users, growth
        self._search, self._after = Search(), Search()
        """The search so far, and what it will be if the latest proposal is taken."""
        self._first_users = 1
        self._proposed: Proposal = Hold("starting")
        self._level: int | None = None
        """The open level as of the latest proposal."""
        self._looked_s = 0.0
        """Session time of the latest proposal."""
        self._taken: GoTo | None = None
        """The proposal that opened the open level."""
        self._ended: Done | GiveUp | None = None
        """How the search ended; nothing else is proposed until users are set."""
        self._epoch = 0
        self._verdict = CapacityVerdict()
        self._spawning_s = 0.0
        """Time at which users were last spawning."""
        self.left_out = 0
        """Levels disturbed by other processes, which the verdict does not use."""

    def begin(self, first_users: int = 1, *, only_verifies: bool = False) -> None:
        """Begin a search with the levels measured so far. `first_users`: where it begins if no users run. `only_verifies`:
        verify the knee that is known now, without a search.
        """
        known = self._timeline.current_verdict if only_verifies else None
        self._verdict = known.capacity if known is not None else CapacityVerdict()
        self._first_users = max(1, first_users)
        self._search = Search(self._first_users, only_verifies=only_verifies)
        self._taken = self._ended = None

    def end(self, how: Done | GiveUp) -> None:
        """End the search."""
        self._ended = how

    def set_by_hand(self, users: int, before: int) -> None:
        """Note that a person, a plan or a guard set the users, as proposed or otherwise."""
        proposed = self._proposed
        if isinstance(proposed, GoTo) and proposed.users == users:
            self.took(proposed)
        elif users != before or self._ended is not None:
            self.begin(self._first_users)

    def took(self, step: GoTo) -> None:
        """The latest proposal was carried out."""
        self._search, self._taken = self._after, step

    @property
    def is_due(self) -> bool:
        """Whether a new proposal may differ from the latest. This is checked first, since judging an epoch takes 5 to 25 ms."""
        level = self._timeline.level
        is_new = level is None or level.opened.index != self._level
        return is_new or isinstance(self._proposed, Hold) or self._timeline.last_s - self._looked_s >= AGAIN_S

    def propose(self, current: CurrentEpoch) -> Proposal:
        """The next step as of now."""
        self._proposed, self._looked_s = self._next(current), self._timeline.last_s
        return self._proposed

    def _next(self, current: CurrentEpoch) -> Proposal:
        epoch = current.epoch
        if epoch.index != self._epoch:
            self._epoch = epoch.index
            self.begin(self._first_users)
        if self._ended is not None:
            return self._ended
        known = self._input(epoch)
        if known.generator_saturated and self._has_idle_cpu() and self._growth() != "none":
            return AddWorker() if self._growth() == "possible" else Hold("worker")
        after = copy.deepcopy(self._search)  # `due` advances the search, which is so only if its decision is taken
        decision = self._disturbed(epoch) or after.due(known)
        level = epoch.levels[-1].opened.index if epoch.levels else None
        if decision == Hold("measuring") and isinstance(self._proposed, GoTo) and level == self._level:
            return self._proposed  # precise enough a second ago: a person may be about to take it
        self._after, self._level = after, level
        return timed(decision, known if known.levels else None, self._taken, self._settling_s())

    def _has_idle_cpu(self) -> bool:
        """Whether the machine has CPU for another worker."""
        level, header = self._timeline.level, self._timeline.header
        busy, cpus = (level.figures.host_cpu_ratio if level is not None else None), (header.host.cpus if header else None)
        return busy is not None and cpus is not None and cpus - busy >= IDLE_LEAST

    def _disturbed(self, epoch: Epoch) -> GiveUp | None:
        """Whether other processes have disturbed so many levels that the search cannot give a result."""
        level, header = self._timeline.level, self._timeline.header
        if level is None or not level.figures.settled or epoch.verdict is None:
            return None
        left_out = [each for each in epoch.all_levels if "disturbed" in level_use(each, epoch.verdict).whys]
        self.left_out = len(left_out)
        latest = [each for each in epoch.levels if each.figures.settled][-DISTURBED_MOST:]
        if len(latest) < DISTURBED_MOST or not all(each in left_out for each in latest):
            return None
        others, cpus = level.figures.readings.get("neighbours.cpu_ratio"), header.host.cpus if header is not None else None
        figures = {"others_cpu_ratio": others, "cpus": cpus} if others is not None and cpus is not None else {}
        return GiveUp(min(each.users for each in epoch.levels if each.figures.settled), "neighbours", dict(figures))

    def _settling_s(self) -> float:
        """Seconds from the opening of a level to its first settled second."""
        levels = [level for level in self._timeline.levels if level.users]
        took = [level.settled_s - level.started_s for level in levels if level.settled_s is not None]
        return median(took[-SETTLED_LEVELS:]) if took else SETTLING_S

    def _input(self, epoch: Epoch) -> SearchInput:
        timeline = self._timeline
        level = timeline.level
        measured = level is not None and level.figures.settled_seconds >= LEAST_S - 0.5
        if measured:
            self._verdict = epoch.verdict.capacity if epoch.verdict is not None else CapacityVerdict()
        ports = timeline.last.ports if timeline.last is not None else None
        requests, failures = self._latest(level)
        return SearchInput(
            levels=input_levels(epoch),
            open_s=self._all_running_s(level),
            verdict=self._verdict,
            max_users=self._max_users,
            latest_requests=requests,
            latest_failures=failures,
            ports_used_ratio=(ports.used or 0) / ports.capacity if ports is not None and ports.capacity else 0.0,
            exhausted_in_s=ports.exhausted_in_s if ports is not None else None,
            undecided=measured and epoch.is_undecided,
            fault=epoch.has_fault,
            generator_saturated=measured and level is not None and bool(is_saturated(level.figures, epoch.outside_requests_ms)),
        )

    def _all_running_s(self, level: Level | None) -> float:
        """Seconds since all users of the level run, to a second; spawning may be over before a tick has seen it."""
        if level is None or self._timeline.phase == "spawning":
            self._spawning_s = self._timeline.last_s
        opened_s = level.opened.t_s if level is not None else 0.0
        return self._timeline.last_s - max(self._spawning_s, opened_s)

    def _latest(self, level: Level | None) -> tuple[int, int]:
        """(requests, failures) of the latest seconds of the open level, warm-up included."""
        if level is None:
            return 0, 0
        samples = self._timeline.since(max(level.opened.t_s + 1.0, self._timeline.last_s - LATEST_S))
        ticks = [tick for sample in samples for tick in sample.endpoints]
        requests = sum(tick.requests + tick.warmup_requests for tick in ticks)
        return requests, sum(tick.failures + tick.warmup_failures for tick in ticks)


def input_levels(epoch: Epoch) -> list[InputLevel]:
    """Levels of the epoch in the order they ran, the open one last, without levels affected by a change of the service."""
    found = []
    for level in epoch.levels:
        if level.opened.ramp or level.opened.index in epoch.outgrown or level.void is not None:
            continue
        parts = [each.figures for each in epoch.measured if each.level is level]
        kept = [each.figures for each in epoch.explained_by_load if each.level is level]
        if len(kept) == len(parts) or level is epoch.levels[-1]:
            found.append(InputLevel(level.users, level.figures))
        elif kept:
            found.append(InputLevel(level.users, kept[-1]))
    return found


# -- autopilots ----------------------------------------------------------------------------------------------------------------
# The autopilot by users and the one by offered rate, of which at most one is on, and the next step, published each second.
#
# Runs in the pump's thread.


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

DROPPED_LATEST_S = 3.0
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
        return self._timeline.since(max(opened_s + 1.0, self._timeline.last_s - DROPPED_LATEST_S))


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


# -- proposals published -------------------------------------------------------------------------------------------------------
# Proposals as events: one when the next step changes, not one a second.


LATER_S = 1.5
"""A countdown that ends this much earlier or later than announced is published again."""

FIGURES_EVERY_S = 10.0
"""Seconds between two events whose proposals differ only in figures, which change every second."""


class PublishedProposals:
    """`show` each second. `emit` takes events, `now_s` returns seconds of the session. `judge` emits the verdict and the marks as
    of now: called before the end of a search, since a level is judged only at some of its seconds and the search ends at any.
    """

    def __init__(
        self, emit: Callable[[Event], None], now_s: Callable[[], float], judge: Callable[[], None] = lambda: None
    ) -> None:
        self._emit, self._now_s, self._judge = emit, now_s, judge
        self._shown: Proposed | None = None

    def show(self, proposal: Proposal) -> None:
        """Publish the proposal if it is news."""
        now_s = self._now_s()
        if self._shown is None or _is_news(self._shown, proposal, now_s):
            if isinstance(proposal, Done):
                self._judge()
            self._shown = Proposed(t_s=now_s, proposal=proposal)
            self._emit(self._shown)


def _is_news(shown: Proposed, proposal: Proposal, now_s: float) -> bool:
    old, passed_s = shown.proposal, now_s - shown.t_s
    match old, proposal:
        case Hold(), Hold():
            ends_s = proposal.most_s + passed_s
            earliest_s = proposal.least_s + passed_s if proposal.least_s else max(old.least_s, 0.0)
            moved_s = max(abs(ends_s - old.most_s), abs(earliest_s - old.least_s))
            return old.why != proposal.why or (moved_s > LATER_S and proposal.most_s > 0)
        case GoTo(), GoTo():
            if (old.users, old.why, old.opens_new_level) != (proposal.users, proposal.why, proposal.opens_new_level):
                return True
            return passed_s >= FIGURES_EVERY_S and old != proposal
        case (Done(), Done()) | (GiveUp(), GiveUp()):
            return passed_s >= FIGURES_EVERY_S and old != proposal
    return old != proposal
