"""An asyncio semaphore serves k requests at a time."""

import asyncio

from asgi import SLEEP_S, WORKERS, app_of

_semaphore = asyncio.Semaphore(WORKERS)


async def work() -> None:
    async with _semaphore:
        await asyncio.sleep(SLEEP_S)


app = app_of(work)
