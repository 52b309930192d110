"""A server that replies after 20 ms, except during stalls of 200 ms every 2 s, and the resulting percentiles of response
times."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

SERVICE_S = 0.020
STALL_S, EVERY_S = 0.2, 2.0
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def expected_ms(quantile: float) -> float:
    """A quantile of the time from plan: SERVICE_S and, for a share STALL_S / EVERY_S of the replies, the rest of a stall,
    which is uniform from 0 to STALL_S."""
    rest_of_stall_s = STALL_S - (1 - quantile) * EVERY_S
    return 1000 * (SERVICE_S + max(0.0, rest_of_stall_s))


class Connection(asyncio.Protocol):
    """One connection; a client sends one request at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        ready_s = loop.time() + SERVICE_S
        into_s = ready_s % EVERY_S
        loop.call_at(ready_s + max(0.0, STALL_S - into_s), self._transport.write, REPLY)


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
