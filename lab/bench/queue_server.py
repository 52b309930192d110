"""A real server that is an M/M/1, M/D/1 or M/M/4 queue: requests wait for one of its virtual servers, first come, first served.

A service time is drawn at each arrival, and the reply is sent when the virtual server has finished, so the capacity does not
depend on the machine's speed. GET /idle is answered after the mean service time of one virtual server, without a queue. GET
/waits returns the waiting times since the last call as JSON: their number and their sum.

    python -m lab.bench.queue_server PORT M/M/4 200
"""

from __future__ import annotations

import asyncio
import heapq
import json
import random
import sys
from typing import cast

HEAD = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n"
REPLY = HEAD.format(2).encode() + b"ok"
SEED = 11


class Queue:
    """The virtual servers."""

    def __init__(self, kind: str, capacity_per_s: float) -> None:
        _, self._service, servers = kind.split("/")
        self._free_s = [0.0] * int(servers)
        """When each virtual server has finished all requests so far, a heap."""
        self.service_s = len(self._free_s) / capacity_per_s
        self._random = random.Random(SEED)
        self._arrivals, self._waits_s = 0, 0.0

    def ends_s(self, now_s: float) -> float:
        """When a request that arrives now has been served."""
        drawn_s = self.service_s if self._service == "D" else self._random.expovariate(1 / self.service_s)
        begins_s = max(now_s, self._free_s[0])
        self._arrivals += 1
        self._waits_s += begins_s - now_s
        heapq.heapreplace(self._free_s, begins_s + drawn_s)
        return begins_s + drawn_s

    def waits(self) -> bytes:
        """The reply to /waits."""
        body = json.dumps({"arrivals": self._arrivals, "waits_s": self._waits_s})
        self._arrivals, self._waits_s = 0, 0.0
        return (HEAD.format(len(body)) + body).encode()


class Connection(asyncio.Protocol):
    """One connection; a client sends one request at a time."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET /waits"):
            self._transport.write(self._queue.waits())
            return
        loop = asyncio.get_running_loop()
        is_idle = data.startswith(b"GET /idle")
        ends_s = loop.time() + self._queue.service_s if is_idle else self._queue.ends_s(loop.time())
        loop.call_at(ends_s, self._transport.write, REPLY)


async def main(port: int, kind: str, capacity_per_s: float) -> None:
    queue = Queue(kind, capacity_per_s)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(queue), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
