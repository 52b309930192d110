"""An asyncio service of k workers that sleep for each request, first come, first served, and that changes as --change says."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable

from changes import Change
from limiter import Limiter

TEXTS = {502: "upstream connection refused: 127.0.0.1:9000", 429: "rate limit exceeded"}


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
        """Seconds since the first request."""
        if self.began_s is None:
            self.began_s = time.monotonic()
        return time.monotonic() - self.began_s

    async def work(self) -> int:
        """One request; returns its status."""
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
