"""k connections to PostgreSQL, one of which each request holds for s. The change: half of them are taken and not returned."""

from __future__ import annotations

import asyncio

from asgi import SLEEP_S, WORKERS, app_of
from change import Change
from databases import DSN
from psycopg_pool import AsyncConnectionPool

_pool = AsyncConnectionPool(DSN, min_size=WORKERS, max_size=WORKERS, open=False, timeout=120)


async def _leak(for_s: float) -> None:
    taken = [await _pool.getconn() for _ in range(WORKERS // 2)]
    await asyncio.sleep(for_s)
    for connection in taken:
        await _pool.putconn(connection)


_change = Change(_leak)


async def begin() -> None:
    await _pool.open(wait=True)


async def work() -> None:
    _change.request()
    async with _pool.connection() as connection:
        await connection.execute("select pg_sleep(%s)", (SLEEP_S,))


app = app_of(work, begin)
