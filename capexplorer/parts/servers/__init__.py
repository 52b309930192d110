"""Figures that well-known servers count themselves, asked from this machine by each server's own client.

Names that rules and screens know: `connections`, `connections_limit`, `rejected_connections_per_s`, `active` (sessions that work
or wait), `idle`, `idle_in_transaction`, `lock_waits` (active sessions that wait for a lock), `refused_readings` (1 where the
server had no connection left for this reading itself, else 0). All others are shown and recorded as they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, assert_never

from ...model.watched import PartSpec, ServerKind


class Server(Protocol):
    """One server. `read` blocks for at most TIMEOUT_S. It raises an error whose text says what is wrong, and connects again at
    the next call, so that counters go on from the last answer."""

    def read(self) -> dict[str, float]:
        """Its figures now. Raises ServerRefused."""


class ServerRefused(Exception):
    """The server had no connection left for the reader: that is a reading, too."""


ANSWERED, REFUSED = {"refused_readings": 0.0}, {"refused_readings": 1.0}
"""Of a server that may refuse: their mean over seconds is the share in which it did."""

TIMEOUT_S = 2.0

EXTRAS: dict[ServerKind, str] = {"postgres": "psycopg", "redis": "redis", "prometheus": "prometheus_client"}
"""Modules that `pip install capexplorer[KIND]` brings."""


def servers_of(watch: PartSpec) -> dict[ServerKind, Callable[[], Server]]:
    """What makes each server of a part: made in the thread that asks it."""
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
