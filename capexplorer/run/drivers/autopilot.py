"""The autopilot as a driver: each second it takes the proposal of the next step, if that is due. Runs in the pump's thread.

The `Adviser` makes the proposals. While the autopilot is off, they are published but not carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ... import wording
from ...model.events import By
from ...model.param import Param
from ...model.proposals import AddWorker, Done, GiveUp, GoTo, Proposal
from ...model.timeline import Timeline
from ..current_epoch import CurrentEpoch
from .adviser import Adviser, Growth
from .load_target import LoadTarget

EmitCommand = Callable[[Literal["users", "autopilot"], Mapping[str, Param | None]], None]
"""Emits a command of the autopilot: its name and arguments."""


class AutopilotDriver:
    """Off until `begin`. `open_level(users, spawn_rate)` opens a level; `finish(reason)` is called when the search ends."""

    def __init__(
        self,
        timeline: Timeline,
        load_target: LoadTarget,
        *,
        max_users: int,
        emit: EmitCommand,
        open_level: Callable[[int, float], None],
        finish: Callable[[str], None],
        growth: Callable[[], Growth] = lambda: "none",
        grow: Callable[[], None] = lambda: None,
        publish: Callable[[Proposal], None] | None = None,
    ) -> None:
        """`growth`: returns whether another worker may start. `grow`: starts it. `publish`: takes each second's proposal, also
        while the autopilot is off; if it is None, proposals are made only while the autopilot is on.
        """
        self._grow, self._publish = grow, publish
        self._timeline, self._load_target, self._max_users = timeline, load_target, max_users
        self._emit, self._open_level, self._finish = emit, open_level, finish
        self.adviser = Adviser(timeline, max_users, growth)
        self._on = self._only_verifies = False
        self._generation = 0

    @property
    def is_on(self) -> bool:
        """Whether its steps are accepted."""
        return self._on and self._load_target.is_current(self._generation)

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
        if not self._load_target.is_open or not is_asked:
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
        users, before = min(step.users, self._max_users), self._load_target.wanted
        level = self._timeline.level
        if users == before and not step.opens_new_level and level is not None and level.closed is None:
            self.adviser.took(step)
            return True
        rate = self._load_target.move(users, self._generation)
        if rate is None:
            return False
        self.adviser.took(step)
        self._emit("users", {"users": users, "before": before, "why": step.why, **step.figures})
        self._open_level(users, rate)
        return True

    def _end(self, how: str, ending: Done | GiveUp) -> None:
        self.end()
        self.adviser.conclude(ending)
        self._load_target.end_autopilot(self._generation)
        left_out: dict[str, Param | None] = {"left_out": self.adviser.left_out} if self.adviser.left_out else {}
        args = {"on": False, **self._task, "end": how, "why": ending.why, **ending.figures, **left_out}
        self._emit("autopilot", args)
        self._finish(wording.autopilot(args))

    @property
    def _task(self) -> dict[str, Param | None]:
        return {"task": "verify"} if self._only_verifies else {}
