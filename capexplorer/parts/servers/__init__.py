"""Figures that well-known servers count themselves, read from this machine by each server's own client.

Names that rules and screens know: `connections`, `connections_limit`, `rejected_connections_per_s`, `active` (sessions that work
or wait), `idle`, `idle_in_transaction`, `lock_waits` (active sessions that wait for a lock), `refused_readings` (1 where the
server had no connection left for this reading itself, else 0). All others are shown and recorded by the server's names.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Protocol, assert_never

from ...model.watched import PartSpec, ServerKind

if TYPE_CHECKING:
    import httpx  # takes 0.1 s, and few parts have a page


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

EXTRAS: dict[ServerKind, str] = {"postgres": "psycopg", "redis": "redis", "prometheus": "prometheus_client"}
"""Modules that `pip install capexplorer[KIND]` brings."""


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


def missing_client(watch: PartSpec) -> str:
    """Which client of a server's figures is not installed, with the remedy; empty if none is missing."""
    missing = (kind for kind, module in EXTRAS.items() if kind in watch.servers and find_spec(module) is None)
    asked = next(missing, None)
    return f"{watch.name}.{asked} needs a client that is not installed: pip install 'capexplorer[{asked}]'" if asked else ""


def servers_of(watch: PartSpec) -> dict[ServerKind, Callable[[], Server]]:
    """Constructors of a part's servers: each is called in the thread that reads the server."""
    return {kind: _maker(kind, url, watch) for kind, url in watch.servers.items()}


def _maker(kind: ServerKind, url: str, watch: PartSpec) -> Callable[[], Server]:
    def make() -> Server:
        match kind:  # each client takes time to import, and few parts have one
            case "postgres":
                from .postgres import Postgres

                return Postgres(url)
            case "redis":
                from .redis import Redis

                return Redis(url)
            case "nginx":
                from .nginx import Nginx

                return Nginx(url)
            case "statsd":
                from .statsd import Statsd

                return Statsd(url)
            case "prometheus":
                from .prometheus import Prometheus

                return Prometheus(url, watch.metrics)
            case _:
                assert_never(kind)

    return make
