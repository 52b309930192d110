"""The units of bytes and of latencies on the screen and in reports.

They are set once per process, when a command starts, from the user's configuration file. Output that programs read, and the log,
do not depend on them (`fixed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

ByteUnits = Literal["binary", "decimal"]
"""Powers of 1024 (KiB, MiB) or of 1000 (kB, MB)."""
LatencyUnits = Literal["ms", "s", "auto"]
"""Milliseconds, seconds, or for each value the one of µs, ms and s that leaves at most three digits before the point."""


class Units(NamedTuple):
    """The units in use. The defaults are those of output that programs read."""

    bytes: ByteUnits = "binary"
    latencies: LatencyUnits = "ms"


FIXED = Units()

_chosen = FIXED
_fixed: ContextVar[bool] = ContextVar("_fixed", default=False)
"""Whether the units of this thread are FIXED for now, whatever was chosen."""


def choose(units: Units) -> None:
    """Set the units for this process."""
    global _chosen
    _chosen = units


@contextmanager
def fixed() -> Iterator[None]:
    """Use FIXED within this context, whatever was chosen: for sentences in JSON, CSV and the log. Also a decorator."""
    token = _fixed.set(True)
    try:
        yield
    finally:
        _fixed.reset(token)


def current() -> Units:
    """The units of this thread."""
    return FIXED if _fixed.get() else _chosen


ROUNDED_UP = 999.5
"""Amounts from here on would be rounded to four digits, and are written in the next unit."""

# -- bytes

_BASES: dict[ByteUnits, int] = {"binary": 1024, "decimal": 1000}
_NAMES: dict[ByteUnits, tuple[str, ...]] = {
    "binary": ("B", "KiB", "MiB", "GiB", "TiB"),
    "decimal": ("B", "kB", "MB", "GB", "TB"),
}


def byte_base() -> int:
    """Ratio of each unit of bytes to the one before: 1024 or 1000."""
    return _BASES[current().bytes]


def byte_names() -> tuple[str, ...]:
    """Names of the units, from the byte on; each is `byte_base` times the one before."""
    return _NAMES[current().bytes]


def bytes_in(value: float, unit: str) -> float:
    """An amount of bytes in a unit, which is one of `byte_names`."""
    return value / float(byte_base()) ** byte_names().index(unit)


def byte_unit_of(value: float) -> str:
    """The unit in which an amount of bytes has at most three digits before the point."""
    amount, *larger = byte_names()
    for unit in larger:
        if abs(value) < ROUNDED_UP:
            break
        amount, value = unit, value / byte_base()
    return amount


# -- latencies


class LatencyUnit(NamedTuple):
    """A unit of time with its length."""

    name: str
    in_ms: float
    decimals: int
    """Most decimals in a narrow cell: a latency of 1 ms is 0.0010 s."""


MICROSECOND, MILLISECOND, SECOND = LatencyUnit("µs", 0.001, 2), LatencyUnit("ms", 1.0, 3), LatencyUnit("s", 1000.0, 4)


def latency_unit_of(value_ms: float) -> LatencyUnit:
    """The unit of a latency, or of several whose greatest this is."""
    match current().latencies:
        case "ms":
            return MILLISECOND
        case "s":
            return SECOND
        case "auto":
            size_ms = abs(value_ms)
            if size_ms >= ROUNDED_UP:
                return SECOND
            return MILLISECOND if size_ms >= ROUNDED_UP * MICROSECOND.in_ms or not size_ms else MICROSECOND


def common_latency_unit() -> LatencyUnit | None:
    """The unit of all latencies, which a title can name; None if each value has its own."""
    return None if current().latencies == "auto" else latency_unit_of(0.0)
