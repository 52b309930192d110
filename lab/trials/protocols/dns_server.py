"""A DNS server that works on k questions at a time, each for s; the others wait, at most MOST of them.

`python dns_server.py PORT --workers K --sleep-ms S [--most MOST] [--full servfail|drop|truncate]`: what happens to a question
beyond. It listens by TCP, too, as name servers do, and answers nothing there.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


class Names(asyncio.DatagramProtocol):
    def __init__(self, options: argparse.Namespace) -> None:
        self._options, self._places, self._inside = options, asyncio.Semaphore(options.workers), 0
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        task = asyncio.ensure_future(self._answer(dns.message.from_wire(data), address))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, question: dns.message.Message, address: Any) -> None:
        reply = dns.message.make_response(question)
        if self._inside >= self._options.workers + self._options.most:
            if self._options.full == "drop":
                return
            if self._options.full == "truncate":
                reply.flags |= dns.flags.TC
            else:
                reply.set_rcode(dns.rcode.SERVFAIL)
        else:
            self._inside += 1
            async with self._places:
                await asyncio.sleep(self._options.sleep_ms / 1000)
            self._inside -= 1
            reply.answer = [dns.rrset.from_text(question.question[0].name, 60, "IN", "A", "192.0.2.1")]
        self._transport.sendto(reply.to_wire(), address)


async def serve(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: Names(options), ("127.0.0.1", options.port))
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", options.port)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--sleep-ms", type=float, default=100.0)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--full", choices=("servfail", "drop", "truncate"), default="servfail")
    asyncio.run(serve(parser.parse_args()))
