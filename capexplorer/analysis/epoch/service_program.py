"""Which program the target runs, and whether one Python interpreter lock limits the whole target."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.events import Target
from ...model.timeline import Timeline

PROCESSES_MOST = 2.5
"""A Python target with fewer processes in the mean is a single process: a second one may be a supervisor."""


def program_of(timeline: Timeline) -> str | None:
    """File name of the target's program, as reported by the system, else from its command; None if not known."""
    reported = [entry.program for entry in timeline.journal if isinstance(entry, Target) and entry.program]
    if reported:
        return reported[-1]
    command: Sequence[str] = timeline.header.target.command if timeline.header is not None else ()
    return command[0].replace("\\", "/").rpartition("/")[2] if command else None


def is_one_python_process(program: str | None, processes: float | None) -> bool:
    """Whether one global interpreter lock limits the whole target."""
    return (program or "").startswith("python") and (processes or 1.0) < PROCESSES_MOST
