"""The controls of a live run: what a person may do to it, as values, and what a screen knows of it.

Each control is a struct of this file, and a case of `run.screens.LiveControls`, the last two of `Screens` there. A screen in
another process sends the struct itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Protocol, assert_never

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from .experiments import Experiment
from .load import NO_LOAD, Load, Rate, Users, clamped_rate

Param = str | int | float | bool
"""The value of a parameter of a target."""


SPAWN_RATE_LEAST = 0.001
SPAWN_RATE_MOST = 100_000.0
"""Users per second: the bounds in profiles, options and keys."""

Text = Annotated[str, Meta(max_length=10_000)]
"""A note, a parameter's value, or a plan, whose own bound this is. Bounds hold for what arrives from another process."""
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was set up; it does not change."""

    max_users: int
    """The limit guards.max_users, which no control exceeds."""
    can_restart: bool
    """Whether capexplorer started the target."""
    plans: Mapping[str, str]
    """Plans of the profile by name."""
    unattended_s: float
    """Seconds for which load set by hand goes on while no screen has the controls; 0: the run ends with its own screen."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a screen shows of a run that is not among its events yet, from the view of that screen."""

    load: Load = NO_LOAD
    """Requested as of the last control, so that steps typed quickly add up."""
    spawn_rate: float | None = None
    """Users started per second; None: a step takes one second, with at most 100 users started."""
    workers: int = 0
    """Worker processes that generate load now; 0: users run in the run's process."""
    autopilot: bool = False
    """Whether the autopilot steps the users. Any control that steps them ends it at once."""
    target_params: Mapping[str, Param] = {}
    """The target's current parameters; empty if capexplorer did not start the target."""
    holds: bool = True
    """Whether this screen has the controls. At most one screen has them at any moment."""
    holder: str | None = None
    """Name of the screen that has the controls, such as `pts/3`; None: no screen has them."""
    asked_by: str | None = None
    """Name of the screen that asks for the controls, and gets them unless the holder goes on using them; None: none asks."""
    screens: int = 1
    """Number of screens of the run, those that only watch included."""
    connected: bool = True
    """Whether the run can be reached from this screen."""


class _Control(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    is_answered: ClassVar[bool] = False
    """Whether a screen in another process waits for the answer, which a dialog shows; it shows other refusals as they arrive."""


class StepTo(_Control, frozen=True, tag="step_to"):
    """Step to this load; opens a level. Users are clamped to 0..max_users, a rate to RATE_LEAST_PER_S..RATE_MOST_PER_S, or 0; its
    pool has at most `max_users`.
    """

    load: Load


class Zero(_Control, frozen=True, tag="zero"):
    """Stop all users at once."""


class NewLevel(_Control, frozen=True, tag="new_level"):
    """Open a new level with the same users, or the same rate."""


class SetStep(_Control, frozen=True, tag="step"):
    """Set the step size, which the screen uses: it is recorded only."""

    step: Count


class SetSpawnRate(_Control, frozen=True, tag="spawn_rate"):
    """Set the users started per second from the next step on (clamped to SPAWN_RATE_LEAST..SPAWN_RATE_MOST); None: automatic."""

    rate: float | None


class SetAutopilot(_Control, frozen=True, tag="autopilot"):
    """Start the autopilot with the levels measured so far, or end it, which leaves the load as it is. It decides what is required
    and still open; else it finds the knee.
    """

    on: bool
    finds_rate: bool = False
    """Search for the capacity as an offered rate instead."""


class TryExperiment(_Control, frozen=True, tag="experiment"):
    """Go to `users` with this experiment, in a level of its own."""

    users: Count
    experiment: Experiment


class VerifyKnee(_Control, frozen=True, tag="verify"):
    """Let the autopilot verify the current knee and end; users then stay at the first level."""


class StartPlan(_Control, frozen=True, tag="plan"):
    """Start a plan (a name, or the plan's text); it replaces the current driver. Any change of users by hand ends it."""

    is_answered = True
    plan: Text


class SampleStacks(_Control, frozen=True, tag="stacks"):
    """Sample the target's stacks: at low load and beyond the knee, then go back to the present load; while no knee is known, at
    the present load. It replaces the current driver. Any change of the load by hand ends it.
    """


class Require(_Control, frozen=True, tag="require"):
    """Require this of the service as well, from now on: `p95 <= 300ms @ 50 users`. What is required already is taken back."""

    is_answered = True
    requirement: Text


class ChangeWorkers(_Control, frozen=True, tag="workers"):
    """Start one more worker, or end one. A level opens once it generates load, or has ended."""

    add: bool


class WatchPart(_Control, frozen=True, tag="watch_part"):
    """Watch one more part, `NAME=TRANSPORT[:SELECTOR]`, from now on."""

    part: Text


class AddNote(_Control, frozen=True, tag="note"):
    """Record a note at this moment. Every screen that may have the controls may do it."""

    text: Text


class RestartTarget(_Control, frozen=True, tag="restart"):
    """Restart the target with these parameters, as texts; others stay unchanged. Changed ones open an epoch."""

    is_answered = True
    params: Annotated[Mapping[Text, Text], Meta(max_length=100)]


class EndRun(_Control, frozen=True, tag="end_run"):
    """Record that the user wants to end the run; `EventSource.close` ends it. In another process: end the run. Every screen that
    may have the controls may do it.
    """


class AskControls(_Control, frozen=True, tag="ask"):
    """Ask for the controls; if no screen has them, this screen gets them at once."""


class GiveControls(_Control, frozen=True, tag="give"):
    """Hand the controls to the screen that asks for them."""


RunControl = (
    StepTo
    | Zero
    | NewLevel
    | SetStep
    | SetSpawnRate
    | SetAutopilot
    | TryExperiment
    | VerifyKnee
    | StartPlan
    | SampleStacks
    | Require
    | ChangeWorkers
    | WatchPart
    | AddNote
    | RestartTarget
    | EndRun
)  # fmt: skip
Control = RunControl | AskControls | GiveControls


def expected(state: State, control: Control) -> State:
    """The state after a control, which a screen in another process shows before the run confirms it."""
    match control:
        case StepTo(load):
            clamped = Rate(clamped_rate(load.per_s)) if isinstance(load, Rate) else load
            return replace(state, load=clamped, autopilot=False)
        case Zero():
            return replace(state, load=NO_LOAD, autopilot=False)
        case NewLevel() | StartPlan() | SampleStacks():
            return replace(state, autopilot=False)
        case SetAutopilot(on):
            return replace(state, autopilot=on)
        case TryExperiment(users):
            return replace(state, load=Users(users), autopilot=False)
        case VerifyKnee():
            return replace(state, autopilot=True)
        case Require() | SetStep() | SetSpawnRate() | ChangeWorkers() | WatchPart() | AddNote() | RestartTarget() | EndRun():
            return state
        case AskControls() | GiveControls():
            return state
        case _:
            assert_never(control)


class RunControls(Protocol):
    """The controls of a run, whichever screen uses them."""

    @property
    def setup(self) -> Setup:
        """How the run was set up."""

    @property
    def state(self) -> State:
        """The state now."""

    def do(self, control: RunControl) -> str | None:
        """Do it at once, and record it as a `Command` event. Returns None if it is done, else why not, in one line."""


class Controls(RunControls, Protocol):
    """The controls of a run for one of its screens. Most take effect only while that screen has them."""

    def do(self, control: Control) -> str | None:
        """As `RunControls.do`."""
