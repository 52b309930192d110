"""Files of /proc and /sys that stay open: under EMFILE no file can be opened, but those that are open can still be read.

An open file of a process belongs to that process alone: when it has ended the read fails, even if another process has its pid.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ..procs.lines import LineSplitter

_CHUNK_BYTES = 32768

OUT_OF_FDS = frozenset((errno.EMFILE, errno.ENFILE))
"""errno values of files that exist but could not be opened."""


class TextFile(Protocol):
    """A file of /proc or /sys, of this machine or of another one."""

    error: int | None
    """Why it could not be opened (errno), or None."""

    def read(self) -> str | None:
        """Its present text; None where it cannot be read."""

    def close(self) -> None:
        """Close it; it must not be read after that."""


OpenFile = Callable[[str], TextFile]


class KeptFile:
    """One file, opened once and read at every call. If no descriptor was left to open it, the next call tries again."""

    __slots__ = ("_fd", "_path", "error")

    def __init__(self, path: str) -> None:
        self.error: int | None = None
        """Why it could not be opened (errno), or None."""
        self._path = path
        self._fd: int | None = None
        self._open()

    def _open(self) -> None:
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            self.error = None
        except OSError as error:
            self.error = error.errno

    @property
    def waits_for_fd(self) -> bool:
        """Whether it could not be opened because no descriptor was free."""
        return self.error in OUT_OF_FDS

    def read(self) -> str | None:
        """Its present text; None if it could not be opened, if what it describes is gone, or access is denied."""
        try:
            return b"".join(self._pieces()).decode("utf-8", "replace")
        except OSError:
            return None

    def lines(self) -> Iterator[str]:
        """Its lines, read as the caller iterates: the first lines of a long file are cheap. Raises OSError where `read` returns
        None."""
        splitter = LineSplitter()
        for piece in self._pieces():
            yield from (line.decode("utf-8", "replace") for line in splitter.add(piece))

    def _pieces(self) -> Iterator[bytes]:
        if self.waits_for_fd:
            self._open()
        if self._fd is None:
            raise OSError(self.error or errno.EBADF, "not open")
        offset = 0
        while piece := os.pread(self._fd, _CHUNK_BYTES, offset):  # /proc gives some files a page at a time
            yield piece
            offset += len(piece)

    def close(self) -> None:
        """Close the descriptor. May be called twice."""
        self.error = None
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Growth:
    """The growth of counters since the last call, by the counter's name."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: dict[Hashable, int] = {}

    def __call__(self, name: Hashable, now: int | None) -> int | None:
        """Growth of `name` to `now`; None at the first call, after a missing value, and if it decreased: then the counter is a
        new one."""
        before = self._before.pop(name, None)
        if now is None:
            return None
        self._before[name] = now
        return None if before is None or now < before else now - before


def per_second(growth: int | None, elapsed_s: float, units: float = 1.0) -> float | None:
    """`growth` per second; `units` in one (1e9 for a growth in nanoseconds). None if it was not measured, or no time has
    passed."""
    return None if growth is None or elapsed_s <= 0 else growth / units / elapsed_s


def complete_sum(values: Sequence[int | None]) -> int | None:
    """The sum; None if one of the values was not measured."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def read_once(path: str) -> str | None:
    """The text of a file that is needed once; None when it cannot be read."""
    file = KeptFile(path)
    try:
        return file.read()
    finally:
        file.close()


def numbers(path: str) -> list[int]:
    """The whole numbers in a small file such as those of /proc/sys; empty when it cannot be read."""
    return [int(word) for word in (read_once(path) or "").split() if word.lstrip("-").isdigit()]


def names_in(folder: str) -> list[str]:
    """Names in a folder; empty if it is gone or cannot be opened."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


# -- parse ---------------------------------------------------------------------------------------------------------------------
# Parsers for files of /proc: pure functions, one for each file, that return None for missing values. Must not open anything;
# the probes decide what a figure means.


class Schedule(NamedTuple):
    """schedstat of one thread: nanoseconds on a core, nanoseconds runnable without a core, number of time slices."""

    on_cpu_ns: int
    run_delay_ns: int
    slices: int


class CpuTime(NamedTuple):
    """The `cpu` line of /proc/stat in clock ticks, all cores together."""

    busy: int
    steal: int
    total: int
    cpus: int


def schedstat(text: str | None) -> Schedule | None:
    """One thread. None also for three zeros, which a kernel without this accounting prints."""
    fields = (text or "").split()
    if len(fields) != 3 or fields == ["0", "0", "0"]:
        return None
    return Schedule(*map(int, fields))


