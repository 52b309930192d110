"""Steering the load: each key becomes one control, and the screen confirms it at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from ... import wording
from ...model.controls import (
    SPAWN_RATE_LEAST,
    SPAWN_RATE_MOST,
    AddNote,
    ChangeWorkers,
    Control,
    Controls,
    EndRun,
    NewLevel,
    Require,
    RestartTarget,
    SampleStacks,
    SetAutopilot,
    SetSpawnRate,
    SetStep,
    StartPlan,
    State,
    StepTo,
    TryExperiment,
    VerifyKnee,
    WatchPart,
    Zero,
)
from ...model.load import RATE_LEAST_PER_S, RATE_MOST_PER_S, Rate, Users
from ...model.proposals import Decide, GoTo, Proposal, Try
from ...model.requirements import EXAMPLES
from ...model.watched import parsed_part
from ...wording import quantities
from ...wording.numbers import counted, iterations
from ..dialogs import Ask, Confirm, TargetForm
from ..keybar import Performs
from ..keys import STEPS
from ..protocols import Actions, View
from ..render.text import span
from . import watching

# -- answers -------------------------------------------------------------------------------------------------------------------
# Checks of typed answers: why an answer is invalid, as a sentence; None if it is valid.


def users_error(answer: str, max_users: int) -> str | None:
    """What is wrong with a number of users."""
    if answer.endswith("/s"):
        return "expected users, not a rate; Esc, then u changes the unit to an offered rate"
    if not (answer.isascii() and answer.isdigit()):
        return f"expected a whole number, 0 to {max_users:,}"
    return f"the limit is {max_users:,} users (guards.max_users)" if int(answer) > max_users else None


def spawn_rate_error(answer: str) -> str | None:
    """What is wrong with a spawn rate."""
    try:
        right = not answer or SPAWN_RATE_LEAST <= float(answer) <= SPAWN_RATE_MOST
    except ValueError:
        right = False
    bounds = f"{SPAWN_RATE_LEAST:g} to {SPAWN_RATE_MOST:,.0f}"
    return None if right else f"expected users a second, {bounds} (for example 10 or 0.5), or nothing for automatic"


def load_of(answer: str) -> float:
    """The number of users or the rate in an answer: `60`, `60/s`. Raises ValueError if it is neither."""
    return float(answer.removesuffix("/s"))


def offered_rate_error(answer: str) -> str | None:
    """What is wrong with an offered rate: `60` or, as the screen writes it, `60/s`."""
    try:
        right = load_of(answer) == 0 or RATE_LEAST_PER_S <= load_of(answer) <= RATE_MOST_PER_S
    except ValueError:
        right = False
    bounds = f"{RATE_LEAST_PER_S:g} to {RATE_MOST_PER_S:,.0f}"
    return None if right else f"expected iterations a second, {bounds} (for example 200 or 0.5), or 0"


def part_error(answer: str) -> str | None:
    """What is wrong with a part to watch."""
    try:
        parsed_part(answer)
    except ValueError as error:
        return str(error)
    return None


def note_error(answer: str) -> str | None:
    """What is wrong with a note."""
    return None if answer else "the note is empty"


# -- a live run ----------------------------------------------------------------------------------------------------------------


Unit = Literal["users", "rate"]

UNASKED = 50
"""Users or iterations a second up to which a step needs no confirmation; nor does one up to twice the highest load so far."""

PERFORMED = {"W": "add_worker", "a": "autopilot", "e": "export", "f": "failures", "t": "restart"}
"""The keys of proposals other than Enter, with their names: Enter performs these as well."""


class LiveRunActions(Actions):
    """The actions on a live run, through its controls. After the end of the session they only show that it has ended."""

    def __init__(self, controls: Controls) -> None:
        self.controls = controls
        self._step = STEPS[0]
        """Users, or iterations a second, of one step."""
        self._chosen: tuple[Unit, Unit] | None = None
        """The unit that was chosen, and the unit of the load at that time."""
        self._last: Unit = "users"
        """The unit of the latest load."""

    @property
    def state(self) -> State:
        """The state after the last key, whose events arrive later."""
        return self.controls.state

    @property
    def performs(self) -> Performs:
        """What the keys of this screen do."""
        return {
            "take_step": self.action_take_step,
            "more_users": partial(self.action_step, 1),
            "fewer_users": partial(self.action_step, -1),
            "smaller_step": partial(self.action_resize_step, -1),
            "larger_step": partial(self.action_resize_step, 1),
            "go": self.action_go,
            "unit": self.action_unit,
            "zero": self.action_zero,
            "autopilot": self.action_autopilot,
            "verify": self.action_verify,
            "sample_stacks": self.action_sample_stacks,
            "plan": self.action_plan,
            "require": self.action_require,
            "new_level": self.action_new_level,
            "spawn_rate": self.action_spawn_rate,
            "add_worker": partial(self.action_worker, 1),
            "end_worker": partial(self.action_worker, -1),
            "note": self.action_note,
            "watch_part": self.action_watch_part,
            "restart": self.action_restart,
            "controls": self.action_controls,
            "detach": self.action_detach,
            "stop": self.action_stop,
        }

    @property
    def view(self) -> View:
        """The load after the last key, whose events arrive later."""
        state, setup = self.state, self.controls.setup
        return View(
            load=state.load,
            max_users=setup.max_users,
            step=self._step,
            unit=self.unit,
            spawn_rate=state.spawn_rate,
            can_restart=setup.can_restart,
            autopilot=state.autopilot,
            controls=watching.controls_line(state) if self._screen.timeline.ended is None else "",
            has_controls=state.holds,
            controls_asked=state.holds and state.asked_by is not None,
        )

    # -- leaving

    @property
    def quit_question(self) -> str | None:
        """A sentence that quitting ends the load; None without requested load, even while users end their last task."""
        state = self.state
        if self._screen.timeline.ended is not None or state.load.is_zero:
            return None
        load = counted(state.load.users) if isinstance(state.load, Users) else iterations(state.load.per_s)
        ends = f"The load of {load} will stop. The session is saved."
        return ends if state.holds else f"{state.holder} has the controls. {ends}"

    def quit(self) -> None:
        """Tell the run that the user quits."""
        self.controls.do(EndRun())

    def action_stop(self) -> None:
        """End the run; on its own screen the same as quitting."""
        self._screen.leave()

    def action_detach(self) -> None:
        """Close this screen; the run goes on without it."""
        if not self._is_running():
            return
        if not self.controls.setup.unattended_s:
            return self._screen.show_message("[guards] unattended_s is 0: the run ends with its screen", alarm=True)
        self._screen.leave_run()

    # -- who has the controls

    def action_controls(self) -> None:
        """Ask for the controls, or hand them to the screen that asks."""
        self._screen.show_message(watching.passed_on(self.controls))

    # -- the next step

    def action_take_step(self) -> None:
        """Perform the step that the line NEXT proposes."""
        timeline = self._screen.timeline
        step = wording.next_step(timeline, can_restart=self.controls.setup.can_restart, by_rate=self.unit == "rate")
        proposed = timeline.proposed.proposal if timeline.proposed is not None else None
        if step is not None and step.key in PERFORMED:
            self._screen.act(PERFORMED[step.key])
        elif self.state.autopilot:
            self._screen.show_message("the autopilot takes the next step")
        elif step is None or step.key != "Enter" or self.state.load.users != timeline.wanted:
            self._screen.show_message("nothing to do yet: wait for the next step")
        elif self._may_steer():
            self._take(proposed)

    def _take(self, proposed: Proposal | None) -> None:
        if isinstance(proposed, Decide):
            self._do(StepTo(proposed.load))
        elif isinstance(proposed, Try):
            self._do(TryExperiment(proposed.users, proposed.experiment))
        elif isinstance(proposed, GoTo) and proposed.users != self.state.load.users:
            self._do(StepTo(Users(proposed.users)))
        else:
            self._do(NewLevel())

    # -- users, or an offered rate

    @property
    def unit(self) -> Unit:
        """The unit chosen by key, until a plan, the autopilot or another screen changes that of the load. Otherwise the unit of
        the load, or of the last load if there is none now."""
        match self.state.load:
            case Rate():
                self._last = "rate"
            case Users(users) if users:
                self._last = "users"
        chosen, unit_of_load = self._chosen or (self._last, self._last)
        return chosen if unit_of_load == self._last else self._last

    @property
    def _wanted(self) -> float:
        """The requested load in this unit."""
        load = self.state.load
        return load.users if self.unit == "users" else load.per_s or 0.0

    def action_unit(self) -> None:
        """Change to the other unit from the next step on. The load itself stays."""
        if not self._may_steer():
            return
        self._chosen = "rate" if self.unit == "users" else "users", self._last
        after = self._wanted + self._step
        if self.unit == "users":
            return self._screen.show_message(f"steps are users: + goes to {after:,} users")
        self._screen.show_message(f"steps are an offered rate: + offers {iterations(after)}")

    def action_step(self, direction: int) -> None:
        """One step up (1) or down (-1) from the requested load, so that steps typed quickly add up."""
        if self._may_steer():
            self._set(max(0.0, self._wanted + direction * self._step))

    def action_resize_step(self, direction: int) -> None:
        """A smaller (-1) or larger (1) step."""
        sizes = [size for size in STEPS if (size > self._step if direction > 0 else size < self._step)]
        if sizes:
            self._step = sizes[0] if direction > 0 else sizes[-1]
            if self.state.holds:
                self.controls.do(SetStep(self._step))
        end = "" if sizes else f" (the {'largest' if direction > 0 else 'smallest'})"
        self._screen.show_message(f"step {self._step}{'/s' if self.unit == 'rate' else ''}{end}")

    def action_go(self) -> None:
        """Ask for a number of users, or for a rate."""
        most = self.controls.setup.max_users
        if self.unit == "users":
            question = Ask("Go to how many users?", f"a whole number, 0 to {most:,}", lambda answer: users_error(answer, most))
        else:
            hint = "iterations a second, on a schedule that waits for no reply; 0 ends it"
            question = Ask("Offer which rate?", hint, offered_rate_error)
        self._ask(question, lambda answer: self._go(load_of(answer)))

    def _go(self, load: float) -> None:
        """Set this load, after a confirmation if it is far beyond the highest so far."""
        levels, in_words = self._screen.timeline.levels, counted(load)
        highest: float = max(self.state.load.users, *(level.users for level in levels), 0)
        if self.unit == "rate":
            highest, in_words = max(self._wanted, *(level.load.per_s or 0 for level in levels), 0), iterations(load)
        if load <= max(UNASKED, 2 * highest):
            return self._set(load)
        question = f"This is more than twice the highest so far ({highest:,g})."
        confirm = Confirm(f"Go to {in_words}?", question, f"go to {load:,g}")
        self._screen.ask(confirm, lambda sure: self._set(load) if sure and self._may_steer() else None)

    def _set(self, load: float) -> None:
        """Set this many users, or this rate."""
        state, most = self.state, self.controls.setup.max_users
        wanted: Users | Rate = Users(min(int(load), most)) if self.unit == "users" else Rate(load)
        if state.autopilot and (wanted == state.load or (isinstance(wanted, Users) and wanted.users == state.load.users)):
            self.controls.do(SetAutopilot(on=False))  # a step that changes nothing ends the driver as well
        if isinstance(wanted, Rate):
            if load != (state.load.per_s or 0.0):
                return self._do(StepTo(wanted) if load else Zero())
            return self._screen.show_message(
                f"{quantities.offered_rate(load)} is offered already" if load else "no rate is offered"
            )
        if state.load == Users(int(load)):
            return self._screen.show_message(f"already at {load:,.0f} users" if load else "there are no users")
        if load <= state.load.users or state.load.users < most:
            self._do(StepTo(wanted))
        if load > most:
            self._screen.show_message(f"the limit is {most:,} users (guards.max_users)", alarm=True)

    def action_zero(self) -> None:
        """Go to zero users."""
        if self._may_steer():
            self._do(Zero(), "to zero users")

    # -- autopilot, plans, spawn rate

    def action_autopilot(self) -> None:
        """Start the autopilot's search for the knee, or for the capacity as a rate where that is the step's unit; or end it."""
        if self._may_steer():
            finds_rate = self.unit == "rate"
            self._chosen = None
            decides = "undecided" in [each.state for each in self._screen.timeline.answers]
            goal = "find the capacity as a rate" if finds_rate else "decide what is required" if decides else "find the knee"
            words = f"autopilot on, to {goal}; changing the load by hand ends it"
            on = not self.state.autopilot
            self._do(SetAutopilot(on, finds_rate), words if on else "autopilot off")

    def action_verify(self) -> None:
        """Run the levels that verify the current knee."""
        if not self._may_steer():
            return
        known = self._screen.timeline.current_verdict
        why_not = wording.why_not_verify(known.capacity.knee if known is not None else None)
        if why_not is not None:
            return self._screen.show_message(why_not)
        self._do(VerifyKnee(), "verifying the knee; changing the users by hand ends it")

    def action_sample_stacks(self) -> None:
        """Sample the target's stacks."""
        if self._may_steer():
            self._do(SampleStacks(), "sampling stacks; changing the load by hand ends it")

    def action_plan(self) -> None:
        """Ask for a plan, by name or as text."""
        plans = self.controls.setup.plans
        named = f"a plan of the profile ({', '.join(plans)}), or " if plans else ""
        hint = f"{named}your own: 10:30s, ramp to 200 5m, rates 50..400 by 50 20s, profile 10s"
        self._ask(Ask("Which plan?", hint, self._start_plan, value=next(iter(plans), "")), self._plan)

    def _start_plan(self, plan: str) -> str | None:
        """Start it, or return why it is wrong. If this screen may not steer any more, `_ask` says so."""
        if not self._steers:
            return None
        why_not = self.controls.do(StartPlan(plan))
        if why_not is None:
            self._chosen = None
        return why_not

    def _plan(self, plan: str) -> None:
        self._screen.show_message(f"plan {plan}: changing the users by hand ends it")

    def action_require(self) -> None:
        """Ask for a requirement."""
        hint = f"for example {', '.join(EXAMPLES)}; the same again takes it back"
        self._ask(Ask("What is required?", hint, self._require, examples=EXAMPLES), self._required)

    def _require(self, requirement: str) -> str | None:
        """Ask the run, or return why not. If this screen may not steer any more, `_ask` says so."""
        return self.controls.do(Require(requirement)) if self._steers else None

    def _required(self, requirement: str) -> None:
        self._screen.show_message("a: the autopilot decides it")

    def action_new_level(self) -> None:
        """Begin a new level at the same load."""
        if self._may_steer():
            self._do(NewLevel(), "new level")

    def action_spawn_rate(self) -> None:
        """Ask for the spawn rate."""
        rate = self.state.spawn_rate
        hint = "users started per second, from the next step on; empty: each step takes 1 s, at most 100 users per second"
        self._ask(Ask("Spawn rate?", hint, spawn_rate_error, value="" if rate is None else f"{rate:g}"), self._spawn_rate)

    def _spawn_rate(self, answer: str) -> None:
        words = f"spawn rate: {answer} users per second" if answer else "spawn rate: automatic"
        self._do(SetSpawnRate(float(answer) if answer else None), words)

    # -- workers and parts

    def action_worker(self, direction: int) -> None:
        """One worker process more (1) or less (-1)."""
        if not self._may_steer():
            return
        starts = "one more worker starts" if self.state.workers else "two workers start, and take the users over"
        self._do(ChangeWorkers(add=direction > 0), starts if direction > 0 else "one worker ends")

    def action_watch_part(self) -> None:
        """Ask for a part to watch."""
        hint = (
            "NAME=here, ssh HOST, docker exec -i NAME or any command, then :port N, :pid N, :unit NAME, then a server's own "
            "figures: db=here:port 5432 postgres=postgresql://USER@HOST/DATABASE (redis=, nginx=, prometheus= with metrics=)"
        )
        self._ask(Ask("Watch which part?", hint, part_error), self._watch_part)

    def _watch_part(self, answer: str) -> None:
        self._do(WatchPart(answer), f"{answer.partition('=')[0]}: its first reading comes soon (9)")

    # -- the session and the target

    def action_note(self) -> None:
        """Ask for a note."""
        if self._is_running():
            self._put(
                Ask("Note", "any text; the journal and the session keep it", note_error), lambda note: self._do(AddNote(note))
            )

    def action_restart(self) -> None:
        """Ask for the target's parameters, then restart it."""
        if not self._may_steer():
            return
        if not self.controls.setup.can_restart:
            return self._screen.show_message("not started by capexplorer: cannot be restarted", alarm=True)
        header = self._screen.timeline.header
        name = header.target.name if header else "the target"
        form = TargetForm(name, self.state.target_params, lambda params: self.controls.do(RestartTarget(params)))
        self._screen.ask(form, lambda restarted: self._screen.show_message("restarting the target") if restarted else None)

    def _is_running(self) -> bool:
        """Whether the session is still running; otherwise show that it has ended."""
        ended = self._screen.timeline.ended is not None
        if ended:
            self._screen.show_message("the session has ended", alarm=True)
        return not ended

    @property
    def _steers(self) -> bool:
        """Whether the session is running and this screen has the controls."""
        return self._screen.timeline.ended is None and self.state.holds

    def _may_steer(self) -> bool:
        """As `_steers`; otherwise show why a key has no effect."""
        if self._is_running() and not self._steers:
            self._screen.show_message(watching.refusal(self.state), alarm=True)
        return self._steers

    def _do(self, control: Control, done: str = "") -> None:
        """Do it, and show the words for that, or why it is refused."""
        why_not = self.controls.do(control)
        self._screen.show_message(why_not or done, alarm=why_not is not None)

    def _ask(self, question: Ask, answered: Callable[[str], None]) -> None:
        """Open a dialog. `answered` gets the typed text; it is not called if the dialog was cancelled or the controls were
        lost.
        """
        if self._may_steer():
            self._put(question, lambda answer: answered(answer) if self._may_steer() else None)

    def _put(self, question: Ask, answered: Callable[[str], None]) -> None:
        self._screen.ask(question, lambda answer: answered(answer) if answer is not None else None)


