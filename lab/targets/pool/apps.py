"""The ASGI application of services whose requests wait in Python, in PostgreSQL or in Redis; the variable SERVICE names one.

/work replies after its work, any other path at once. Some services change: AT_S after the first request, for FOR_S; 0: for good.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from databases import DSN, REDIS_SOCKET, SERVICE_DSN

WORKERS, SLEEP_S = int(os.environ.get("WORKERS", "1")), float(os.environ.get("SLEEP_S", "0.1"))
AT_S, FOR_S = float(os.environ.get("AT_S", "0")), float(os.environ.get("FOR_S", "0")) or 3600.0
LOCK = "select n from counter where id = 1 for update"


class Semaphore:
    """An asyncio semaphore serves k requests at a time. The base of the others."""

    def __init__(self) -> None:
        self._semaphore = asyncio.Semaphore(WORKERS)
        self._change: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Called once, in the server's loop."""

    async def work(self) -> str | None:
        """A request; returns its error."""
        async with self._semaphore:
            await asyncio.sleep(SLEEP_S)
        return None

    async def change(self) -> None:
        """Called once, AT_S after the first request."""

    async def request(self) -> str | None:
        """A request; the first one starts the time of the change."""
        if self._change is None:
            self._change = asyncio.create_task(self._later())
        return await self.work()

    async def _later(self) -> None:
        await asyncio.sleep(AT_S)
        await self.change()


class Pool(Semaphore):
    """k connections to PostgreSQL; each request sleeps in one of them."""

    least, most = WORKERS, WORKERS

    async def begin(self) -> None:
        from psycopg_pool import AsyncConnectionPool

        self.pool = AsyncConnectionPool(DSN, min_size=self.least, max_size=self.most, open=False, timeout=120)
        await self.pool.open(wait=True)

    async def work(self) -> str | None:
        async with self.pool.connection() as connection:
            await self.use(connection)
        return None

    async def use(self, connection: Any) -> None:
        await connection.execute("select pg_sleep(%s)", (SLEEP_S,))


class LeakingPool(Pool):
    """The change: half of the connections are taken and not returned."""

    async def change(self) -> None:
        taken = [await self.pool.getconn() for _ in range(WORKERS // 2)]
        await asyncio.sleep(FOR_S)
        for connection in taken:
            await self.pool.putconn(connection)


class Row(Pool):
    """Each request updates one row and keeps its lock for s; the others wait for the lock, on up to 90 connections."""

    least, most = 4, 90
    statement = "update counter set n = n + 1 where id = 1"

    async def begin(self) -> None:
        await super().begin()
        async with self.pool.connection() as connection:
            await connection.execute("create table if not exists counter (id int primary key, n bigint)")
            await connection.execute("insert into counter values (1, 0) on conflict do nothing")

    async def use(self, connection: Any) -> None:
        await connection.execute(self.statement)
        await super().use(connection)


class HeldRow(Row):
    """Each request locks one row and keeps it for s; up to k wait for it. The change: another session keeps the lock."""

    least, most = WORKERS, WORKERS
    statement = LOCK

    async def change(self) -> None:
        import psycopg

        async with await psycopg.AsyncConnection.connect(DSN) as connection:
            await connection.execute(LOCK)
            await connection.execute("select pg_sleep(%s)", (FOR_S,))


class PerRequest(Semaphore):
    """Each request sleeps in a connection of its own, and fails with PostgreSQL's error if there are too many."""

    async def work(self) -> str | None:
        import psycopg

        try:
            async with await psycopg.AsyncConnection.connect(SERVICE_DSN) as connection:
                await connection.execute("select pg_sleep(%s)", (SLEEP_S,))
        except psycopg.OperationalError as error:
            return str(error)
        return None


class Tokens(Semaphore):
    """k tokens in a list of Redis; each request takes one for s."""

    async def begin(self) -> None:
        from redis.asyncio import BlockingConnectionPool, Redis

        pool = BlockingConnectionPool.from_url(f"unix://{REDIS_SOCKET}", max_connections=1_000, timeout=120)
        self.redis = Redis(connection_pool=pool)
        await self.redis.delete("tokens")
        await self.redis.rpush("tokens", *range(WORKERS))

    async def work(self) -> str | None:
        _, token = await self.redis.blpop("tokens")
        await asyncio.sleep(SLEEP_S)
        await self.redis.rpush("tokens", token)
        return None


SERVICES = {
    "uvicorn": Semaphore,
    "postgresql-pool": Pool,
    "postgresql-leaking-pool": LeakingPool,
    "postgresql-row": Row,
    "postgresql-held-row": HeldRow,
    "postgresql-per-request": PerRequest,
    "redis": Tokens,
}
service = SERVICES[os.environ.get("SERVICE", "uvicorn")]()


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await service.begin()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        return await send({"type": "lifespan.shutdown.complete"})
    error = await service.request() if scope["path"] == "/work" else None
    body, status = (error or "ok\n").encode(), 200 if error is None else 500
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