def statm_rss_pages(text: str | None) -> int | None:
    """Resident pages."""
    fields = (text or "").split()
    return int(fields[1]) if len(fields) > 1 else None


def colon_table(text: str | None) -> dict[str, int]:
    """`name: number ...` lines, such as those of io and meminfo (in kB): the first number of each."""
    table = {}
    for line in (text or "").splitlines():
        name, _, rest = line.partition(":")
        value = rest.split()
        if value and value[0].isdigit():
            table[name] = int(value[0])
    return table


def spaced_table(text: str | None) -> dict[str, int]:
    """`name number` lines, such as vmstat, and cpu.stat, memory.events and memory.oom_control of control groups."""
    words = (line.split() for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}


def listening(line: str) -> tuple[int, int] | None:
    """(port, connections that wait) of a line of /proc/net/tcp; None if it is not a listener."""
    fields = line.split(None, 5)
    if len(fields) < 5 or fields[3] != "0A":
        return None
    return int(fields[1].rpartition(":")[2], 16), int(fields[4].rpartition(":")[2], 16)


def soft_limit_of_open_files(text: str | None) -> int | None:
    """From /proc/PID/limits; None also for `unlimited`."""
    for line in (text or "").splitlines():
        if line.startswith("Max open files"):
            soft = line.split()[3]
            return int(soft) if soft.isdigit() else None
    return None


def cpu_time(text: str | None) -> CpuTime | None:
    """Busy is user, nice, system and interrupts; idle, iowait and steal are not. Guest time is already within user."""
    lines = (text or "").splitlines()
    if not lines or not lines[0].startswith("cpu "):
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = [*map(int, lines[0].split()[1:9]), 0, 0, 0, 0, 0, 0, 0, 0][:8]
    busy = user + nice + system + irq + softirq
    cpus = sum(line.startswith("cpu") for line in lines[1:])
    return CpuTime(busy, steal, busy + idle + iowait + steal, cpus)


def load_average_1m(text: str | None) -> float | None:
    """First figure of /proc/loadavg."""
    return float(text.split()[0]) if text else None


def pressure_us(text: str | None, kind: str) -> int | None:
    """Total stall of a PSI file in microseconds; `kind` is `some` or `full`."""
    for line in (text or "").splitlines():
        if line.startswith(f"{kind} "):
            return int(line.rpartition("total=")[2])
    return None


def disks(text: str | None) -> dict[str, tuple[int, int]]:
    """(milliseconds with work in flight, bytes read and written), by block device (partitions too)."""
    rows = (line.split() for line in (text or "").splitlines())
    return {row[2]: (int(row[12]), 512 * (int(row[5]) + int(row[9]))) for row in rows if len(row) > 12}


def interface_bytes(text: str | None) -> tuple[int, int] | None:
    """(received, sent) bytes of all interfaces in /proc/net/dev; None without one."""
    rows = [line.partition(":")[2].split() for line in (text or "").splitlines() if ":" in line]
    return (sum(int(row[0]) for row in rows), sum(int(row[8]) for row in rows)) if rows else None


def file_nr(text: str | None) -> tuple[int, int] | None:
    """(open files of the system, their limit) from /proc/sys/fs/file-nr."""
    fields = (text or "").split()
    return (int(fields[0]), int(fields[2])) if len(fields) == 3 else None


def named_counters(text: str | None) -> dict[str, int]:
    """/proc/net/snmp and netstat: a line of names, then a line of values, each with its prefix. Keys are `TcpExt.ListenDrops`."""
    lines = (text or "").splitlines()
    table = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        prefix = names.partition(":")[0]
        for name, value in zip(names.split()[1:], values.split()[1:], strict=False):
            table[f"{prefix}.{name}"] = int(value)
    return table


def sockstat(text: str | None) -> dict[str, int]:
    """/proc/net/sockstat: keys are `TCP.inuse`."""
    table = {}
    for line in (text or "").splitlines():
        prefix, _, rest = line.partition(":")
        words = rest.split()
        table.update({f"{prefix}.{name}": int(value) for name, value in zip(words[::2], words[1::2], strict=False)})
    return table


def integer(text: str | None) -> int | None:
    """The number that the text is, such as `-1`; None if it is no number."""
    word = (text or "").strip()
    return int(word) if word.lstrip("-").isdigit() else None


def port_ranges(text: str | None) -> list[tuple[int, int]]:
    """`8080,9000-9100` as first and last ports: the form of ip_local_reserved_ports."""
    ranges = []
    for part in (text or "").replace(",", " ").split():
        first, _, last = part.partition("-")
        ranges.append((int(first), int(last or first)))
    return ranges
