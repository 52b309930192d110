"""One row of a trial until its result counts: carried out, shown, and once more where other processes disturbed it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import Protocol, TypeVar


class Judged(Protocol):
    """A result of a row."""

    @property
    def right(self) -> bool:
        """Whether its verdict is as expected."""

    @property
    def disturbed(self) -> bool:
        """Whether other processes were busy meanwhile."""


R = TypeVar("R", bound=Judged)
T = TypeVar("T")


def settled(run: Callable[[Path], R], keep: Callable[[R], None], folders: Iterable[Path]) -> R:
    """The result of the last run, each in the next folder: another one follows while it is not right and other processes were
    busy. `keep` gets every result. The folder of a right one is removed. Raises ValueError without a folder."""
    result: R | None = None
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        result = run(folder)
        keep(result)
        if result.right:
            shutil.rmtree(folder, ignore_errors=True)
        if result.right or not result.disturbed:
            break
    if result is None:
        raise ValueError("no folder")
    return result


def carried_out(why_not: str, carry_out: Callable[[], T]) -> tuple[T | None, str, float]:
    """(what was carried out, why nothing was, seconds). The other rows are to be seen whatever one row raises."""
    since_s = monotonic()
    if why_not:
        return None, f"skipped: {why_not}", 0.0
    try:
        return carry_out(), "", monotonic() - since_s
    except Exception as error:
        return None, f"wrong: not carried out: {error}", monotonic() - since_s
