"""The mean of every reading over a level's settled ticks (`LevelFigures.readings`).

A key is one of:

- `generator.`, `target.`, `host.`, `neighbours.`, `ports.`, `tcp.` or `workers.` with a field of `readings.py` (`KEYS`),
- `app.` with the name of one of the target's own metrics,
- `part.NAME.` with such a key, for the watched part NAME (`part_key`).

The mean is over the ticks in which the reading was measured; a key is absent if it never was. Counters (`tcp.listen_overflows`,
`target.processes_ended`) are means per tick, which is a second. Readings of several targets are summed, except those in
OF_SEVERAL. Names of other processes are kept separately.

Sums are kept, not values: a level may last for days. Must not know levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_type_hints

import msgspec

from .events import Sample
from .readings import (
    CountingReading,
    GeneratorReading,
    HostReading,
    NeighboursReading,
    PartReading,
    PortsReading,
    Reading,
    TargetReading,
    TcpReading,
    WorkersReading,
)

Values = tuple[float | None, ...]

OF_SEVERAL: dict[str, Callable[[Iterable[float]], float]] = {
    "busiest_thread_ratio": max,
    "throttled_ratio": max,
    "cpu_pressure_ratio": max,
    "memory_pressure_ratio": max,
    "fds_fullest": max,
    "fds_limit": min,
    "cpus_allowed": max,
    "memory_limit_bytes": min,
    "disk_free_bytes": min,
}
"""How fields of several targets are combined; all other fields are summed."""

_NO_NUMBERS = frozenset(("pid",))
_PROCESSES = 3
"""Number of other processes that a level names."""

_DECIMALS = 6
"""Decimals of a mean; single readings have at most four."""


def number_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Names of the fields that are numbers, or None."""
    hints = get_type_hints(kind)  # without the bounds of `Annotated`
    return tuple(
        name
        for name in kind.__struct_fields__
        if name not in _NO_NUMBERS and set(get_args(hints[name]) or (hints[name],)) - {NoneType} <= {int, float}
    )


def _getter(fields: tuple[str, ...]) -> Callable[[Any], Values]:
    """A getter of these fields, which returns a tuple even for one field."""
    return attrgetter(*fields) if len(fields) > 1 else lambda reading: (getattr(reading, fields[0]),)


_PARTS: dict[str, type[Reading]] = {
    "generator": GeneratorReading, "host": HostReading, "neighbours": NeighboursReading, "ports": PortsReading,
    "tcp": TcpReading, "target": TargetReading, "workers": WorkersReading,
}  # fmt: skip
_FIELDS = {name: number_fields(kind) for name, kind in _PARTS.items()}
_VALUES: dict[str, Callable[[Any], Values]] = {name: _getter(fields) for name, fields in _FIELDS.items()}
_NONE: dict[str, Values] = {name: (None,) * len(fields) for name, fields in _FIELDS.items()}

KEYS = tuple(f"{name}.{field}" for name, fields in _FIELDS.items() for field in fields)
"""All keys, except those of the target's own metrics and of watched parts."""

READ_RATIO = "read_ratio"
"""Key of a watched part: share of the ticks in which it was read."""

FDS_FULL_RATIO = "target.fds_full_ratio"
"""Key of a watched part: share of the ticks in which one of its processes used FDS_FULL_LEAST of its descriptors or more. A
server without a free descriptor stops accepting for up to a second, so the mean stays below the limit (0.83 of 40, measured)."""
FDS_FULL_LEAST = 0.95

CONNECTIONS_FULL_RATIO = "server.connections_full_ratio"
"""Key of a watched part: share of the ticks in which all connections of its server were taken. If sessions begin and end, one is
free now and then, so the mean stays below the limit (12.0 of 13 with two clients per connection, measured)."""

_OF_PARTS = ("target", "host", "neighbours")


def part_key(part: str, key: str) -> str:
    """A key of a watched part, such as `part.db.target.cpu_ratio` for the part `db` and the key `target.cpu_ratio`."""
    return f"part.{part}.{key}"


