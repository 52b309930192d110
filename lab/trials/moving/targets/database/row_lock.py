"""Each request locks one row and keeps it for s; the others wait for it in PostgreSQL, up to k of them. The change: another
session keeps the lock."""

from __future__ import annotations

import psycopg
from asgi import SLEEP_S, WORKERS, app_of
from change import Change
from databases import DSN
from psycopg_pool import AsyncConnectionPool

LOCK = "select n from counter where id = 1 for update"

_pool = AsyncConnectionPool(DSN, min_size=WORKERS, max_size=WORKERS, open=False, timeout=120)


async def _other_session(for_s: float) -> None:
    async with await psycopg.AsyncConnection.connect(DSN) as connection:
        await connection.execute(LOCK)
        await connection.execute("select pg_sleep(%s)", (for_s,))


_change = Change(_other_session)


async def begin() -> None:
    await _pool.open(wait=True)
    async with _pool.connection() as connection:
        await connection.execute("create table counter (id int primary key, n bigint)")
        await connection.execute("insert into counter values (1, 0)")


async def work() -> None:
    _change.request()
    async with _pool.connection() as connection:
        await connection.execute(LOCK)
        await connection.execute("select pg_sleep(%s)", (SLEEP_S,))


app = app_of(work, begin)
