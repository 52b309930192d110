"""PostgreSQL: connections, what sessions wait for, and locks, from its statistics views. Any role may read what is read here."""

from __future__ import annotations

import psycopg

from . import ANSWERED, TIMEOUT_S, ServerRefused
from .rate import Rates

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

_NAMES = (
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
        self._rates.tick()
        return ANSWERED | dict(zip(_NAMES, counts, strict=True)) | self._rates.of("transactions", transactions)

    def _connect(self) -> psycopg.Connection[tuple[float | None, ...]]:
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
