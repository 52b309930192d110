"""Carries out one row of a trial, and repeats it if other processes disturbed it and its result is not right."""

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
        """Whether other processes used much CPU during the run."""


R = TypeVar("R", bound=Judged)
T = TypeVar("T")


def repeated_if_disturbed(run: Callable[[Path], R], keep: Callable[[R], None], folders: Iterable[Path]) -> R:
    """Run until a result is right or was not disturbed, at most once for each of `folders`; returns the last result. `keep` is
    called with each result. The folder of a right result is removed. Raises ValueError without a folder."""
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
    """(result, why there is none, seconds that it took). `why_not`: why the row is skipped; empty: it is not. An exception is
    returned as text, so that the other rows are still carried out."""
    since_s = monotonic()
    if why_not:
        return None, f"skipped: {why_not}", 0.0
    try:
        return carry_out(), "", monotonic() - since_s
    except Exception as error:
        return None, f"wrong: not carried out: {error}", monotonic() - since_s