# -- steering attached ---------------------------------------------------------------------------------------------------------


class AttachedRunActions(LiveRunActions):
    """The actions on a run of another process."""

    ends_run = False
    """Whether the user has ended the run from this screen, which is then closed."""

    @property
    def quit_question(self) -> str | None:
        """A sentence on when the load will end after this screen, which has the controls, is closed; None without load."""
        if self.ends_run or not self.state.holds or super().quit_question is None:
            return None
        return (
            f"The run goes on. Load by hand that no screen steers ends after {span(self.controls.setup.unattended_s)};"
            " a plan and the autopilot go on to their end. Q ends the run now."
        )

    def quit(self) -> None:
        """Do nothing: the run continues without this screen."""

    def action_detach(self) -> None:
        """Close this screen without a question."""
        self._screen.leave_run()

    def action_stop(self) -> None:
        """End the run, for all of its screens, and close this one."""
        if self._screen.timeline.ended is not None:
            return self._screen.leave()
        if not self._may_steer():
            return
        others = f", for all {self.state.screens} screens" if self.state.screens > 1 else ""
        question = f"The load ends{others}. The session is saved."
        self._screen.ask(Confirm("End the run?", question, "end it"), lambda sure: self._end() if sure else None)

    def _end(self) -> None:
        if self._may_steer():
            self.controls.do(EndRun())
            self.ends_run = True
            self._screen.leave()
