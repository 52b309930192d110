"""Redis: clients, memory and operations, from INFO."""

from __future__ import annotations

from typing import Any

import redis

from . import ANSWERED, TIMEOUT_S, ServerRefused
from .rate import Rates

_NAMES = {
    "connected_clients": "connections",
    "maxclients": "connections_limit",
    "blocked_clients": "blocked_clients",
    "used_memory": "used_memory_bytes",
    "maxmemory": "maxmemory_bytes",
    "instantaneous_ops_per_sec": "operations_per_s",
}
"""Figures by their key in INFO."""

_COUNTERS = ("rejected_connections", "evicted_keys")
"""Keys in INFO of counters, which become figures per second."""


class Redis:
    """One connection, which the client reopens by itself."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._rates = Rates()

    def read(self) -> dict[str, float]:
        """Its figures now. Raises redis.RedisError; ServerRefused if all connections are taken."""
        try:
            info: Any = self._client.info()
        except redis.ConnectionError as error:
            if "max number of clients" in str(error):
                raise ServerRefused(str(error)) from error
            raise
        self._rates.tick()
        found = ANSWERED | {name: float(info[key]) for key, name in _NAMES.items() if key in info}
        return found | {name: rate for key in _COUNTERS if key in info for name, rate in self._rates.of(key, info[key]).items()}
