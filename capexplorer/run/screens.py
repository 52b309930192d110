"""The screens of a run, and which of them holds the controls: at most one at any moment.

A screen that may steer gets the controls when no screen has them. Otherwise it asks for them. The holder sees the request and
hands the controls over with a key, or keeps them by steering. A holder that does neither loses them after ANSWER_S, since its
terminal may hang.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ..load import native
from ..model.controls import AddNote, AskControls, Control, EndRun, GiveControls, Param, RunControls, Setup, State
from .context import RunContext
from .run_outcome import Failure

ANSWER_S = 15.0
"""Seconds that the holder has to keep controls that another screen asks for."""

ELSEWHERE = "another screen has the controls"


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
        return self._screens.state_of(self)

    def do(self, control: Control) -> str | None:
        """Do it if this screen may. Returns None if it is done, else why not, in one line."""
        return self._screens.do(self, control)

    def leave(self) -> None:
        """The screen is closed."""
        self._screens.leave(self)


class Screens:
    """Its methods may be called from any thread."""

    def __init__(self, controls: RunControls, context: RunContext) -> None:
        self.controls = controls
        self._context = context
        self._screens: list[RunScreen] = []
        self._holder: RunScreen | None = None
        self._asker: RunScreen | None = None
        self._asked_s = 0.0
        self._lock = native.allocate_lock()

    # -- the present state

    @property
    def holder(self) -> str | None:
        """The name of the screen that holds the controls; None if no screen does."""
        holder = self._holder
        return holder.name if holder is not None else None

    def state_of(self, screen: RunScreen) -> State:
        """The state now, as this screen sees it."""
        asker = self._asker
        return replace(
            self.controls.state,
            holds=self._holder is screen,
            holder=self.holder,
            asked_by=asker.name if asker is not None else None,
            screens=len(self._screens),
        )

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
            self._asker, self._asked_s = screen, self._context.now_s()
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
            if self._asker is not None and self._context.now_s() - self._asked_s >= ANSWER_S:
                self._hand_to(self._asker)

    def _hand_to(self, screen: RunScreen | None) -> None:
        self._holder, self._asker = screen, None
        self._record({"holder": screen.name if screen is not None else None})

    def _record(self, change: dict[str, Param | None]) -> None:
        self._context.pump.post(self._context.command, "controls", "user", change)


# -- the end of a run without a screen of its own: that of a plan or the autopilot, or a while after load by hand. While an
# attached screen has the controls, a person decides.


POLL_S = 0.25
"""Seconds between two checks."""


class Unattended:
    """Counts the time from its construction. Read `reason` a few times a second, in one thread."""

    def __init__(self, context: RunContext, screens: Screens, is_driven: Callable[[], bool]) -> None:
        """`is_driven`: whether a plan, a shape or the autopilot steps the load, or will."""
        self._context, self._screens, self._is_driven = context, screens, is_driven
        self._outcome, self._kept_s = context.outcome, screens.controls.setup.unattended_s
        self._is_stopped = False
        self._since_s: float | None = None
        """When the controls were left."""
        self._was_driven = False
        """Whether something stepped the users when the controls were left: its end is the run's."""
        self._failed_before: Failure | None = None
        self._why()  # so that a failure before `reason` is first read counts as a new one

    def stop(self) -> None:
        """End the run. From any thread."""
        self._screens.controls.do(EndRun())
        self._outcome.quit("ended by the user")
        self._is_stopped = True

    @property
    def reason(self) -> str | None:
        """Why the run has ended; None while it goes on."""
        if self._outcome.signal is not None or self._is_stopped:
            return self._outcome.reason
        why = self._why()
        if why is None:
            return None
        if self._was_driven:
            self._outcome.leave(why)
        else:
            self._outcome.quit(why)
        return self._outcome.reason

    def _why(self) -> str | None:
        """Why the run ends now, since no screen has its controls."""
        if self._screens.holder is not None:
            self._since_s = None
            return None
        driven, failure, now_s = self._is_driven(), self._outcome.failure, self._context.now_s()
        if self._since_s is None:
            self._since_s, self._was_driven, self._failed_before = now_s, driven, failure
        if self._was_driven:
            has_failed = failure is not None and failure is not self._failed_before
            return None if driven and not has_failed else "the plan or the autopilot has ended, and no screen has the controls"
        if now_s - self._since_s >= self._kept_s:
            return f"no screen had the controls for {self._kept_s:g} s ([guards] unattended_s)"
        return None
