"""One headless run of capexplorer, bounded in time, and its session as a timeline with all its marks."""

from __future__ import annotations

import math
import signal
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise
from capexplorer.session.reader import read

PROGRAM = str(Path(sys.executable).with_name("capexplorer"))
ROOT = Path(__file__).resolve().parents[3]

KNEE_KINDS = ("knee", "at_or_below", "bend")


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that has ended."""

    path: Path
    exit_code: int | None
    """None: it was ended because it took too long."""
    timeline: Timeline
    marks: tuple[Mark, ...]
    """Every revision, in order; the timeline has only the current ones."""
    stderr: str

    @property
    def summary(self) -> dict[str, Any]:
        """What `export --format json` prints."""
        return summarise(self.timeline)

    @property
    def knee(self) -> dict[str, Any] | None:
        """The current knee at the end."""
        return next((each for each in reversed(self.summary["knees"]) if each["kind"] == "knee"), None)

    @property
    def stolen_cores(self) -> float:
        """The most CPU, in cores, that the hypervisor gave to other machines during a level."""
        read = (each.figures.readings.get("host.steal_ratio") for each in self.timeline.levels)
        return max((value for value in read if value is not None), default=0.0)

    def settled(self, column: str) -> list[float]:
        """Values of a column in the settled seconds that have one."""
        columns = self.timeline.columns
        values = [value for value, settled in zip(columns[column], columns["settled"], strict=True) if settled]
        return [value for value in values if not math.isnan(value)]

    def median(self, column: str) -> float | None:
        """Median of a column over the settled seconds that have a value; None: no second has one."""
        values = self.settled(column)
        return statistics.median(values) if values else None


def run(folder: Path, *args: str, timeout_s: float, before: Sequence[str] = (), cwd: Path = ROOT) -> Ran:
    """`capexplorer run ARGS --headless`, with its files in `folder`; after `timeout_s` it gets SIGINT. `before`: a command
    prefix, such as `taskset -c 0`. Raises RuntimeError if there is no session."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [*before, PROGRAM, "run", *args, "--headless", "--sessions-dir", str(folder)]
    with (folder / "stderr").open("wb") as errors:
        process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
    code: int | None
    try:
        out, _ = process.communicate(timeout=timeout_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        code = None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    stderr = (folder / "stderr").read_text(errors="replace")
    if not out.strip():
        raise RuntimeError(f"no session: {' '.join(command)}: {stderr}")
    path = Path(out.decode().splitlines()[0])
    events = list(read(path))
    return Ran(path, code, Timeline(events), tuple(event for event in events if isinstance(event, Mark)), stderr)
