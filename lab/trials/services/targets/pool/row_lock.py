"""Each request updates one row and keeps its lock for s; the others wait for the lock in PostgreSQL, on up to 90 connections."""

from asgi import SLEEP_S, app_of
from databases import DSN
from psycopg_pool import AsyncConnectionPool

CONNECTIONS = 90

_pool = AsyncConnectionPool(DSN, min_size=4, max_size=CONNECTIONS, open=False, timeout=120)


async def begin() -> None:
    await _pool.open(wait=True)
    async with _pool.connection() as connection:
        await connection.execute("create table if not exists counter (id int primary key, n bigint)")
        await connection.execute("insert into counter values (1, 0) on conflict do nothing")


async def work() -> None:
    async with _pool.connection() as connection:
        await connection.execute("update counter set n = n + 1 where id = 1")
        await connection.execute("select pg_sleep(%s)", (SLEEP_S,))


app = app_of(work, begin)
