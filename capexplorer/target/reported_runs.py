"""What the supervisor's reports say about its runs. Reports are added in one thread, and the state is read in any.

Takes no locks: each value that is published is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from .reports import Exited, Output, Report, Started

KEPT_LINES = 50
"""Last lines of output that are kept for error messages."""


class ReportedRuns:
    """The runs of the target, and those of auxiliary processes, whose reports go to callbacks."""

    def __init__(self) -> None:
        self.started: Started | None = None
        """The running target's first process; None if no target runs."""
        self.output: tuple[str, ...] = ()
        """The last lines of the target's current or last run."""
        self._exits: dict[int, Exited] = {}
        self._auxiliary: dict[int, Callable[[Report], None]] = {}
        """Callbacks for reports on auxiliary processes, by run."""

    def add_auxiliary(self, run: int, on_report: Callable[[Report], None]) -> None:
        """Give all reports on this run to `on_report` alone, until it has exited."""
        self._auxiliary[run] = on_report

    @property
    def auxiliary(self) -> tuple[int, ...]:
        """The auxiliary runs that have not exited."""
        return tuple(self._auxiliary)

    def exited(self, run: int) -> Exited | None:
        """How a run of the target ended; None while it has not."""
        return self._exits.get(run)

    def dispatch(self, report: Report, on_report: Callable[[Report], None]) -> None:
        """Add a report on a run of any process; `on_report` gets those on the target."""
        on_auxiliary_report = self._auxiliary.get(report.run)
        if on_auxiliary_report is None:
            return on_report(self.keep(report))
        if isinstance(report, Exited):
            del self._auxiliary[report.run]
        on_auxiliary_report(report)

    def keep(self, report: Report) -> Report:
        """Add a report on the target. Returns it, with the last output if the run exited."""
        match report:
            case Started():
                self.started, self.output = report, ()
            case Output():
                self.output = (*self.output, *report.lines)[-KEPT_LINES:]
            case Exited():
                if self.started and self.started.run == report.run:
                    report = msgspec.structs.replace(report, output=self.output)
                    self.started = None
                self._exits[report.run] = report
        return report
