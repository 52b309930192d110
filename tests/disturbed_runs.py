"""Repeats runs in which a mark is missing, if other processes on the machine may have prevented it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ATTEMPTS_MOST = 3
DISTURBED_CORES = 0.5
"""A run is disturbed if other processes, such as other tests, keep at least this many cores busy."""

Run = TypeVar("Run")


def repeated_while_disturbed(
    explore: Callable[[Path], Run], is_complete: Callable[[Run], bool], cores_of_others: Callable[[Run], float], folder: Path
) -> Run:
    """The first run that is complete or was not disturbed, else the last of three. `explore` makes a run in a folder below
    `folder`. `is_complete` is whether no expected mark is missing; a wrong mark must not make it false, and so repeat the run.
    """
    for attempt in range(ATTEMPTS_MOST):
        run = explore(folder / f"attempt-{attempt}")
        if is_complete(run) or cores_of_others(run) < DISTURBED_CORES:
            break
    return run
