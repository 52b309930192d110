"""Figures that well-known servers count themselves, read from this machine by each server's own client.

Names that rules and screens know: `connections`, `connections_limit`, `rejected_connections_per_s`, `active` (sessions that work
or wait), `idle`, `idle_in_transaction`, `lock_waits` (active sessions that wait for a lock), `refused_readings` (1 where the
server had no connection left for this reading itself, else 0); of an inference engine `requests_running` (its batch),
`requests_waiting`, `kv_cache_ratio`, `preemptions_per_s`. All others are shown and recorded by the server's names.

Each client is imported where its server is first read: it takes time, and few parts have one.
"""

from __future__ import annotations

import math
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from ..extras import lacking
from ..model import outside
from ..model.watched import PartSpec, ServerKind
from .metrics import OF_HISTOGRAMS, Sample, samples
from .procfs import Growth, per_second

if TYPE_CHECKING:
    import httpx
    import psycopg


class Server(Protocol):
    """One server. `read` blocks for at most TIMEOUT_S. After an error, whose text says what is wrong, the next call connects
    again, and counters continue from the last answer."""

    def read(self) -> dict[str, float]:
        """Its figures now. Raises ServerRefused."""


class ServerRefused(Exception):
    """The server had no connection left for the reader. That counts as a reading: REFUSED."""


ANSWERED, REFUSED = {"refused_readings": 0.0}, {"refused_readings": 1.0}
"""Figures of a server that may refuse; the mean of `refused_readings` over seconds is the share of seconds in which it did."""

TIMEOUT_S = 2.0
"""The longest that a connection, or an answer, may take."""

PAGE_BYTES_MOST = 8 << 20
"""The longest page of figures."""

CLIENTS: dict[ServerKind, str] = {"postgres": "psycopg", "redis": "redis"}
"""Modules of an extra that some servers need."""


class Rates:
    """Growth per second of the counters of a server."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._growth, self._clock = Growth(), clock
        self._at_s: float | None = None

    def of(self, counters: Mapping[str, float]) -> dict[str, float]:
        """`NAME_per_s` since the last call; none at first, and of a counter that was reset; NaN of one that is no number."""
        before_s, self._at_s = self._at_s, self._clock()
        elapsed_s = 0.0 if before_s is None else self._at_s - before_s
        usable = {name: outside.number(count) for name, count in counters.items()}
        grown = {name: self._growth(name, None if count is None else int(count)) for name, count in usable.items()}
        rates = {name: math.nan if usable[name] is None else per_second(each, elapsed_s) for name, each in grown.items()}
        return {f"{name}_per_s": rate for name, rate in rates.items() if rate is not None}


# -- pages over HTTP -----------------------------------------------------------------------------------------------------------


def _client() -> httpx.Client:
    import httpx

    return httpx.Client(timeout=TIMEOUT_S, trust_env=False)


def page(client: httpx.Client, url: str) -> str:
    """A page of figures, uncompressed. It is read until it is too long or TIMEOUT_S have passed, whatever the server goes on to
    send. Raises httpx.HTTPError; ValueError: too long, too late, or compressed.
    """
    ends_s, found = monotonic() + TIMEOUT_S, bytearray()
    with client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as response:
        response.raise_for_status()
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("the page is compressed, which was not asked for")
        for part in response.iter_raw():
            found += part
            if len(found) > PAGE_BYTES_MOST:
                raise ValueError(f"the page has more than {PAGE_BYTES_MOST >> 20} MiB")
            if monotonic() > ends_s:
                raise ValueError(f"the page has not ended within {TIMEOUT_S:g} s")
    return found.decode("utf-8", "replace")


_ACTIVE = re.compile(r"Active connections:\s*(\d+)")
_NGINX_COUNTERS = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
"""Accepted connections, handled ones, requests. Those not handled were closed since no worker_connections were left."""

_DOING = re.compile(r"(Reading|Writing|Waiting):\s*(\d+)")


class Nginx:
    """Its page, over one connection. If no worker_connections are left, nginx accepts a connection and closes it without an
    answer; if no descriptors are left, it accepts none, and the request times out."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = _client()
        self._rates = Rates()
        self._has_answered = False

    def read(self) -> dict[str, float]:
        """Its figures now. Raises httpx.HTTPError; ValueError if the page is not one of stub_status; ServerRefused if a server
        that has answered before closes the connection."""
        import httpx

        try:
            text = page(self._client, self._url)
        except (httpx.RemoteProtocolError, httpx.ReadError) as error:
            if self._has_answered:
                raise ServerRefused(str(error)) from error
            raise
        values, counters = of_stub_status(text)
        self._has_answered = True
        return ANSWERED | values | self._rates.of(counters)


