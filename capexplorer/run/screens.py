"""The screens of a run, and which of them holds the controls: at most one at any moment.

A screen that may steer gets the controls when no screen has them. Otherwise it asks for them. The holder sees the request and
hands the controls over with a key, or keeps them by steering. A holder that does neither loses them after ANSWER_S, since its
terminal may hang.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from ..load import native
from ..model.controls import AddNote, AskControls, Control, EndRun, GiveControls, Param, RunControls, Setup, State
from ..model.sources import Clock

ANSWER_S = 15.0
"""Seconds that the holder has to keep controls that another screen asks for."""

ELSEWHERE = "another screen has the controls"

Record = Callable[[dict[str, Param | None]], None]
"""Records a change as the command `controls`."""


class RunScreen:
    """One screen, on the run's own terminal or attached to it, with its `Controls`."""

    def __init__(self, screens: Screens, name: str, *, may_steer: bool) -> None:
        self._screens = screens
        self.name, self.may_steer = name, may_steer

    @property
    def setup(self) -> Setup:
        """How the run was set up."""
        return self._screens.controls.setup

    @property
    def state(self) -> State:
        """The state now, as this screen sees it."""
        screens = self._screens
        return replace(
            screens.controls.state,
            holds=screens.holds(self),
            holder=screens.holder,
            asked_by=screens.asked_by,
            screens=screens.count,
        )

    def do(self, control: Control) -> str | None:
        """Do it if this screen may. Returns None if it is done, else why not, in one line."""
        return self._screens.do(self, control)

    def leave(self) -> None:
        """The screen is closed."""
        self._screens.leave(self)


class Screens:
    """Its methods may be called from any thread."""

    def __init__(self, controls: RunControls, record: Record, monotonic: Clock = time.monotonic) -> None:
        self.controls = controls
        self._record, self._monotonic = record, monotonic
        self._screens: list[RunScreen] = []
        self._holder: RunScreen | None = None
        self._asker: RunScreen | None = None
        self._asked_s = 0.0
        self._lock = native.allocate_lock()

    # -- the present state

    @property
    def count(self) -> int:
        """Number of screens, those that only watch included."""
        return len(self._screens)

    @property
    def holder(self) -> str | None:
        """The name of the screen that holds the controls; None if no screen does."""
        holder = self._holder
        return holder.name if holder is not None else None

    @property
    def asked_by(self) -> str | None:
        """The name of the screen that asks for them; None if no screen does."""
        asker = self._asker
        return asker.name if asker is not None else None

    def holds(self, screen: RunScreen) -> bool:
        """Whether this screen holds them."""
        return self._holder is screen

    # -- changes

    def begin(self, name: str) -> RunScreen:
        """Add the run's own screen, before any other. It gets the controls, which is not recorded."""
        self._holder = screen = RunScreen(self, name, may_steer=True)
        self._screens.append(screen)
        return screen

    def join(self, name: str, *, may_steer: bool) -> RunScreen:
        """Add an attached screen. It gets the controls if it may steer and no screen has them."""
        screen = RunScreen(self, name, may_steer=may_steer)
        with self._lock:
            self._screens.append(screen)
            if self._holder is None and screen.may_steer:
                self._hand_to(screen)
        return screen

    def leave(self, screen: RunScreen) -> None:
        """Remove a screen. If it held the controls, the screen that asks for them gets them, else the earliest that may steer."""
        with self._lock:
            if screen not in self._screens:
                return
            self._screens.remove(screen)
            next_one = self._asker if self._asker is not screen else None
            if self._asker is screen:
                self._asker = None
            if self._holder is screen:
                self._hand_to(next_one or next((each for each in self._screens if each.may_steer), None))

    def do(self, screen: RunScreen, control: Control) -> str | None:
        """Do what a screen asks for, unless another one has the controls. Returns None if it is done, else why not, in one line.

        Controls are not handed to another screen meanwhile.
        """
        if isinstance(control, AddNote | EndRun):
            return self.controls.do(control) if screen.may_steer else "a screen that only watches has no controls"
        with self._lock:
            if isinstance(control, AskControls):
                self._ask(screen)
            elif isinstance(control, GiveControls):
                self._give(screen)
            elif self._holder is not screen:
                return ELSEWHERE
            else:
                self._keep(screen)
                return self.controls.do(control)
        return None

    def _ask(self, screen: RunScreen) -> None:
        """Hand them over if no screen has them. Has no effect while another screen asks for them."""
        if not screen.may_steer or self._holder is screen:
            return
        if self._holder is None:
            self._hand_to(screen)
        elif self._asker is None:
            self._asker, self._asked_s = screen, self._monotonic()
            self._record({"asked_by": screen.name})

    def _give(self, screen: RunScreen) -> None:
        if self._holder is screen and self._asker is not None:
            self._hand_to(self._asker)

    def _keep(self, screen: RunScreen) -> None:
        """The holder steers: whoever asks does not get them."""
        if self._asker is not None:
            self._asker = None
            self._record({"holder": screen.name, "kept": True})

    def hand_over_when_due(self) -> None:
        """Hand the controls over if the holder did not answer within ANSWER_S. Call it several times a second."""
        with self._lock:
            if self._asker is not None and self._monotonic() - self._asked_s >= ANSWER_S:
                self._hand_to(self._asker)

    def _hand_to(self, screen: RunScreen | None) -> None:
        self._holder, self._asker = screen, None
        self._record({"holder": screen.name if screen is not None else None})
