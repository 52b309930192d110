"""A sweep as a person would do it: restart with the next setting, start the autopilot, and what ends a setting or the sweep."""

from __future__ import annotations

import pytest
from kit.scenario import Scenario
from tui.fake_controls import FakeControls

from capexplorer.model.controls import RestartTarget, SetAutopilot, StepTo
from capexplorer.model.events import Command, Sweep, Target
from capexplorer.model.load import Rate, Users
from capexplorer.run.run_outcome import RunOutcome
from capexplorer.run.screens import Screens, Unattended
from capexplorer.run.sweep import SweepDriver

from .bare_context import VirtualPump, bare_context

SETTINGS = ({"threads": 1}, {"threads": 2}, {"threads": 4})


class Swept:
    """A sweep whose events a test gives."""

    def __init__(self, **fields: object) -> None:
        self.sweep = Sweep(t_s=0.0, settings=SETTINGS, **fields)  # type: ignore[arg-type]
        self.session, self.controls = Scenario().add(self.sweep), FakeControls()
        self.outcome = RunOutcome(lambda: None)
        self.pump = VirtualPump()
        context = bare_context(self.pump)
        unattended = Unattended(context, Screens(self.controls, context), lambda: False)
        self.driver = SweepDriver(self.sweep, self.controls, self.outcome, self.session.timeline, unattended)
        self.begin(0, 1)

    def begin(self, epoch: int, threads: int) -> None:
        """The target is ready with a setting, and the autopilot has opened a level."""
        self.session.add(Target(t_s=self.session.t_s, state="starting", epoch=epoch, params={"threads": threads, "store": "a"}))
        self.session.add(Target(t_s=self.session.t_s, state="ready", epoch=epoch))
        assert self.driver.reason is None
        self.session.add(Command(t_s=self.session.t_s, name="autopilot", args={"on": True}))
        self.session.level(users=1, epoch=epoch, seconds=5, is_closed=False)

    def end(self, **args: object) -> None:
        """The autopilot ends its search."""
        command = Command(t_s=self.session.t_s, name="autopilot", by="autopilot", args={"on": False, **args})  # type: ignore[dict-item]
        self.session.close().add(command)

    @property
    def restarts(self) -> list[str]:
        return [each.params["threads"] for each in self.controls.calls if isinstance(each, RestartTarget)]


def test_each_setting_gets_a_restart_a_first_load_and_the_autopilot_and_the_sweep_ends_after_the_last() -> None:
    run = Swept()
    assert run.controls.calls == [SetAutopilot(on=True)]
    run.end(end="done")
    assert run.driver.reason is None
    assert run.controls.calls[1:] == [RestartTarget({"threads": "4"}), StepTo(Users(1)), SetAutopilot(on=True)]
    run.begin(1, 4)
    run.end(end="gave_up", why="failures")
    run.begin(2, 2)
    assert run.restarts == ["4", "2"]
    run.end(end="done")
    assert run.driver.reason is not None
    assert (run.outcome.exit_code, run.outcome.signal) == (0, None)


def test_by_offered_rate_each_search_begins_at_the_first_rate() -> None:
    run = Swept(finds_rate=True)
    run.end(end="done")
    assert run.driver.reason is None
    assert run.controls.calls[2:] == [StepTo(Rate(10.0)), SetAutopilot(on=True, finds_rate=True)]


def test_a_setting_is_left_once_its_time_is_spent() -> None:
    run = Swept(within_s=8.0)
    assert run.driver.reason is None
    assert run.restarts == []
    run.session.seconds(4)
    assert run.driver.reason is None
    assert run.controls.calls[1:3] == [SetAutopilot(on=False), RestartTarget({"threads": "4"})]


def test_a_target_that_does_not_start_or_a_stop_rule_ends_only_its_setting() -> None:
    run = Swept()
    run.end(why="taken_over", who="guard")
    assert run.driver.reason is None
    assert run.restarts == [], "the run has not failed yet"
    run.outcome.fail("stop_rule", "p95 above its limit", 3)
    assert run.driver.reason is None
    run.session.add(Target(t_s=run.session.t_s, state="starting", epoch=1, params={"threads": 4}))
    run.session.add(Target(t_s=run.session.t_s, state="failed", epoch=1, reason="exit code 1"))
    run.outcome.fail("target", "the target failed", 4)
    assert run.driver.reason is None
    assert run.restarts == ["4", "2"]
    run.begin(2, 2)
    run.end(why="taken_over", who="guard")
    assert run.driver.reason is None
    run.outcome.fail("stop_rule", "p95 above its limit", 3)
    assert run.driver.reason == "the sweep has finished"
    assert run.outcome.exit_code == 0


def test_a_sweep_in_which_the_target_never_starts_has_failed() -> None:
    run = Swept()
    session = Scenario().add(run.sweep)
    driver = SweepDriver(run.sweep, run.controls, run.outcome, session.timeline, run.driver._unattended)
    for epoch, threads in enumerate((1, 4, 2)):
        assert driver.reason is None
        session.add(Target(t_s=1.0, state="starting", epoch=epoch, params={"threads": threads}))
        session.add(Target(t_s=1.0, state="failed", epoch=epoch, reason="exit code 1"))
        run.outcome.fail("target", "the target failed", 4)
    assert driver.reason == "the target failed"
    assert run.outcome.exit_code == 4


def test_a_signal_and_a_failure_of_the_run_itself_end_the_sweep_at_once() -> None:
    run = Swept()
    run.outcome.fail("log", "the disk is full", 4)
    assert run.driver.reason == "the disk is full"
    run = Swept()
    run.outcome.interrupt("SIGINT")
    assert run.driver.reason == "ended by SIGINT"
    assert run.restarts == []


@pytest.mark.parametrize("who", ["user", "plan"])
def test_a_person_who_takes_the_load_over_ends_the_sweep_and_the_run_goes_on_while_its_screen_has_the_controls(who: str) -> None:
    run = Swept()
    run.end(why="taken_over", who=who)
    assert run.driver.reason is None
    assert run.driver.reason is not None, "no screen has the controls"
    assert run.restarts == []