def of_stub_status(text: str) -> tuple[dict[str, float], dict[str, float]]:
    """(values, counters): `connections`, `reading`, `writing`, `waiting`; `rejected_connections`, `requests`. Raises
    ValueError for any other page."""
    active, counters = _ACTIVE.search(text), _NGINX_COUNTERS.search(text)
    if active is None or counters is None:
        raise ValueError("the page is not one of stub_status")
    accepted, handled, requests = map(float, counters.groups())
    doing = {name.lower(): float(count) for name, count in _DOING.findall(text)}
    return {"connections": float(active[1]), **doing}, {"rejected_connections": accepted - handled, "requests": requests}


SERIES_MOST = 256
"""Series of one page that are kept if none are named, in the order of the page: each is a figure in every line of the log."""

LABELS_MOST = 8
"""A metric with more label sets is kept as their sum, from then on."""


class Prometheus:
    """Any exporter's page in Prometheus' text format: the named metrics, each summed over its labels, or all of them. Counters as
    their growth a second."""

    def __init__(self, url: str, names: Collection[str] = (), clock: Callable[[], float] = monotonic) -> None:
        self._url, self._names = url, names
        self._client = _client()
        self._all, self._growth = AllSeries(), _Growth(clock)

    def read(self) -> dict[str, float]:
        """Its figures now. Raises httpx.HTTPError; ValueError where it is not a `page`, or has no metrics."""
        found = list(samples(page(self._client, self._url)))
        if not found:
            raise ValueError("the page has no metrics in Prometheus' text format")
        return self.figures(found)

    def figures(self, found: Sequence[Sample]) -> dict[str, float]:
        """Those of a page that was read now."""
        values, counters = sums(found, self._names) if self._names else self._all.of(found)
        figures = values | self._growth.per_s(counters)
        kept = figures if self._names else self._all.bounded(with_means(figures))
        return kept | of_engine(figures)


ENGINE: dict[str, tuple[str, Callable[[Iterable[float]], float]]] = {
    "vllm:num_requests_running": ("requests_running", math.fsum),
    "vllm:num_requests_waiting": ("requests_waiting", math.fsum),
    "vllm:kv_cache_usage_perc": ("kv_cache_ratio", max),
    "vllm:gpu_cache_usage_perc": ("kv_cache_ratio", max),  # vLLM before 0.10
    "vllm:num_preemptions_total_per_s": ("preemptions_per_s", math.fsum),
}
"""Figures of an inference engine by vLLM's names, with what they are of several engines behind one page."""


def of_engine(figures: Mapping[str, float]) -> dict[str, float]:
    """What an inference engine counts, by the names that rules know; empty for other pages."""
    found: dict[str, list[float]] = {}
    for name, value in figures.items():
        found.setdefault(name.partition("{")[0], []).append(value)
    return {known: of(found[name]) for name, (known, of) in ENGINE.items() if name in found}


