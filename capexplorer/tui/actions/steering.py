"""Steering the load: each key becomes one call of the controls, and the screen confirms it at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from textual.widget import Widget

from ... import wording
from ...model.controls import SPAWN_RATE_LEAST, SPAWN_RATE_MOST, Controls
from ...model.controls_lock import ControlsLock, OnlyScreen
from ...model.offered import RATE_LEAST_PER_S, RATE_MOST_PER_S
from ...model.proposals import GoTo, Proposal
from ...model.watched import parsed_part
from ...wording import quantities
from ...wording.numbers import counted, iterations
from ..dialogs.ask import Ask, Confirm
from ..dialogs.forms import TargetForm
from ..display_options import Palette
from ..keys import STEPS, ScreenName
from ..panes.status_view import View
from . import controls_text
from .protocols import ScreenAccess

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


# -- load steps ----------------------------------------------------------------------------------------------------------------
# Steps of the load in one of two units: users, or iterations a second. Each becomes one call of the controls.


Unit = Literal["users", "rate"]

UNASKED = {"users": 50, "rate": 50}
"""Load up to which a step needs no confirmation; nor does one up to twice the highest load so far."""


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """The message that the screen shows after a step; empty: none. `alarm`: the step was refused."""

    words: str = ""
    alarm: bool = False


class LoadSteps:
    """The step's size and its unit."""

    def __init__(self, controls: Controls) -> None:
        self.controls = controls
        self.size = STEPS[0]
        self._chosen: tuple[Unit, Unit] | None = None
        """The unit that was chosen, and the unit of the load at that time."""
        self._last: Unit = "users"
        """The unit of the latest load."""

    @property
    def unit(self) -> Unit:
        """The unit chosen by key, until a plan, the autopilot or another screen changes that of the load. Otherwise the unit of
        the load, or of the last load if there is none now."""
        if self.controls.offered_per_s is not None:
            self._last = "rate"
        elif self.controls.wanted:
            self._last = "users"
        chosen, unit_of_load = self._chosen or (self._last, self._last)
        return chosen if unit_of_load == self._last else self._last

    def switch(self) -> StepAnswer:
        """Change to the other unit from the next step on. The load itself stays."""
        now: Unit = "rate" if self.unit == "users" else "users"
        self._chosen = now, self._last
        if now == "users":
            return StepAnswer(f"steps are users: + goes to {self._wanted + self.size:,} users")
        return StepAnswer(f"steps are an offered rate: + offers {iterations(self._wanted + self.size)}")

    def follow(self) -> None:
        """Forget the chosen unit, because a plan or the autopilot starts: from now on the unit is that of the load."""
        self._chosen = None

    def resize(self, direction: int) -> StepAnswer:
        """Make the step smaller (-1) or larger (1)."""
        sizes = [size for size in STEPS if (size > self.size if direction > 0 else size < self.size)]
        if sizes:
            self.size = sizes[0] if direction > 0 else sizes[-1]
            self.controls.set_step(self.size)
        unit = "" if self.unit == "users" else "/s"
        return StepAnswer(f"step {self.size}{unit}" + ("" if sizes else f" (the {'largest' if direction > 0 else 'smallest'})"))

    def step(self, direction: int) -> StepAnswer:
        """One step up (1) or down (-1) from the requested load, so that steps typed quickly add up."""
        return self.go_to(max(0.0, self._wanted + direction * self.size))

    @property
    def _wanted(self) -> float:
        return self.controls.wanted if self.unit == "users" else self.controls.offered_per_s or 0.0

    def go_to(self, load: float) -> StepAnswer:
        """Set this many users, or this rate."""
        return self._users(int(load)) if self.unit == "users" else self._rate(load)

    def question(self) -> Ask:
        """The dialog's question for a load."""
        most = self.controls.max_users
        if self.unit == "users":
            return Ask("Go to how many users?", f"a whole number, 0 to {most:,}", lambda answer: users_error(answer, most))
        return Ask(
            "Offer which rate?", "iterations a second, on a schedule that waits for no reply; 0 ends it", offered_rate_error
        )

    def in_words(self, load: float) -> str:
        """`50 users`, `200 iterations a second`."""
        return counted(load) if self.unit == "users" else iterations(load)

    def _users(self, users: int) -> StepAnswer:
        controls, before = self.controls, self.controls.wanted
        if controls.autopilot and min(users, controls.max_users) == before:
            controls.set_autopilot(False)  # a step that changes nothing ends the driver as well
        if users == before and controls.offered_per_s is None:
            return StepAnswer("there are no users" if users == 0 else f"already at {users:,} users")
        full = before >= controls.max_users and users > before
        if full or controls.set_users(users) < users:
            return StepAnswer(f"the limit is {controls.max_users:,} users (guards.max_users)", alarm=True)
        return StepAnswer()

    def _rate(self, per_s: float) -> StepAnswer:
        controls, before = self.controls, self.controls.offered_per_s
        if controls.autopilot and per_s == before:
            controls.set_autopilot(False)
        if per_s == (before or 0.0):
            return StepAnswer("no rate is offered" if per_s == 0 else f"{quantities.offered_rate(per_s)} is offered already")
        if per_s == 0:
            controls.zero()
        else:
            refused = controls.set_rate(per_s) == (before or 0.0)
            return StepAnswer("no rate is offered: the log (o) says why" if refused else "", alarm=refused)
        return StepAnswer()


