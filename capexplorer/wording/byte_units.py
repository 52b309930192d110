"""The units in which bytes are written: powers of 1024 (KiB, MiB) or of 1000 (kB, MB), for the screen and for all reports.

Chosen once in each process, as a command starts, from the user's configuration file. It is a preference of the reader: nothing
that programs read depends on it (`fixed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

ByteUnits = Literal["binary", "decimal"]

BASES: dict[ByteUnits, int] = {"binary": 1024, "decimal": 1000}
NAMES: dict[ByteUnits, tuple[str, ...]] = {
    "binary": ("B", "KiB", "MiB", "GiB", "TiB"),
    "decimal": ("B", "kB", "MB", "GB", "TB"),
}
ROUNDED_UP = 999.5
"""From here on three digits would be four: the next unit."""

_chosen: ByteUnits = "binary"
_fixed: ContextVar[bool] = ContextVar("_fixed", default=False)
"""In this thread, for now, whatever was chosen does not count."""


def choose(units: ByteUnits) -> None:
    """For all that this process writes from now on."""
    global _chosen
    _chosen = units


@contextmanager
def fixed() -> Iterator[None]:
    """Binary, whatever was chosen: for sentences within JSON and CSV. Also a decorator."""
    token = _fixed.set(True)
    try:
        yield
    finally:
        _fixed.reset(token)


def _units() -> ByteUnits:
    return "binary" if _fixed.get() else _chosen


def base() -> int:
    """From one unit to the next: 1024 or 1000."""
    return BASES[_units()]


def names() -> tuple[str, ...]:
    """From the byte on, each `base` of the one before."""
    return NAMES[_units()]


def in_unit(value: float, unit: str) -> float:
    """Bytes in one of `names`."""
    return value / float(base()) ** names().index(unit)


def unit_of(value: float) -> str:
    """The unit in which an amount of bytes has at most three digits before the point."""
    amount, *larger = names()
    for unit in larger:
        if abs(value) < ROUNDED_UP:
            break
        amount, value = unit, value / base()
    return amount
