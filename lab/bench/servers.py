"""Real servers of known latency: `python -m lab.bench.servers stalling|queue PORT [KIND CAPACITY]`.

- `stalling` replies after 20 ms, except during stalls of 200 ms every 2 s.
- `queue` is an M/M/1, M/D/1 or M/M/4 queue (`M/M/4 200`): requests wait for one of its virtual servers, first come, first
  served. A service time is drawn at each arrival, and the reply is sent when the virtual server has finished, so the capacity
  does not depend on the machine's speed. GET /idle is answered after the mean service time of one virtual server, without a
  queue. GET /waits returns the waiting times since the last call as JSON: their number and their sum."""

from __future__ import annotations

import asyncio
import heapq
import json
import random
import sys
from collections.abc import Callable
from typing import cast

HEAD = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n"
REPLY = HEAD.format(2).encode() + b"ok"
SERVICE_S = 0.020
STALL_S, EVERY_S = 0.2, 2.0
SEED = 11

Answer = Callable[[bytes, float], tuple[float, bytes]]
"""When the reply to a request is sent, and the reply; its arguments are the request and the loop's time."""


def expected_ms(quantile: float) -> float:
    """A quantile of the time from plan with `stalling`: SERVICE_S and, for a share STALL_S / EVERY_S of the replies, the rest of
    a stall, which is uniform from 0 to STALL_S."""
    return 1000 * (SERVICE_S + max(0.0, STALL_S - (1 - quantile) * EVERY_S))


def stalling(data: bytes, now_s: float) -> tuple[float, bytes]:
    ready_s = now_s + SERVICE_S
    return ready_s + max(0.0, STALL_S - ready_s % EVERY_S), REPLY


class Queue:
    def __init__(self, kind: str, capacity_per_s: float) -> None:
        _, self._service, servers = kind.split("/")
        self._free_s = [0.0] * int(servers)
        """When each virtual server has finished all requests so far, a heap."""
        self._service_s = len(self._free_s) / capacity_per_s
        self._random = random.Random(SEED)
        self._arrivals, self._waits_s = 0, 0.0

    def answer(self, data: bytes, now_s: float) -> tuple[float, bytes]:
        if data.startswith(b"GET /waits"):
            body = json.dumps({"arrivals": self._arrivals, "waits_s": self._waits_s})
            self._arrivals, self._waits_s = 0, 0.0
            return now_s, (HEAD.format(len(body)) + body).encode()
        if data.startswith(b"GET /idle"):
            return now_s + self._service_s, REPLY
        drawn_s = self._service_s if self._service == "D" else self._random.expovariate(1 / self._service_s)
        begins_s = max(now_s, self._free_s[0])
        self._arrivals += 1
        self._waits_s += begins_s - now_s
        heapq.heapreplace(self._free_s, begins_s + drawn_s)
        return begins_s + drawn_s, REPLY


class Connection(asyncio.Protocol):
    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        at_s, reply = self._answer(data, loop.time())
        loop.call_at(at_s, self._transport.write, reply)


async def serve(port: int, answer: Answer) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Connection(answer), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    name, port = sys.argv[1], int(sys.argv[2])
    asyncio.run(serve(port, stalling if name == "stalling" else Queue(sys.argv[3], float(sys.argv[4])).answer))
