"""k tokens in a list of Redis; each request takes one for s."""

import asyncio

from asgi import SLEEP_S, WORKERS, app_of
from databases import REDIS_SOCKET
from redis.asyncio import BlockingConnectionPool, Redis

_redis = Redis(connection_pool=BlockingConnectionPool.from_url(f"unix://{REDIS_SOCKET}", max_connections=1_000, timeout=120))


async def begin() -> None:
    await _redis.delete("tokens")
    await _redis.rpush("tokens", *range(WORKERS))


async def work() -> None:
    _, token = await _redis.blpop("tokens")
    await asyncio.sleep(SLEEP_S)
    await _redis.rpush("tokens", token)


app = app_of(work, begin)
