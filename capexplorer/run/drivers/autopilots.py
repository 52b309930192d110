"""The autopilot by users and the one by offered rate, of which at most one is on, and the next step, published each second.

Runs in the pump's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ...model.events import By, Command, Event
from ...model.param import Param
from ...model.proposals import Hold
from ...model.timeline import Timeline
from ..current_epoch import CurrentEpoch
from ..proposals_published import PublishedProposals
from .adviser import Growth
from .autopilot import AutopilotDriver
from .load_target import POOL_SPAWN_RATE, LoadTarget
from .rate_autopilot import RateAutopilotDriver


class Autopilots:
    """`begin` one of them, `ticked` once a second; `end` or `taken_over` whichever is on."""

    def __init__(
        self,
        timeline: Timeline,
        load_target: LoadTarget,
        *,
        first_users: int,
        max_users: int,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        open_level: Callable[[int, float, float | None], None],
        finish: Callable[[str], None],
        growth: Callable[[], Growth],
        grow: Callable[[], None],
        judge: Callable[[], None] = lambda: None,
    ) -> None:
        """`first_users`: where the first search begins. `open_level` takes users, users started per second, and the offered rate.

        `finish(reason)` is called when a search ends. `growth`, `grow`: see `AutopilotDriver`; `judge`: see `PublishedProposals`.
        """

        def command(name: Literal["users", "rate", "autopilot"], args: Mapping[str, Param | None]) -> None:
            emit(Command(t_s=now_s(), name=name, by="autopilot", args=dict(args)))

        self._load_target = load_target
        self._proposals = PublishedProposals(emit, now_s, judge)
        self._by_users = AutopilotDriver(
            timeline,
            load_target,
            max_users=max_users,
            emit=command,
            open_level=lambda users, spawn_rate: open_level(users, spawn_rate, None),
            finish=finish,
            growth=growth,
            grow=grow,
            publish=self._proposals.show,
        )
        self._by_users.adviser.begin(first_users)
        self._by_rate = RateAutopilotDriver(
            timeline,
            load_target,
            emit=command,
            open_level=lambda per_s: open_level(0, POOL_SPAWN_RATE, per_s),
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
        elif is_free and self._load_target.offered_per_s is not None:
            self._proposals.show(Hold("rate_search" if self._by_rate.is_on else "rate"))
        else:
            self._by_users.ticked(current)
