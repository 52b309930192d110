"""The next step: proposed from the levels measured so far, published, and carried out while the autopilot is on.

Runs in the pump's thread. `analysis` judges the levels, and the searches of `steer` decide: by users, or by offered rate.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Literal, Protocol

import msgspec

from .. import wording
from ..analysis.causes.generator_saturation import is_saturated
from ..analysis.epoch.epoch import Epoch
from ..model.controls import Param
from ..model.events import By, Proposed, Sample
from ..model.experiments import Experiment
from ..model.level import Level
from ..model.level_use import level_use
from ..model.load import RATE_MOST_PER_S, Load, Rate, Users
from ..model.proposals import AddWorker, Decide, Done, Figures, GiveUp, GoTo, Hold, Proposal, Try
from ..model.requirements import CapacityAnswer
from ..model.timeline import Timeline
from ..model.verdicts import CapacityVerdict
from ..steer.experiment_search import LASTS_MOST_S, Able, Slots, is_over, next_experiment
from ..steer.open_level import LEAST_S, SETTLING_S, InputLevel, SearchInput, stretch_of, timed
from ..steer.rate_search import End, Offer, RateInput, RateSearch
from ..steer.requested_load import RequestedLoad
from ..steer.requirement_search import WITHIN_S, Finished, RequirementSearch, Seek, Visit, open_at_loads
from ..steer.search import Search
from .context import RunContext
from .live_levels import CurrentEpoch, LiveLevels, LiveMarks
from .options import RunOptions, Task

LATEST_S = 3.0
"""Seconds over which failures, and arrivals that were dropped, are counted for leaving a level at once."""

IDLE_LEAST = 0.3
"""Idle cores from which an additional worker increases the load that can be generated (set by judgement)."""

DISTURBED_MOST = 3
"""Consecutive levels disturbed by other processes below the low-load line after which the search ends without a knee."""

AGAIN_S = 10.0
"""Seconds after which a proposal that was not carried out is made again: free ports, other processes and the knee may have
changed."""

SETTLED_LEVELS = 3
"""Number of latest levels from which the time to settle is estimated."""


FIRST_PER_S = 10.0
"""Where a search by rate begins unless a rate is offered already: a level there takes half a minute, and few services serve
less."""

FIRST_SHARE = 0.5
"""Share of a required capacity at which the search by rate begins: its next level is the required rate."""

Growth = Literal["possible", "coming", "none"]
"""Whether one more worker may be started, one was started and has not joined yet, or neither."""


class Workers(Protocol):
    """Those of the run, as the autopilot adds to them."""

    def growth(self) -> Growth:
        """Whether another one may start."""

    def add(self, by: By) -> None:
        """Start one more."""


def experiment_args(users: int, experiment: Experiment) -> dict[str, Param | None]:
    """An experiment as the arguments of a command."""
    return {"users": users, **msgspec.to_builtins(experiment)}


def able_of(options: RunOptions) -> Able:
    """What experiments can change in a run with these options."""
    tasks = [task for task in options.profile.users.task if task.weight] if options.locustfile is None else []
    endpoints = tuple(dict.fromkeys(task.endpoint for task in tasks))
    ready = options.spec.ready.path if options.spec is not None and tasks else None
    path = f"GET {ready}" if ready is not None and f"GET {ready}" not in endpoints else None
    params = options.spec.params if options.spec is not None else {}
    slots = [
        Slots(name, int(each.min or 1), None if each.max is None else int(each.max))
        for name, each in params.items()
        if name in SLOTS and isinstance(each.default, int) and not each.choices
    ]
    return Able(endpoints, path, options.profile.guards.max_users, tuple(slots))


SLOTS = (
    "pool", "pool_size", "connections", "max_connections", "threads", "max_threads", "concurrency", "slots", "workers",
    "processes",
)  # fmt: skip
"""Names of parameters that are numbers of slots, in the order in which they are tried: a pool says more than processes."""


class AutopilotDriver:
    """Off until `begin`. Each second it publishes the next step and, while it is on, takes it as the driver of one generation."""

    def __init__(
        self,
        context: RunContext,
        requested_load: RequestedLoad,
        levels: LiveLevels,
        workers: Workers,
        open_level: Callable[[Load, float, Experiment | None], None] | None = None,
    ) -> None:
        """`open_level`: opens a level, maybe of an experiment, of a load that was requested; None: no target can be restarted."""
        self._context, self._requested_load, self._levels, self._workers = context, requested_load, levels, workers
        self._open_level = open_level or self._open
        self._able = able_of(context.options)
        self._adviser = Adviser(context, workers)
        self._adviser.begin(context.options.start_users)
        self._rate_search = RateSearch(FIRST_PER_S)
        self._proposals = PublishedProposals(context, levels.marks)
        self._requirements = RequirementSearch()
        self._task: Task | None = None
        self._seeks: Task | Visit | None = None
        """What it does at this time: its task, or what the requirements need: a search, or a load that is held."""
        self._found: Done | None = None
        """How the latest search ended; None: without a knee."""
        self._first_users, self._began_s = 1, 0.0
        self._generation = 0

    @property
    def is_on(self) -> bool:
        """Whether its steps are accepted."""
        return self._task is not None and self._requested_load.is_current(self._generation)

    def begin(self, generation: int, task: Task, first_users: int) -> None:
        """Start with the levels measured so far. `generation`: that of the driver it steps as. `first_users`: where a search by
        users begins if none run yet; one by rate begins at the rate that is offered now.
        """
        self._generation, self._task, self._first_users, self._began_s = generation, task, first_users, self._context.now_s()
        if task == "explain":
            self._seeks = task
        elif task == "require":
            self._requirements, self._seeks = RequirementSearch(self._context.options.within_s or WITHIN_S), None
        else:
            self._seek(task, self._requested_load.load.per_s or FIRST_PER_S)

    def _seek(self, task: Task, first_per_s: float) -> None:
        self._seeks, self._found = task, None
        if task == "rate":
            self._rate_search = RateSearch(first_per_s)
        else:
            self._adviser.begin(self._first_users, only_verifies=task == "verify")

    def end(self) -> None:
        """No more steps, without a command that says so."""
        self._task = self._seeks = None

    def taken_over(self, by: By) -> None:
        """Another driver has begun: end, and emit a command that says so."""
        if self._task is not None:
            self._emit_end({"why": "taken_over", "who": by})

    def set_by_hand(self, users: int, before: int) -> None:
        """Note that a person, a plan or a guard set the users, as proposed or otherwise."""
        self._adviser.set_by_hand(users, before)

    def ticked(self, current: CurrentEpoch, planned: Hold | None = None) -> str | None:
        """Called after each second was folded into the timeline. Returns the sentence of a search's end.

        `planned`: the proposal of the plan or shape that has the load.
        """
        is_open = self._requested_load.is_open
        ended = self._decide() if self._task == "require" and is_open and self.is_on else None
        by_users = self._seeks in ("knee", "verify")
        if self._seeks == "rate" and is_open:
            ended = self._search_rate(current)
        if self._seeks == "explain":
            return self._experiment() if is_open else None
        steps_users = by_users and self.is_on
        if not steps_users and planned is not None:
            self._proposals.show(planned)
        elif (visit := self._visited()) is not None:
            self._proposals.show(Decide(visit.required, visit.load))
        elif not steps_users and isinstance(self._requested_load.load, Rate):
            self._proposals.show(Hold("rate_search" if self.is_on else "rate"))
        elif not steps_users and is_open and (trying := self._trying()) is not None:
            self._proposals.show(trying)
        elif is_open and (by_users or self._adviser.is_due):
            proposal = self._adviser.propose(current)
            if not steps_users and isinstance(proposal, Done):
                proposal = self._next_experiment() or proposal
            self._proposals.show(proposal)
            return self._carry_out(proposal) if by_users else ended
        return ended

    # -- requirements

    def _visited(self) -> Visit | None:
        """The load that decides something: where it is held, or the lowest one for a person to go to; None: a search goes on."""
        if self._seeks is not None:
            return self._seeks if isinstance(self._seeks, Visit) else None
        return next((Visit(each.load, each) for each in open_at_loads(self._context.timeline.answers)), None)

    def _decide(self) -> str | None:
        """Go to the load that decides what is open, or begin the search that does. Returns the sentence of the end."""
        match self._requirements.due(self._context.timeline.answers, self._context.now_s() - self._began_s):
            case Visit(load, required) as visit:
                self._seeks = visit
                self._step(self._allowed(load), "require", {"required": wording.text_of(required)})
            case Seek(what):
                task: Task = "rate" if what == "capacity" and self._context.options.can_offer_rates else "knee"
                if task != self._seeks:
                    if task == "knee" and isinstance(self._requested_load.load, Rate):
                        self._step(Users(self._first_users), "first", {})
                    still_open = [each for each in self._context.timeline.answers if each.state == "undecided"]
                    bounds = [each.required.per_s for each in still_open if isinstance(each, CapacityAnswer)]
                    self._seek(task, FIRST_SHARE * min(bounds, default=FIRST_PER_S))
            case Finished(why):
                if not isinstance(self._seeks, Visit):  # a search may have overloaded the service
                    self._rest()
                states = Counter[str](each.state for each in self._context.timeline.answers)
                return self._finish("done" if why == "decided" else "gave_up", why, {**states})
        return None

    def _rest(self) -> None:
        """Go to the lowest load of its kind that was measured."""
        load = self._requested_load.load
        used = [each.load for each in self._context.timeline.levels if each.has_load and type(each.load) is type(load)]
        self._step(min(used, key=lambda each: each.amount, default=load), "rest", {})

    def _carry_out(self, proposal: Proposal) -> str | None:
        match proposal:
            case GoTo():
                self._take(proposal)
            case AddWorker():
                self._workers.add("autopilot")  # a level begins when the worker is there
            case Done() | GiveUp() if self._task == "require":
                self._end_search()
            case Done():
                self._found = proposal
                return self._end(proposal)
            case GiveUp() if self._take(GoTo(proposal.users, "rest")):
                return self._end(proposal)
        return None

    def _end(self, proposal: Done | GiveUp) -> str:
        left_out = self._adviser.end(proposal)
        how = "done" if isinstance(proposal, Done) else "gave_up"
        return self._finish(how, proposal.why, {**proposal.figures, **({"left_out": left_out} if left_out else {})})

    # -- experiments at the knee

    @property
    def can_explain(self) -> bool:
        """Whether the latest search has found a knee of which experiments may tell the cause."""
        is_by_users = isinstance(self._requested_load.load, Users)
        return self._found is not None and is_by_users and self._next_experiment() is not None

    def _next_experiment(self) -> Try | None:
        level = self._context.timeline.level
        return next_experiment(self._context.timeline, level.opened.epoch, self._able) if level is not None else None

    def _trying(self) -> Proposal | None:
        """While the level of an experiment is open: to wait for its end, then the next one, then the end; None: there is none."""
        level, now_s = self._context.timeline.level, self._context.timeline.last_s
        if level is None or level.closed is not None or level.opened.experiment is None:
            return None
        if not is_over(level, now_s):
            passed_s = now_s - level.opened.t_s
            return Hold("experiment", max(0.0, LEAST_S + SETTLING_S - passed_s), max(0.0, LASTS_MOST_S - passed_s))
        return self._next_experiment() or self._found or Done("knee")

    def _open(self, load: Load, spawn_rate: float, experiment: Experiment | None) -> None:
        self._levels.step(load, "autopilot", spawn_rate, experiment=experiment)

    def _experiment(self) -> str | None:
        """Carry out the next experiment. Returns the sentence of the end."""
        proposal = self._trying() or self._next_experiment() or self._found or Done("knee")
        self._proposals.show(proposal)
        match proposal:
            case Try(users, experiment):
                rate = self._requested_load.move(Users(users), self._generation)
                if rate is not None:
                    self._context.command("experiment", "autopilot", experiment_args(users, experiment))
                    self._open_level(Users(users), rate, experiment)
            case Done():
                self._rest()
                return self._end(proposal)
        return None

    def _search_rate(self, current: CurrentEpoch) -> str | None:
        known = rate_input(self._context.timeline, self._requested_load.load, current)
        match self._rate_search.due(known):
            case Offer(per_s, why):
                self._step(Rate(per_s), why, {})
            case End() if self._task == "require":
                self._end_search()
            case End(per_s, why, found) if self._step(Rate(per_s), "rest", {}):
                names = ("kind", "limit", "per_s", "low_per_s", "high_per_s", "kept_per_s") if known.capacity is not None else ()
                return self._finish("done" if found else "gave_up", why, {name: getattr(known.capacity, name) for name in names})
        return None

    def _end_search(self) -> None:
        """The search that the requirements needed has ended by its own rules."""
        self._seeks = None
        self._requirements.searched()

    def _allowed(self, load: Load) -> Load:
        """Of users, at most as many as the guards allow."""
        return Users(min(load.users, self._context.options.profile.guards.max_users)) if isinstance(load, Users) else load

    def _take(self, proposal: GoTo) -> bool:
        """False if another driver has begun: the step is refused."""
        load, level = self._allowed(Users(proposal.users)), self._context.timeline.level
        is_there = not proposal.opens_new_level and level is not None and level.closed is None
        if not self._step(load, proposal.why, proposal.figures, is_there=is_there):
            return False
        self._adviser.took(proposal)
        return True

    def _step(self, load: Load, why: str, figures: Figures, *, is_there: bool = True) -> bool:
        """As `_take`. `is_there`: no level is opened if the load is requested already."""
        before = self._requested_load.load
        if load == before and is_there:
            return self.is_on
        rate = self._requested_load.move(load, self._generation)
        if rate is None:
            return False
        if isinstance(load, Users):
            self._context.command("users", "autopilot", {"users": load.users, "before": before.users, "why": why, **figures})
        else:
            self._context.command("rate", "autopilot", {"per_s": load.per_s, "before": before.per_s, "why": why, **figures})
        self._open_level(load, rate, None)
        return True

    def _finish(self, how: str, why: str, figures: Figures) -> str:
        args = self._emit_end({"end": how, "why": why, **figures})
        self._levels.marks.judge()  # judged only at intervals: now, so that marks agree with the autopilot
        return wording.autopilot(args)

    def _emit_end(self, how: Figures) -> dict[str, Param | None]:
        task = {} if self._task == "knee" else {"task": self._task}
        self._task = self._seeks = None
        args: dict[str, Param | None] = {"on": False, **task, **how}
        self._context.command("autopilot", "autopilot", args)
        return args


# -- proposals by users


class Adviser:
    """Call `propose` once a second, and `took` or `set_by_hand` when users were set. A step that was proposed advances the
    search; any other step begins a new search with the levels measured so far.
    """

    def __init__(self, context: RunContext, workers: Workers) -> None:
        self._timeline, self._max_users = context.timeline, context.options.profile.guards.max_users
        self._workers = workers
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
        self._left_out = 0
        """Levels disturbed by other processes, which the verdict does not use."""

    def begin(self, first_users: int, *, only_verifies: bool = False) -> None:
        """Begin a search with the levels measured so far. `first_users`: where it begins if no users run. `only_verifies`:
        verify the knee that is known now, without a search.
        """
        known = self._timeline.current_verdict if only_verifies else None
        self._verdict = known.capacity if known is not None else CapacityVerdict()
        self._first_users = max(1, first_users)
        self._search = Search(self._first_users, only_verifies=only_verifies)
        self._taken = self._ended = None

    def end(self, how: Done | GiveUp) -> int:
        """End the search. Returns the number of levels that the verdict leaves out, since other processes disturbed them."""
        self._ended = how
        self._looked_s = -math.inf  # what follows is proposed at once
        return self._left_out

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
        growth = self._workers.growth() if known.generator_saturated and self._has_idle_cpu() else "none"
        if growth != "none":
            return AddWorker() if growth == "possible" else Hold("worker")
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
        self._left_out = len(left_out)
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
        ticks = [tick for sample in _latest(self._timeline, level) for tick in sample.endpoints]
        requests = sum(tick.requests + tick.warmup_requests for tick in ticks)
        return requests, sum(tick.failures + tick.warmup_failures for tick in ticks)


# -- what the searches know


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


def rate_input(timeline: Timeline, load: Load, current: CurrentEpoch) -> RateInput:
    """What a search by rate knows. `load`: that is requested."""
    level, verdict, last = timeline.level, current.epoch.verdict, timeline.last
    rates = verdict.rates if verdict is not None else None
    levels = rates.levels if rates is not None else ()
    is_open = level is not None and level.load == load and level.closed is None
    offered = [sample.offered for sample in _latest(timeline, level) if sample.offered is not None]
    return RateInput(
        per_s=load.per_s if is_open else None,
        open_s=timeline.last_s - level.started_s if level is not None else 0.0,
        settled_s=level.figures.settled_seconds if level is not None else 0.0,
        in_flight=float(last.offered.in_flight) if last is not None and last.offered is not None else 0.0,
        dropped=any(each.dropped.total for each in offered),
        level=next((each for each in levels if level is not None and each.level == level.opened.index), None),
        levels=levels,
        capacity=rates.capacity if rates is not None else None,
        return_per_s=rates.return_per_s if rates is not None else None,
        most_per_s=RATE_MOST_PER_S,
        stretch=stretch_of(each.figures for each in current.epoch.all_levels),
    )


def _latest(timeline: Timeline, level: Level | None) -> list[Sample]:
    """The latest seconds of the open level."""
    return timeline.since(max((level.opened.t_s if level is not None else 0.0) + 1.0, timeline.last_s - LATEST_S))


# -- proposals as events: one when the next step changes, not one a second


LATER_S = 1.5
"""A countdown that ends this much earlier or later than announced is published again."""

FIGURES_EVERY_S = 10.0
"""Seconds between two events whose proposals differ only in figures, which change every second."""


class PublishedProposals:
    """`show` each second."""

    def __init__(self, context: RunContext, marks: LiveMarks) -> None:
        self._context, self._marks = context, marks
        self._shown: Proposed | None = None

    def show(self, proposal: Proposal) -> None:
        """Publish the proposal if it is news; the end of a search after the verdict and the marks as of now, since a level is
        judged only at some of its seconds and the search ends at any.
        """
        now_s = self._context.now_s()
        if self._shown is None or _is_news(self._shown, proposal, now_s):
            if isinstance(proposal, Done):
                self._marks.judge()
            self._shown = Proposed(t_s=now_s, proposal=proposal)
            self._context.emit(self._shown)


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
