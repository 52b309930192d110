"""An asyncio service of k workers that sleep for each request, first come, first served, and that changes as --change says."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

TEXTS = {502: "upstream connection refused: 127.0.0.1:9000", 429: "rate limit exceeded"}

BATCH_EVERY_S, BATCH_S, BATCH_FACTOR = 20.0, 4.0, 3.0
PAUSE_EVERY_S, PAUSE_S = 12.0, 1.5
WARM_UP_S, WARM_UP_FACTOR = 25.0, 4.0
COLD_REQUESTS, COLD_FACTOR = 400, 4.0
STORM_QUEUE, STORM_FACTOR = 6, 2.5


@dataclass(frozen=True)
class Change:
    """`name` happens `at_s` seconds after the first request, for `for_s` seconds."""

    name: str
    at_s: float
    for_s: float

    def is_on(self, now_s: float) -> bool:
        return self.at_s <= now_s < (self.at_s + self.for_s if self.for_s else math.inf)

    def workers(self, workers: int, now_s: float) -> int:
        if not self.is_on(now_s):
            return workers
        return {"capacity_halves": max(1, workers // 2), "capacity_doubles": 2 * workers}.get(self.name, workers)

    def factor(self, now_s: float, served: int, waiting: int, workers: int) -> float:
        """Factor by which a request takes longer than usual. `served`: requests so far; `waiting`: requests in the queue."""
        if self.name == "batch_job":  # a job that runs every 20 s slows the requests
            return BATCH_FACTOR if now_s % BATCH_EVERY_S < BATCH_S else 1.0
        if self.name == "warm_up":
            return 1.0 + (WARM_UP_FACTOR - 1.0) * max(0.0, 1.0 - now_s / WARM_UP_S)
        if self.name == "cold_cache":
            return COLD_FACTOR if served < COLD_REQUESTS else 1.0
        if self.name == "retry_storm":  # clients repeat requests that wait long, so a part of the work is wasted
            return STORM_FACTOR if waiting > STORM_QUEUE * workers else 1.0
        return 1.0

    def pause_s(self, now_s: float) -> float:
        """Seconds for which the whole service stalls, from now on."""
        if self.name != "pauses":
            return 0.0
        return max(0.0, PAUSE_S - now_s % PAUSE_EVERY_S) if now_s >= PAUSE_EVERY_S else 0.0

    def status(self, now_s: float) -> int | None:
        """The status of a reply that is sent at once; None: the request is served."""
        return 502 if self.name == "upstream_dies" and self.is_on(now_s) else None

    def hangs(self, now_s: float) -> bool:
        """Whether work that begins now never ends."""
        return self.name == "upstream_hangs" and self.is_on(now_s)


RATE_RPS = 50.0
BURST = 5


class Limiter:
    """50 requests a second; at most five at once."""

    def __init__(self) -> None:
        self._tokens, self._filled_s = float(BURST), 0.0
        self._free_s = 0.0

    def refuses(self, now_s: float) -> bool:
        """Whether a request that arrives now finds no token."""
        self._tokens = min(BURST, self._tokens + (now_s - self._filled_s) * RATE_RPS)
        self._filled_s = now_s
        if self._tokens < 1:
            return True
        self._tokens -= 1
        return False

    def delay_s(self, now_s: float) -> float:
        """Seconds for which a request that arrives now is delayed."""
        turn_s = max(now_s, self._free_s)
        self._free_s = turn_s + 1 / RATE_RPS
        return turn_s - now_s


class Service:
    """Requests in service and waiting requests."""

    def __init__(self, workers: int, sleep_s: float, change: Change) -> None:
        self.workers, self.sleep_s, self.change = workers, sleep_s, change
        self.limiter = Limiter()
        self.began_s: float | None = None
        self.busy = self.served = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    @property
    def now_s(self) -> float:
        if self.began_s is None:
            self.began_s = time.monotonic()
        return time.monotonic() - self.began_s

    async def work(self) -> int:
        change, now_s = self.change, self.now_s
        status = change.status(now_s)
        if status is not None:
            return status
        if change.name == "refuses_beyond_rate":
            return 429 if self.limiter.refuses(now_s) else 200
        if change.name == "delays_beyond_rate":
            await asyncio.sleep(self.limiter.delay_s(now_s))
            return 200
        await self._take_worker()
        try:
            await self._sleep()
        finally:
            self.busy -= 1
            self._start_waiting()
        self.served += 1
        return 200

    async def _take_worker(self) -> None:
        if self.busy < self.change.workers(self.workers, self.now_s) and not self.waiting:
            self.busy += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        await turn

    def _start_waiting(self) -> None:
        while self.waiting and self.busy < self.change.workers(self.workers, self.now_s):
            turn = self.waiting.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)

    async def _sleep(self) -> None:
        now_s = self.now_s
        if self.change.hangs(now_s):
            await asyncio.sleep(3600)
        await asyncio.sleep(self.sleep_s * self.change.factor(now_s, self.served, len(self.waiting), self.workers))
        await asyncio.sleep(self.change.pause_s(self.now_s))


def handler(service: Service) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Serves one connection: GET requests without bodies, one after the other."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                status = await service.work() if request.startswith(b"GET /work ") else 200
                body = json.dumps({"error": TEXTS[status]} if status in TEXTS else {"waiting": len(service.waiting)})
                head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write((head + body).encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has closed the connection
        finally:
            writer.close()

    return serve


async def main() -> None:
    options = _options()
    service = Service(options.workers, options.sleep_ms / 1000, Change(options.change, options.at_s, options.for_s))
    server = await asyncio.start_server(handler(service), "127.0.0.1", options.port, backlog=1024)
    await server.serve_forever()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--sleep-ms", type=float, default=100.0)
    parser.add_argument("--change", default="none")
    parser.add_argument("--at-s", type=float, default=40.0)
    parser.add_argument("--for-s", type=float, default=0.0)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main())
