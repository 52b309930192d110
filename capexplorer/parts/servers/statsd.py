"""What a service sends by the statsd protocol, such as gunicorn with `--statsd-host`: counters, gauges, timers.

Datagrams are counted as they arrive, in a thread of its own: 90 requests of gunicorn a second fill Linux's default buffer. If the
kernel still dropped some, counters and timers of that reading are left out, since they would be too low.
"""

from __future__ import annotations

import math
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from ...model import outside

_METRIC = re.compile(
    r"(?P<name>[\w.-]{1,100}):(?P<value>[+-]?\d+(?:\.\d+)?)\|(?P<kind>c|g|ms|h)(?:\|@(?P<share>0?\.\d+|1(?:\.0*)?|0))?(?:\|#.*)?",
    re.ASCII,
)
"""One line of a datagram: metric, sampling rate (`share`), and tags, which are ignored."""

_NAMES_MOST = 32
"""Metrics that are kept: each is a figure in every line of the log."""
_DATAGRAM_MOST = 1 << 16
_BUFFER_BYTES = 8 << 20
"""Requested size; Linux grants at most net.core.rmem_max."""

_SO_RXQ_OVFL = 40
"""Linux socket option: each datagram comes with the number of datagrams dropped before it."""


class Totals:
    """Sums the metrics between two calls of `take`."""

    def __init__(self) -> None:
        self._counts: dict[str, float] = {}
        self._gauges: dict[str, float] = {}
        self._times: dict[str, tuple[float, int]] = {}
        self._names: set[str] = set()
        self._unusable: set[str] = set()
        self._datagrams = 0

    def add(self, datagram: bytes) -> None:
        """Add the lines of a datagram; those that are no metric are ignored."""
        self._datagrams += 1
        for line in datagram.decode("ascii", "replace").splitlines():
            found = _METRIC.fullmatch(line)
            share = float(found["share"] or 1.0) if found is not None else 0.0
            if found is None or share <= 0 or not self._is_kept(found["name"]):
                continue
            value = outside.number(float(found["value"]) / (share if found["kind"] == "c" else 1.0))
            if value is None:
                self._unusable.add(found["name"])
            else:
                self._add(found["name"], found["kind"], value, is_step=found["value"][0] in "+-")

    def _is_kept(self, name: str) -> bool:
        if len(self._names) < _NAMES_MOST:
            self._names.add(name)
        return name in self._names

    def _add(self, name: str, kind: str, value: float, *, is_step: bool) -> None:
        match kind:
            case "c":
                self._counts[name] = self._counts.get(name, 0.0) + value
            case "g":
                self._gauges[name] = value + (self._gauges.get(name, 0.0) if is_step else 0.0)
            case _:
                total, count = self._times.get(name, (0.0, 0))
                self._times[name] = total + value, count + 1

    def take(self, elapsed_s: float, dropped: int) -> dict[str, float]:
        """`NAME_per_s` of counters, the mean `NAME_ms` of timers, gauges as they are; `datagrams_per_s`, and `dropped_datagrams`
        if there were any. Gauges keep their values, but are left out of a reading without datagrams. A metric with a value that
        cannot be used is NaN."""
        figures = {"datagrams_per_s": self._datagrams / elapsed_s}
        if dropped:
            figures["dropped_datagrams"] = float(dropped)
        else:
            figures |= {f"{name}_per_s": count / elapsed_s for name, count in self._counts.items()}
            figures |= {f"{name}_ms": total / count for name, (total, count) in self._times.items() if count}
        figures |= self._gauges if self._datagrams else {}
        figures |= dict.fromkeys(self._unusable, math.nan)
        self._unusable.clear()
        self._counts, self._times, self._datagrams = dict.fromkeys(self._counts, 0.0), dict.fromkeys(self._times, (0.0, 0)), 0
        return figures


class Statsd:
    """A UDP socket on this machine's loopback to which the service sends."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises OSError if the port is taken."""
        where = urlsplit(url)
        family = socket.AF_INET6 if ":" in (where.hostname or "") else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
        self._socket.bind((where.hostname, where.port))
        self._totals, self._lock = Totals(), threading.Lock()
        self._clock, self._since_s = clock, clock()
        self._dropped, self._dropped_before = 0, 0
        threading.Thread(target=self._receive, daemon=True, name="statsd-receive").start()

    def _receive(self) -> None:
        with suppress(OSError):  # the socket was closed
            while True:
                datagram, ancillary, _, _ = self._socket.recvmsg(_DATAGRAM_MOST, socket.CMSG_SPACE(4))
                with self._lock:
                    self._totals.add(datagram)
                    for level, kind, data in ancillary:
                        if (level, kind) == (socket.SOL_SOCKET, _SO_RXQ_OVFL):
                            (self._dropped,) = struct.unpack("I", data[:4])

    def read(self) -> dict[str, float]:
        """Its figures since the last reading."""
        with self._lock:
            now_s, dropped = self._clock(), self._dropped - self._dropped_before
            elapsed_s, self._since_s, self._dropped_before = now_s - self._since_s, now_s, self._dropped
            return self._totals.take(max(elapsed_s, 1e-3), dropped)

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that receives
        self._socket.close()
