"""Runs that are repeated if a mark is missing which other processes on the machine may have prevented."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ATTEMPTS = 3
DISTURBED_CORES = 0.5
"""Other processes disturbed a run if they kept at least so many cores busy, as other tests of the suite do."""

T = TypeVar("T")


def repeated_while_disturbed(
    explore: Callable[[Path], T], is_complete: Callable[[T], bool], cores_of_others: Callable[[T], float], folder: Path
) -> T:
    """The first run with all its marks, or the first that was not disturbed, or the last of three. A wrong mark is no reason to
    repeat a run: `is_complete` only asks whether one is missing.
    """
    for attempt in range(ATTEMPTS):
        ran = explore(folder / f"attempt-{attempt}")
        if is_complete(ran) or cores_of_others(ran) < DISTURBED_CORES:
            break
    return ran
