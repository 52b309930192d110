"""Lines of the session's log pane: what target, workers, user code and capexplorer print, as `Log` events once a tick."""

from __future__ import annotations

from typing import Literal

from ..load.endpoints import ENDPOINT_NAMES_MOST
from ..model import outside
from ..model.events import Log
from ..target.reports import Output

LINES_A_TICK = 200
_LEVELS: dict[str, Literal["debug", "info", "warning", "error", "critical"]] = {
    "debug": "debug", "info": "info", "warning": "warning", "error": "error", "critical": "critical",
}  # fmt: skip
_SOURCES: dict[str, Literal["stdout", "stderr", "locust", "target", "capexplorer"]] = {
    "stdout": "stdout", "stderr": "stderr", "locust": "locust", "target": "target", "capexplorer": "capexplorer",
}  # fmt: skip


class RunLog:
    """Takes lines with `add`; `drain` returns those of a tick. Equal lines become one with a count, and at most LINES_A_TICK are
    kept, since users may print without limit.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str, str], int] = {}
        self._left_out = 0
        self._grouping_logged = False

    def add(self, source: str, level: str, text: str) -> None:
        """One line."""
        key = (source, level, outside.text(text))
        if key in self._lines or len(self._lines) < LINES_A_TICK:
            self._lines[key] = self._lines.get(key, 0) + 1
        else:
            self._left_out += 1

    def add_output(self, report: Output) -> None:
        """Lines that the target has printed."""
        for line in report.lines:
            self.add("target", "info", line)
        if report.dropped:
            self.add("capexplorer", "warning", f"{report.dropped} lines of the target's output were left out")

    def add_grouping(self) -> None:
        """Endpoint names are grouped from now on; logged once a session."""
        if not self._grouping_logged:
            self._grouping_logged = True
            text = f"more than {ENDPOINT_NAMES_MOST} endpoint names: from here on, "
            text += "parts that look like ids are counted together as {id}"
            self.add("capexplorer", "warning", text)

    def drain(self, t_s: float) -> list[Log]:
        """The tick's lines in order of first occurrence."""
        logs = [
            Log(t_s=t_s, source=_SOURCES[source], level=_LEVELS.get(level, "info"), text=text, repeated=count)
            for (source, level, text), count in self._lines.items()
        ]
        if self._left_out:
            text = f"{self._left_out} more lines in this second were left out"
            logs.append(Log(t_s=t_s, source="capexplorer", level="warning", text=text))
        self._lines.clear()
        self._left_out = 0
        return logs