class _Growth:
    """Growth per second of counters, which may count parts of seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._at_s, self._before = 0.0, dict[str, float]()

    def per_s(self, counters: Mapping[str, float]) -> dict[str, float]:
        """`NAME_per_s`, before the labels of a name, since the last call; none at first, and of a counter that was reset; NaN of
        one that is no number."""
        now_s, before = self._clock(), self._before
        elapsed_s, self._at_s, self._before = now_s - self._at_s, now_s, dict(counters)
        grown = {name: value - before[name] for name, value in counters.items() if name in before}
        return {_suffixed(name, "_per_s"): each / elapsed_s for name, each in grown.items() if elapsed_s > 0 and not each < 0}


def _suffixed(name: str, suffix: str) -> str:
    bare, brace, labels = name.partition("{")
    return f"{bare}{suffix}{brace}{labels}"


def sums(found: Iterable[Sample], names: Collection[str]) -> tuple[dict[str, float], dict[str, float]]:
    """(values, counters) of the named metrics, each summed over its labels; NaN if a number is too large."""
    values: dict[str, float] = {}
    counters: dict[str, float] = {}
    for sample in found:
        if sample.name in names:
            value = outside.number(sample.value)
            kept = counters if sample.is_counter or sample.name.endswith(("_count", "_sum")) else values
            kept[sample.name] = kept.get(sample.name, 0.0) + (math.nan if value is None else value)
    return values, counters


class AllSeries:
    """The series of a page that are kept, always the same ones: of a metric with few label sets each, else their sum."""

    def __init__(self) -> None:
        self._summed: set[str] = set()
        self._kept: set[str] = set()

    def of(self, found: Iterable[Sample]) -> tuple[dict[str, float], dict[str, float]]:
        """(values, counters) of the page by name and labels. Quantiles of a summary are left out: they cannot be summed."""
        usable = [each for each in found if not OF_HISTOGRAMS.search(each.name) and 'quantile="' not in each.labels]
        labels = Counter(each.name for each in usable)
        self._summed.update(name for name, count in labels.items() if count > LABELS_MOST)
        values: dict[str, float] = {}
        counters: dict[str, float] = {}
        for each in usable:
            value, name = outside.number(each.value), each.name if each.name in self._summed else each.name + each.labels
            if value is not None:
                kept = counters if each.is_counter or each.name.endswith(("_count", "_sum")) else values
                kept[name] = kept.get(name, 0.0) + value
        return values, counters

    def bounded(self, figures: Mapping[str, float]) -> dict[str, float]:
        """At most SERIES_MOST of the figures in a session: those that came first; `series_left_out` is the number of others."""
        new = [name for name in figures if name not in self._kept]
        places = SERIES_MOST - len(self._kept)
        self._kept.update(new[:places])
        left_out = {"series_left_out": float(len(new) - places)} if len(new) > places else {}
        return {name: value for name, value in figures.items() if name in self._kept} | left_out


def with_means(figures: Mapping[str, float]) -> dict[str, float]:
    """The figures with a mean, NAME_mean, in place of the growth of each sum: what a histogram or a summary observed, absent in a
    second without observations."""
    found: dict[str, float] = {}
    for name, value in figures.items():
        bare, brace, labels = name.partition("{")
        base = bare.removesuffix("_sum_per_s")
        count = figures.get(f"{base}_count_per_s{brace}{labels}") if base != bare else None
        if count is None:
            found[name] = value
        elif count > 0:
            found[f"{base}_mean{brace}{labels}"] = value / count
    return found


# -- PostgreSQL: connections, what sessions wait for, and locks. Any role may read what is read here ---------------------------

_SESSIONS = """
SELECT count(*),
       count(*) FILTER (WHERE state = 'active' AND pid <> pg_backend_pid()),
       count(*) FILTER (WHERE state = 'idle'),
       count(*) FILTER (WHERE state LIKE 'idle in transaction%'),
       count(*) FILTER (WHERE wait_event_type = 'Lock'),
       count(*) FILTER (WHERE wait_event_type = 'LWLock'),
       count(*) FILTER (WHERE wait_event_type = 'IO'),
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0),
       (SELECT sum(xact_commit + xact_rollback)::bigint FROM pg_stat_database)
FROM pg_stat_activity WHERE backend_type = 'client backend'
"""

_SESSION_NAMES = (
    "connections", "active", "idle", "idle_in_transaction", "lock_waits", "lwlock_waits", "io_waits", "connections_limit"
)  # fmt: skip

_NO_CONNECTION_LEFT = ("too many clients", "remaining connection slots are reserved", "too many connections for")
"""PostgreSQL's texts for SQLSTATE 53300, which libpq does not report when it connects."""