PERFORMED = {"W": "worker(1)", "a": "autopilot", "e": "export", "f": "failures", "t": "restart"}
"""The keys of proposals other than Enter, with their actions: Enter performs these as well."""


class LiveRunActions:
    """The actions on a live run, through its controls. After the end of the session they only show that it has ended."""

    keys: ScreenName = "live"
    key_words: Mapping[str, str] = {}

    def __init__(self, controls: Controls, lock: ControlsLock | None = None, unattended_s: float = 0.0) -> None:
        """`lock`: which screen has the controls, if the run may have several screens. `unattended_s`: seconds for which the run
        continues load set by hand after the last screen that may steer has left; 0: the run ends with its own screen.
        """
        self.controls, self.lock, self._unattended_s = controls, lock or OnlyScreen(), unattended_s
        self.steps = LoadSteps(controls)

    def attach(self, screen: ScreenAccess) -> None:
        """Steer the load that this screen shows."""
        self._screen = screen

    @property
    def view(self) -> View:
        """The load after the last key, whose events arrive later."""
        controls = self.controls
        return View(
            wanted=controls.wanted,
            max_users=controls.max_users,
            step=self.steps.size,
            unit=self.steps.unit,
            offered_per_s=controls.offered_per_s,
            spawn_rate=controls.spawn_rate,
            can_restart=controls.can_restart,
            autopilot=controls.autopilot,
            controls=controls_text.controls_line(self.lock) if self._screen.timeline.ended is None else "",
            has_controls=self.lock.holds,
            controls_asked=self.lock.holds and self.lock.asked_by is not None,
        )

    def widgets(self) -> Sequence[Widget]:
        """None."""
        return ()

    def draw(self, palette: Palette) -> None:
        """Nothing to draw."""

    # -- leaving

    @property
    def quit_question(self) -> str | None:
        """A sentence that quitting ends the load; None without requested load, even while users end their last task."""
        wanted, offered_per_s = self.controls.wanted, self.controls.offered_per_s
        if self._screen.timeline.ended is not None or not (wanted or offered_per_s):
            return None
        load = counted(wanted) if offered_per_s is None else iterations(offered_per_s)
        ends = f"The load of {load} will stop. The session is saved."
        return ends if self.lock.holds else f"{self.lock.holder} has the controls. {ends}"

    def quit(self) -> None:
        """Tell the run that the user quits."""
        self.controls.quit()

    def action_stop(self) -> None:
        """End the run; on its own screen the same as quitting."""
        self._screen.leave()

    def action_detach(self) -> None:
        """Close this screen; the run goes on without it."""
        if not self._is_running():
            return
        if not self._unattended_s:
            return self._screen.show_message("[guards] unattended_s is 0: the run ends with its screen", alarm=True)
        self._screen.act("app.detach")

    # -- who has the controls

    def action_controls(self) -> None:
        """Ask for the controls, or hand them to the screen that asks."""
        self._screen.show_message(controls_text.passed_on(self.lock))

    # -- the next step

    def action_take_step(self) -> None:
        """Perform the step that the line NEXT proposes."""
        timeline = self._screen.timeline
        step = wording.next_step(timeline, can_restart=self.controls.can_restart, by_rate=self.steps.unit == "rate")
        proposed = timeline.proposed.proposal if timeline.proposed is not None else None
        if step is not None and step.key in PERFORMED:
            self._screen.act(PERFORMED[step.key])
        elif self.controls.autopilot:
            self._screen.show_message("the autopilot takes the next step")
        elif step is None or step.key != "Enter" or self.controls.wanted != timeline.wanted:
            self._screen.show_message("nothing to do yet: wait for the next step")
        elif self._may_steer():
            self._take(proposed)

    def _take(self, proposed: Proposal | None) -> None:
        if isinstance(proposed, GoTo) and proposed.users != self.controls.wanted:
            self.controls.set_users(proposed.users)
        else:
            self.controls.new_level()
        self._screen.show_message()

    # -- users, or an offered rate

    def action_unit(self) -> None:
        """Change the unit of steps: users, or iterations a second."""
        if self._may_steer():
            self._say(self.steps.switch())

    def action_step(self, direction: int) -> None:
        """One step up (1) or down (-1)."""
        if self._may_steer():
            self._say(self.steps.step(direction))

    def action_resize_step(self, direction: int) -> None:
        """A smaller (-1) or larger (1) step."""
        self._say(self.steps.resize(direction))

    def action_go(self) -> None:
        """Ask for a number of users, or for a rate."""
        self._ask(self.steps.question(), lambda answer: self._go(load_of(answer)))

    def _go(self, load: float) -> None:
        steps, levels = self.steps, self._screen.timeline.levels
        highest: float = max(self.controls.wanted, *(level.users for level in levels), 0)
        if steps.unit == "rate":
            highest = max(self.controls.offered_per_s or 0, *(level.offered_per_s or 0 for level in levels), 0)
        if load <= max(UNASKED[steps.unit], 2 * highest):
            return self._say(steps.go_to(load))
        question = f"This is more than twice the highest so far ({highest:,g})."
        confirm = Confirm(f"Go to {steps.in_words(load)}?", question, f"go to {load:,g}")
        self._screen.ask(confirm, lambda sure: self._say(steps.go_to(load)) if sure and self._may_steer() else None)

    def action_zero(self) -> None:
        """Go to zero users."""
        if self._may_steer():
            self.controls.zero()
            self._screen.show_message("to zero users")

    def _say(self, answer: StepAnswer) -> None:
        self._screen.show_message(answer.words, alarm=answer.alarm)

    # -- autopilot, plans, spawn rate

    def action_autopilot(self) -> None:
        """Start the autopilot's search for the knee, or for the capacity as a rate where that is the step's unit; or end it."""
        if self._may_steer():
            finds_rate = self.steps.unit == "rate"
            self.steps.follow()
            self.controls.set_autopilot(not self.controls.autopilot, finds_rate=finds_rate)
            goal = "the capacity as a rate" if finds_rate else "the knee"
            on = f"autopilot on, to find {goal}; changing the load by hand ends it"
            self._screen.show_message(on if self.controls.autopilot else "autopilot off")

    def action_verify(self) -> None:
        """Run the levels that verify the current knee."""
        if not self._may_steer():
            return
        known = self._screen.timeline.current_verdict
        why_not = wording.why_not_verify(known.capacity.knee if known is not None else None)
        if why_not is None:
            self.controls.verify_knee()
        self._screen.show_message(why_not or "verifying the knee; changing the users by hand ends it")

    def action_plan(self) -> None:
        """Ask for a plan, by name or as text."""
        plans = self.controls.plans
        named = f"a plan of the profile ({', '.join(plans)}), or " if plans else ""
        hint = f"{named}your own: 10:30s, ramp to 200 5m, rates 50..400 by 50 20s"
        self._ask(Ask("Which plan?", hint, self.controls.plan_wrong, value=next(iter(plans), "")), self._plan)

    def _plan(self, answer: str) -> None:
        self.steps.follow()
        self.controls.start_plan(answer)
        self._screen.show_message(f"plan {answer}: changing the users by hand ends it")

    def action_new_level(self) -> None:
        """Begin a new level at the same load."""
        if self._may_steer():
            self.controls.new_level()
            self._screen.show_message("new level")

    def action_spawn_rate(self) -> None:
        """Ask for the spawn rate."""
        rate = self.controls.spawn_rate
        hint = "users started per second, from the next step on; empty: each step takes 1 s, at most 100 users per second"
        self._ask(Ask("Spawn rate?", hint, spawn_rate_error, value="" if rate is None else f"{rate:g}"), self._spawn_rate)

    def _spawn_rate(self, answer: str) -> None:
        self.controls.set_spawn_rate(float(answer) if answer else None)
        self._screen.show_message(f"spawn rate: {answer} users per second" if answer else "spawn rate: automatic")

    # -- workers and parts

    def action_worker(self, direction: int) -> None:
        """One worker process more (1) or less (-1)."""
        if not self._may_steer():
            return
        in_process = not self.controls.workers
        why_not = self.controls.change_workers(add=direction > 0)
        starts = "two workers start, and take the users over" if in_process else "one more worker starts"
        self._screen.show_message(why_not or (starts if direction > 0 else "one worker ends"), alarm=bool(why_not))

    def action_watch_part(self) -> None:
        """Ask for a part to watch."""
        hint = (
            "NAME=here, ssh HOST, docker exec -i NAME or any command, then :port N, :pid N, :unit NAME, then a server's own "
            "figures: db=here:port 5432 postgres=postgresql://USER@HOST/DATABASE (redis=, nginx=, prometheus= with metrics=)"
        )
        self._ask(Ask("Watch which part?", hint, part_error), self._watch_part)

    def _watch_part(self, answer: str) -> None:
        why_not = self.controls.watch_part(answer)
        self._screen.show_message(why_not or f"{answer.partition('=')[0]}: its first reading comes soon (9)", alarm=bool(why_not))

    # -- the session and the target

    def action_note(self) -> None:
        """Ask for a note."""
        if self._is_running():
            self._put(Ask("Note", "any text; the journal and the session keep it", note_error), self.controls.note)

    def action_restart(self) -> None:
        """Ask for the target's parameters, then restart it."""
        if not self._may_steer():
            return
        if not self.controls.can_restart:
            return self._screen.show_message("not started by capexplorer: cannot be restarted", alarm=True)
        header = self._screen.timeline.header
        name = header.target.name if header else "the target"
        form = TargetForm(name, self.controls.target_params, self.controls.restart_target)
        self._screen.ask(form, lambda restarted: self._screen.show_message("restarting the target") if restarted else None)

    def _is_running(self) -> bool:
        """Whether the session is still running; otherwise show that it has ended."""
        ended = self._screen.timeline.ended is not None
        if ended:
            self._screen.show_message("the session has ended", alarm=True)
        return not ended

    def _may_steer(self) -> bool:
        """Whether the session is running and this screen has the controls; otherwise show why a key has no effect."""
        if not self._is_running():
            return False
        if not self.lock.holds:
            self._screen.show_message(controls_text.refusal(self.lock), alarm=True)
        return self.lock.holds

    def _ask(self, question: Ask, answered: Callable[[str], None]) -> None:
        """Open a dialog. `answered` gets the typed text; it is not called if the dialog was cancelled or the controls were
        lost.
        """
        if self._may_steer():
            self._put(question, lambda answer: answered(answer) if self._may_steer() else None)

    def _put(self, question: Ask, answered: Callable[[str], None]) -> None:
        self._screen.ask(question, lambda answer: answered(answer) if answer is not None else None)
