"""Figures that well-known servers count themselves, read from this machine by each server's own client.

Names that rules and screens know: `connections`, `connections_limit`, `rejected_connections_per_s`, `active` (sessions that work
or wait), `idle`, `idle_in_transaction`, `lock_waits` (active sessions that wait for a lock), `refused_readings` (1 where the
server had no connection left for this reading itself, else 0). All others are shown and recorded by the server's names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, assert_never

from ...model.watched import PartSpec, ServerKind


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

EXTRAS: dict[ServerKind, str] = {"postgres": "psycopg", "redis": "redis", "prometheus": "prometheus_client"}
"""Modules that `pip install capexplorer[KIND]` brings."""


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