def readings_of_parts(readings: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """The readings of each watched part, by its name and the part's own keys, such as `target.cpu_ratio`."""
    found: dict[str, dict[str, float]] = {}
    for key, value in readings.items():
        kind, _, rest = key.partition(".")
        if kind == "part":
            name, _, own = rest.partition(".")
            found.setdefault(name, {})[own] = value
    return found


class ReadingSums:
    """Sums of the readings of the ticks that were added; 5 us a tick."""

    __slots__ = ("_counts", "_further", "_named", "_processes", "_sums")

    def __init__(self) -> None:
        self._sums = [0.0] * len(KEYS)
        self._counts = [0] * len(KEYS)
        self._further: dict[str, tuple[float, int]] = {}
        """Sum and count of keys that not every session has: the target's own metrics, watched parts."""
        self._processes: dict[str, float] = {}
        """Cores of other processes by name, summed over the `_named` ticks in which any was named."""
        self._named = 0

    def add(self, sample: Sample) -> None:
        """Add the readings of one tick."""
        sums, counts = self._sums, self._counts
        for index, value in enumerate(_values_of(sample)):
            if value is not None:
                sums[index] += value
                counts[index] += 1
        for name, value in sample.app.items():
            self._add_further(f"app.{name}", value)
        for part in sample.parts:
            for key, known in _values_of_part(part):
                self._add_further(key, known)
        if sample.neighbours is not None and sample.neighbours.processes:
            self._add_processes(sample.neighbours.processes, 1)

    def _add_further(self, key: str, value: float) -> None:
        total, count = self._further.get(key, (0.0, 0))
        self._further[key] = total + value, count + 1

    def _add_processes(self, cores: Mapping[str, float], ticks: int) -> None:
        sign = 1 if ticks >= 0 else -1
        for name, ratio in cores.items():
            self._processes[name] = self._processes.get(name, 0.0) + sign * ratio
        self._named += ticks

    def merge(self, other: ReadingSums, sign: int = 1) -> None:
        """Add the sums of `other`; with a `sign` of -1, subtract sums that were added before."""
        self._sums = [mine + sign * theirs for mine, theirs in zip(self._sums, other._sums, strict=True)]
        self._counts = [mine + sign * theirs for mine, theirs in zip(self._counts, other._counts, strict=True)]
        for key, (theirs, ticks) in other._further.items():
            total, count = self._further.get(key, (0.0, 0))
            self._further[key] = total + sign * theirs, count + sign * ticks
        self._add_processes(other._processes, sign * other._named)

    def copy(self) -> ReadingSums:
        """An independent copy."""
        twin = ReadingSums()
        twin._sums, twin._counts, twin._further = self._sums.copy(), self._counts.copy(), self._further.copy()
        twin._processes, twin._named = self._processes.copy(), self._named
        return twin

    def without(self, samples: Iterable[Sample]) -> ReadingSums:
        """An independent copy without these ticks."""
        twin, later = self.copy(), ReadingSums()
        for sample in samples:
            later.add(sample)
        twin.merge(later, sign=-1)
        return twin

    def means(self) -> dict[str, float]:
        """Means by key; keys that no tick measured are absent."""
        found = zip(KEYS, self._sums, self._counts, strict=True)
        means = {key: round(total / count, _DECIMALS) for key, total, count in found if count}
        return means | {key: round(total / count, _DECIMALS) for key, (total, count) in self._further.items() if count}

    def other_processes(self) -> dict[str, float]:
        """Cores of the three busiest other processes, by name: means over the ticks in which any was named."""
        if not self._named:
            return {}
        means = {name: round(total / self._named, _DECIMALS) for name, total in self._processes.items()}
        most = sorted(means.items(), key=lambda item: (-item[1], item[0]))[:_PROCESSES]
        return {name: cores for name, cores in most if cores > 0}


def _values_of(sample: Sample) -> Values:
    """The values of a tick in the order of KEYS."""
    return (
        *_part("generator", sample.generator),
        *_part("host", sample.host),
        *_part("neighbours", sample.neighbours),
        *_part("ports", sample.ports),
        *_part("tcp", sample.tcp),
        *_targets(sample.targets),
        *_part("workers", sample.workers),
    )


def _values_of_part(part: PartReading) -> Iterator[tuple[str, float]]:
    """(key, value) of each reading of a watched part in one tick."""
    yield part_key(part.name, READ_RATIO), float(part.is_watched)
    readings = (part.target, part.host, part.neighbours)
    for name, reading in zip(_OF_PARTS, readings, strict=True):
        for key, value in zip(_keys_of_part(part.name, name), _part(name, reading), strict=True):
            if value is not None:
                yield key, value
    if part.target is not None and part.target.fds_fullest is not None and part.target.fds_limit:
        is_full = part.target.fds_fullest >= FDS_FULL_LEAST * part.target.fds_limit
        yield part_key(part.name, FDS_FULL_RATIO), float(is_full)
    for figure, value in part.server.items():
        yield part_key(part.name, f"server.{figure}"), value
    used, limit = part.server.get("connections"), part.server.get("connections_limit")
    if used is not None and limit:
        yield part_key(part.name, CONNECTIONS_FULL_RATIO), float(used >= limit)


@lru_cache(maxsize=256)
def _keys_of_part(part: str, of: str) -> tuple[str, ...]:
    return tuple(part_key(part, f"{of}.{field}") for field in _FIELDS[of])


def _part(name: str, reading: Reading | None) -> Values:
    if reading is None:
        return _NONE[name]
    values = _VALUES[name](reading)
    if isinstance(reading, CountingReading) and reading.unread:
        return tuple(None if field in reading.unread else value for field, value in zip(_FIELDS[name], values, strict=True))
    return values


def _targets(readings: Sequence[TargetReading]) -> Values:
    if len(readings) <= 1:
        return _part("target", readings[0] if readings else None)
    fields = zip(_FIELDS["target"], *(_part("target", each) for each in readings), strict=True)
    return tuple(_of_several(name, values) for name, *values in fields)


def _of_several(name: str, values: Sequence[float | None]) -> float | None:
    """The reading of several targets as one; None if one of them was not measured."""
    known = [value for value in values if value is not None]
    return OF_SEVERAL.get(name, math.fsum)(known) if len(known) == len(values) else None
