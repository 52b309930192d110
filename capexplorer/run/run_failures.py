"""What ends a run early, or its load: a log that cannot be written, a load thread that fails, a defect of this program.

Every method is called in the pump's thread.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import LogWriteError
from ..load.load_host import LoadHost
from ..model.events import Log
from .drivers.load_target import LoadTarget
from .event_sink import EventSink
from .load_control import LoadControl
from .load_health import LoadHealth
from .log_failures import LogFailures
from .pump import Pump
from .run_outcome import RunOutcome


class RunFailures:
    """Each failure ends the load and is recorded; with a log that can be written again, the run continues."""

    def __init__(
        self,
        sink: EventSink,
        pump: Pump,
        load_control: LoadControl,
        load_target: LoadTarget,
        outcome: RunOutcome,
        *,
        epoch: Callable[[], int],
        let_users_run: Callable[[], None],
    ) -> None:
        """`epoch`: returns the target's epoch now. `let_users_run`: lets users run if nothing else prevents it."""
        self._sink, self._pump, self._outcome = sink, pump, outcome
        self._load_control, self._load_target = load_control, load_target
        self._epoch, self._let_users_run = epoch, let_users_run
        self._load_health, self._log_failures = LoadHealth(), LogFailures()

    def check_load(self, host: LoadHost, t_s: float) -> None:
        """Fail the run if the load thread has failed; on a screen it continues when a person steps again."""
        for mark in self._load_health.look(host, t_s, self._epoch(), self._load_target.load):
            self._sink.emit(mark)
        failure = self._load_health.failure
        if failure is not None:
            self._outcome.fail("load_thread", failure.error, failure.exit_code)

    def on_log_failure(self, error: LogWriteError) -> None:
        """Stop all users. Events are kept in memory from now on, and written when there is space again."""
        if self._load_target.is_open:
            self._load_control.to_zero("guard")
        self._load_target.shut()
        self.log_critical(str(error))
        self._sink.emit(self._log_failures.began(self._pump.now_s(), self._epoch(), str(error)))
        self._outcome.fail("log", str(error), 4)

    def on_log_recovery(self) -> None:
        """All kept events have been written. As many users start again as a person has requested meanwhile, else none."""
        self._sink.emit(self._log_failures.ended(self._pump.now_s(), self._epoch()))
        self._outcome.recover("log")
        self._let_users_run()

    def on_log_made_again(self) -> None:
        """The log was removed, moved or replaced by another program, and has been written again with everything recorded."""
        text = "the session log was removed while the run goes on: it has been written again, and nothing is lost"
        self._sink.emit(Log(t_s=self._pump.now_s(), source="capexplorer", level="error", text=text))

    def on_defect(self, text: str) -> None:
        """First end the load and record the failure: later steps may fail from the same defect. `text`: the traceback."""
        self._load_target.shut()
        lines = text.strip().splitlines()
        self._outcome.fail("defect", f"a defect in capexplorer: {lines[-1]}", 1, tuple(text.splitlines()))
        self._sink.derive_events = lambda event: ()
        self.log_critical(text)

    def log_critical(self, text: str) -> None:
        """Log a failure of the run."""
        self._sink.emit(Log(t_s=self._pump.now_s(), source="capexplorer", level="critical", text=text))
