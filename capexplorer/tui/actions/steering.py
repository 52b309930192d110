"""Steering the load: each key becomes one call of the controls, and the screen confirms it at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.widget import Widget

from ... import wording
from ...model.controls import Controls
from ...model.controls_lock import ControlsLock, OnlyScreen
from ...model.proposals import GoTo, Proposal
from ...wording.numbers import counted, iterations
from ..dialogs.ask import Ask, Confirm
from ..dialogs.target_form import TargetForm
from ..display_options import Palette
from ..key import ScreenName
from ..panes.status_view import View
from . import controls_text
from .answers import load_of, note_error, part_error, spawn_rate_error
from .load_steps import UNASKED, LoadSteps, StepAnswer
from .protocols import ScreenAccess

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
