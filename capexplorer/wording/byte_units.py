"""Units of bytes on the screen and in reports: powers of 1024 (KiB, MiB) or of 1000 (kB, MB).

They are set once per process, when a command starts, from the user's configuration file. Output that programs read does not
depend on them (`fixed`).
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
"""Amounts from here on would be rounded to four digits, and are written in the next unit."""

_chosen: ByteUnits = "binary"
_fixed: ContextVar[bool] = ContextVar("_fixed", default=False)
"""Whether units are binary in this thread for now, whatever was chosen."""


def choose(units: ByteUnits) -> None:
    """Set the units for this process."""
    global _chosen
    _chosen = units


@contextmanager
def fixed() -> Iterator[None]:
    """Use binary units within this context, whatever was chosen: for sentences in JSON and CSV. Also a decorator."""
    token = _fixed.set(True)
    try:
        yield
    finally:
        _fixed.reset(token)


def _units() -> ByteUnits:
    return "binary" if _fixed.get() else _chosen


def base() -> int:
    """Ratio of each unit to the one before: 1024 or 1000."""
    return BASES[_units()]


def names() -> tuple[str, ...]:
    """Names of the units, from the byte on; each is `base` times the one before."""
    return NAMES[_units()]


def in_unit(value: float, unit: str) -> float:
    """An amount of bytes in a unit, which is one of `names`."""
    return value / float(base()) ** names().index(unit)


def unit_of(value: float) -> str:
    """The unit in which an amount of bytes has at most three digits before the point."""
    amount, *larger = names()
    for unit in larger:
        if abs(value) < ROUNDED_UP:
            break
        amount, value = unit, value / base()
    return amount
