"""A real service with real users as a world for finders, by an asyncio client that is independent of capexplorer's."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import httpx
import numpy as np

from .world import Window

TIMEOUT_S = 30.0


class Reply(NamedTuple):
    """One request that ended."""

    ended_s: float
    took_ms: float
    ok: bool


class LiveWorld:
    """Users of one URL in real time, on an event loop in a thread of its own."""

    def __init__(self, url: str, think_s: float) -> None:
        self._url, self._think_s = url, think_s
        self._began_s = time.monotonic()
        self._replies: list[Reply] = []
        self._seen = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = httpx.AsyncClient(timeout=TIMEOUT_S, limits=httpx.Limits(max_connections=None), trust_env=False)

    @property
    def users(self) -> int:
        return len(self._tasks)

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._began_s

    def step(self, users: int) -> None:
        """Set the number of users. A user who leaves abandons its request."""
        asyncio.run_coroutine_threadsafe(self._to(users), self._loop).result()

    async def _to(self, users: int) -> None:
        while len(self._tasks) < users:
            self._tasks.append(self._loop.create_task(self._user()))
        leaving, self._tasks = self._tasks[users:], self._tasks[:users]
        for task in leaving:
            task.cancel()

    async def _user(self) -> None:
        await asyncio.sleep(random.uniform(0, 1))
        while True:
            began_s = time.monotonic()
            try:
                ok = (await self._client.get(self._url)).is_success
            except httpx.HTTPError:
                ok = False
            ended_s = time.monotonic()
            self._replies.append(Reply(ended_s, (ended_s - began_s) * 1000, ok))
            await asyncio.sleep(random.expovariate(1 / self._think_s))

    def watch(self, seconds: int) -> Window:
        """Let that many seconds pass, in real time, and return the figures of the requests that ended in them."""
        time.sleep(seconds)  # the policy sets the length of its measurements
        replies, self._seen = self._replies[self._seen :], len(self._replies)
        took_ms = np.array([reply.took_ms for reply in replies if reply.ok])
        return Window(
            users=self.users,
            seconds=seconds,
            goodput_rps=len(took_ms) / seconds,
            failure_ratio=1 - len(took_ms) / len(replies) if replies else 0.0,
            mean_ms=float(took_ms.mean()) if len(took_ms) else None,
            p95_ms=float(np.quantile(took_ms, 0.95)) if len(took_ms) else None,
        )

    async def _close(self) -> None:
        await self._to(0)
        await self._client.aclose()


@contextmanager
def live_world(url: str, think_s: float) -> Iterator[LiveWorld]:
    """A world without users; its users and its thread end with the block."""
    world = LiveWorld(url, think_s)
    try:
        yield world
    finally:
        asyncio.run_coroutine_threadsafe(world._close(), world._loop).result()
        world._loop.call_soon_threadsafe(world._loop.stop)
        world._thread.join()
        world._loop.close()