class Postgres:
    """One connection, opened at the first reading and kept: when none is left for others, this one still answers."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[tuple[float | None, ...]] | None = None
        self._rates = Rates()

    def read(self) -> dict[str, float]:
        """Its figures now. Raises psycopg.Error; ServerRefused if all connections are taken."""
        import psycopg

        try:
            self._connection = self._connection or self._connect()
            row = self._connection.execute(_SESSIONS).fetchone()
        except psycopg.Error as error:
            self._disconnect()
            if any(words in str(error) for words in _NO_CONNECTION_LEFT):
                raise ServerRefused(str(error)) from error
            raise
        assert row is not None
        *counts, transactions = (float(value or 0) for value in row)
        rates = self._rates.of({"transactions": transactions})
        return ANSWERED | dict(zip(_SESSION_NAMES, counts, strict=True)) | rates

    def _connect(self) -> psycopg.Connection[tuple[float | None, ...]]:
        import psycopg

        return psycopg.connect(
            self._url,
            connect_timeout=round(TIMEOUT_S),
            autocommit=True,
            options=f"-c statement_timeout={round(TIMEOUT_S * 1000)}",
            application_name="capexplorer",
        )

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


# -- Redis: clients, memory and operations, from INFO --------------------------------------------------------------------------

_INFO_NAMES = {
    "connected_clients": "connections",
    "maxclients": "connections_limit",
    "blocked_clients": "blocked_clients",
    "used_memory": "used_memory_bytes",
    "maxmemory": "maxmemory_bytes",
    "instantaneous_ops_per_sec": "operations_per_s",
}
"""Figures by their key in INFO."""

_INFO_COUNTERS = ("rejected_connections", "evicted_keys")
"""Keys in INFO of counters, which become figures per second."""


class Redis:
    """One connection, which the client reopens by itself."""

    def __init__(self, url: str) -> None:
        import redis

        self._client = redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._rates = Rates()

    def read(self) -> dict[str, float]:
        """Its figures now. Raises redis.RedisError; ServerRefused if all connections are taken."""
        import redis

        try:
            info: Any = self._client.info()
        except redis.ConnectionError as error:
            if "max number of clients" in str(error):
                raise ServerRefused(str(error)) from error
            raise
        found = {name: float(info[key]) for key, name in _INFO_NAMES.items() if key in info}
        return ANSWERED | found | self._rates.of({key: info[key] for key in _INFO_COUNTERS if key in info})


# -- what a service sends by the statsd protocol, such as gunicorn with `--statsd-host` ----------------------------------------

# Datagrams are counted as they arrive, in a thread of its own: 90 requests of gunicorn a second fill Linux's default buffer. If
# the kernel still dropped some, counters and timers of that reading are left out, since they would be too low.


_METRIC = re.compile(
    r"(?P<name>[\w.-]{1,100}):(?P<value>[+-]?\d+(?:\.\d+)?)\|(?P<kind>c|g|ms|h)(?:\|@(?P<share>0?\.\d+|1(?:\.0*)?|0))?(?:\|#.*)?",
    re.ASCII,
)
"""One line of a datagram: metric, sampling rate (`share`), and tags, which are ignored."""

_STATSD_NAMES_MOST = 32
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
        if len(self._names) < _STATSD_NAMES_MOST:
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

    def __init__(self, url: str, clock: Callable[[], float] = monotonic) -> None:
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


# -- servers of a part ---------------------------------------------------------------------------------------------------------


def missing_client(watch: PartSpec) -> str:
    """Which client of a server's figures is not installed, with the remedy; empty if none is missing."""
    missing = ((kind, lacking(module)) for kind, module in CLIENTS.items() if kind in watch.servers)
    return next((f"{watch.name}.{kind}: {said}" for kind, said in missing if said), "")


def servers_of(watch: PartSpec) -> dict[ServerKind, Callable[[], Server]]:
    """Constructors of a part's servers: each is called in the thread that reads the server."""
    makers: dict[ServerKind, Callable[[str], Server]] = {
        "postgres": Postgres,
        "redis": Redis,
        "nginx": Nginx,
        "statsd": Statsd,
        "prometheus": partial(Prometheus, names=watch.metrics),
    }
    return {kind: partial(makers[kind], url) for kind, url in watch.servers.items()}
