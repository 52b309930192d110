"""k connections to PostgreSQL; each request sleeps in one of them."""

from asgi import SLEEP_S, WORKERS, app_of
from databases import DSN
from psycopg_pool import AsyncConnectionPool

_pool = AsyncConnectionPool(DSN, min_size=WORKERS, max_size=WORKERS, open=False, timeout=120)


async def begin() -> None:
    await _pool.open(wait=True)


async def work() -> None:
    async with _pool.connection() as connection:
        await connection.execute("select pg_sleep(%s)", (SLEEP_S,))


app = app_of(work, begin)
