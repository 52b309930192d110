"""A sweep: the target is restarted with one setting after the other, and the autopilot explores each of them.

It uses the controls of the run as a person does, who restarts the target (`t`) and starts the autopilot (`a`): the same epochs,
levels and verdicts. Runs in the thread that follows the run's events.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..analysis.sweep import begun, end_of
from ..model.controls import RestartTarget, RunControl, RunControls, SetAutopilot, StepTo
from ..model.events import Sweep
from ..model.load import Load, Rate, Users
from ..model.sweep import Params, SettingEnd, typed
from ..model.timeline import Timeline
from ..steer.sweep import to_explore
from .autopilot import FIRST_PER_S
from .run_outcome import FailureSource, RunOutcome
from .screens import Unattended

ENDS_A_SETTING: Mapping[SettingEnd, FailureSource] = {"failed": "target", "stop_rule": "stop_rule"}
"""Failures after which a sweep goes on with its next setting. The events that say so are emitted before the run has failed."""


class SweepDriver:
    """Begins with a target that is started with the first setting. Read `reason` a few times a second, after `timeline` has the
    events so far.
    """

    def __init__(
        self, sweep: Sweep, controls: RunControls, outcome: RunOutcome, timeline: Timeline, unattended: Unattended
    ) -> None:
        """`unattended`: ends the run after a person has taken the load over."""
        self._sweep, self._controls, self._outcome, self._timeline = sweep, controls, outcome, timeline
        self._unattended = unattended
        self._left = to_explore(sweep)
        self._current: Params | None = None
        self._is_taken_over = False

    @property
    def reason(self) -> str | None:
        """Why the run has ended; None while it goes on."""
        if self._outcome.signal is not None or self._outcome.failed_beside(ENDS_A_SETTING.values()):
            return self._outcome.reason
        if self._is_taken_over:
            return self._unattended.reason
        if self._current is None:
            self._start(self._left[0])
        elif self._has_ended():
            self._go_on()
        return self._outcome.reason if self._current is None else None

    def _start(self, params: Params) -> None:
        """Let the autopilot explore this setting, with which the target starts or will."""
        self._current = params
        self._left.remove(params)
        self._do(SetAutopilot(on=True, finds_rate=self._sweep.finds_rate))

    def _go_on(self) -> None:
        if self._left or any(level.has_load for level in self._timeline.levels):
            for what in ENDS_A_SETTING.values():
                self._outcome.recover(what)
        if not self._left:
            self._current = None
            return self._outcome.finish("the sweep has finished")
        params = self._left[0]
        self._do(RestartTarget({name: typed(value) for name, value in params.items()}))
        self._do(StepTo(self._first_load))  # while the target is not ready no level is opened
        self._start(params)

    @property
    def _first_load(self) -> Load:
        return Rate(FIRST_PER_S) if self._sweep.finds_rate else Users(1)

    def _has_ended(self) -> bool:
        """Whether the search with the current setting has ended. One whose time is spent is ended here."""
        assert self._current is not None
        epoch = begun(self._timeline).get(self._sweep.settings.index(self._current))
        if epoch is None:
            return False
        ended, _ = end_of(self._timeline, epoch)
        if ended == "taken_over":
            self._is_taken_over = True
            return False
        if ended is None and self._is_time_spent(epoch):
            self._do(SetAutopilot(on=False))
            return True
        return ended is not None and (ended not in ENDS_A_SETTING or self._outcome.has_failed(ENDS_A_SETTING[ended]))

    def _is_time_spent(self, epoch: int) -> bool:
        first = next((level for level in self._timeline.levels if level.opened.epoch == epoch and level.has_load), None)
        within_s = self._sweep.within_s
        return within_s is not None and first is not None and self._timeline.last_s - first.opened.t_s >= within_s

    def _do(self, control: RunControl) -> None:
        refused = self._controls.do(control)
        assert refused is None, refused
