"""What a person does to the load: each key becomes one call of the controls, and the screen says so at once.

Must not draw; the live screen does.
"""

from __future__ import annotations

from textual.screen import Screen

from ...model.stream import Controls
from ...model.timeline import Timeline
from ..keys import STEPS
from .ask import Ask, Confirm
from .target_form import TargetForm

UNASKED_USERS = 50
"""So many users, or twice as many as there were so far, may be gone to without a question."""

SAID_S = 5.0
"""How long an answer stands in the status line."""


class Steering(Screen[None]):
    """The actions on the load. Without controls (a replay) they say that there is nothing to steer."""

    def __init__(self, timeline: Timeline, controls: Controls | None) -> None:
        super().__init__()
        self.timeline, self.controls = timeline, controls
        self.step = timeline.step
        self.said, self.alarm = "", False
        self._said_count = 0

    def status_changed(self) -> None:
        """Draw what the screen itself knows."""
        raise NotImplementedError

    def say(self, said: str = "", *, alarm: bool = False) -> None:
        """Answer to the key just pressed, for a few seconds or until the next one."""
        self.said, self.alarm = said, alarm
        self._said_count += 1
        if said:
            count = self._said_count
            self.set_timer(SAID_S, lambda: self.say() if self._said_count == count else None)
        self.status_changed()

    def _steered(self) -> Controls | None:
        """The controls, or None with a word about why not."""
        if self.controls is None:
            self.say("this is a replay: there is no load to steer")
        elif self.timeline.ended is not None:
            self.say("the session has ended", alarm=True)
        else:
            return self.controls
        return None

    def action_step(self, direction: int) -> None:
        """One step of users up (1) or down (-1), from what is wanted now: steps typed quickly add up."""
        controls = self._steered()
        if controls is not None:
            self._set_users(controls, max(0, controls.wanted + direction * self.step))

    def _set_users(self, controls: Controls, users: int) -> None:
        before = controls.wanted
        if controls.autopilot and min(users, controls.max_users) == before:
            controls.set_autopilot(False)  # a step that changes nothing takes over as well
        if users == before:
            return self.say("no users left" if users == 0 else f"already at {users:,} users")
        if before >= controls.max_users and users > before:
            return self.say(f"guard: at most {controls.max_users:,} users (max_users)", alarm=True)
        granted = controls.set_users(users)
        if granted < users:
            self.say(f"guard: at most {controls.max_users:,} users (max_users)", alarm=True)
        else:
            self.say()

    def action_resize_step(self, direction: int) -> None:
        """A smaller (-1) or larger (1) step."""
        sizes = [size for size in STEPS if (size > self.step if direction > 0 else size < self.step)]
        if sizes:
            self.step = sizes[0] if direction > 0 else sizes[-1]
            if self.controls is not None:
                self.controls.set_step(self.step)
        self.say(f"step {self.step}" + ("" if sizes else f", the {'largest' if direction > 0 else 'smallest'}"))

    def action_go(self) -> None:
        """Ask for a number of users."""
        controls = self._steered()
        if controls is not None:
            hint = f"a whole number, 0 to {controls.max_users:,}"
            ask = Ask("Go to how many users?", hint, lambda answer: users_wrong(answer, controls.max_users))
            self.app.push_screen(ask, lambda answer: self._go(controls, answer))

    def _go(self, controls: Controls, answer: str | None) -> None:
        if answer is None:
            return
        users = int(answer)
        highest = max(controls.wanted, *(level.users for level in self.timeline.levels), 0)
        if users <= max(UNASKED_USERS, 2 * highest):
            return self._set_users(controls, users)
        question = f"That is more than twice the most so far ({highest:,})."
        confirm = Confirm(f"Go to {users:,} users?", question, f"go to {users:,}")
        self.app.push_screen(confirm, lambda sure: self._set_users(controls, users) if sure else None)

    def action_autopilot(self) -> None:
        """Let the autopilot look for the knee from here on, or end it."""
        controls = self._steered()
        if controls is not None:
            controls.set_autopilot(not controls.autopilot)
            self.say("autopilot on; any step by hand ends it" if controls.autopilot else "autopilot off")

    def action_plan(self) -> None:
        """Ask for a plan, by name or outright."""
        controls = self._steered()
        if controls is None:
            return
        names = ", ".join(controls.plans)
        hint = (f"a plan of the profile ({names}), or " if names else "") + "your own: 10:30s, ramp to 200 5m, spike 400 30s"
        ask = Ask("Which plan?", hint, controls.plan_wrong, value=next(iter(controls.plans), ""))
        self.app.push_screen(ask, lambda answer: self._plan(controls, answer))

    def _plan(self, controls: Controls, answer: str | None) -> None:
        if answer is not None:
            controls.start_plan(answer)
            self.say(f"plan {answer}: any step by hand ends it")

    def action_spawn_rate(self) -> None:
        """Ask for the spawn rate."""
        controls = self._steered()
        if controls is not None:
            now = "" if controls.spawn_rate is None else f"{controls.spawn_rate:g}"
            hint = "users that start per second, from the next step on; empty: a step takes 1 s, at most 100 users per second"
            ask = Ask("Spawn rate?", hint, rate_wrong, value=now)
            self.app.push_screen(ask, lambda answer: self._spawn_rate(controls, answer))

    def _spawn_rate(self, controls: Controls, answer: str | None) -> None:
        if answer is not None:
            controls.set_spawn_rate(float(answer) if answer else None)
            self.say(f"spawn rate: {answer} users per second" if answer else "spawn rate: automatic")

    def action_new_level(self) -> None:
        """A new level at the same count."""
        controls = self._steered()
        if controls is not None:
            controls.new_level()
            self.say("new level")

    def action_zero(self) -> None:
        """To zero users."""
        controls = self._steered()
        if controls is not None:
            controls.zero()
            self.say("to zero users")

    def action_note(self) -> None:
        """Ask for a note."""
        controls = self._steered()
        if controls is not None:
            ask = Ask("Note", "any text; it is kept in the journal and in the session", note_wrong)
            self.app.push_screen(ask, lambda answer: controls.note(answer) if answer else None)

    def action_restart(self) -> None:
        """Ask for the target's parameters, then restart it."""
        controls = self._steered()
        if controls is None:
            return
        if not controls.can_restart:
            return self.say("not started by capexplorer, cannot be restarted", alarm=True)
        name = self.timeline.header.target.name if self.timeline.header else "the target"
        form = TargetForm(name, controls.target_params, controls.restart_target)
        self.app.push_screen(form, lambda restarted: self.say("restarting the target") if restarted else None)


def users_wrong(answer: str, max_users: int) -> str | None:
    """What is wrong with a number of users."""
    if not (answer.isascii() and answer.isdigit()):
        return f"expected a whole number, 0 to {max_users:,}"
    return f"the guard allows at most {max_users:,} users" if int(answer) > max_users else None


def rate_wrong(answer: str) -> str | None:
    """What is wrong with a spawn rate."""
    try:
        right = not answer or 0 < float(answer) < float("inf")
    except ValueError:
        right = False
    return None if right else "expected users a second, above 0 (for example 10 or 0.5), or nothing for automatic"


def note_wrong(answer: str) -> str | None:
    """What is wrong with a note."""
    return None if answer else "nothing written yet"
