"""A server that plays what a request asks for: the pieces of a stream, when each is sent, how it is framed and how it ends."""

from __future__ import annotations

import json
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import brotli
from kit.servers import conversations

NOW = "{now}"
"""In a piece: replaced by `time.perf_counter` at which it is sent, which is the same clock in all processes of a machine."""


@contextmanager
def playing() -> Iterator[str]:
    """The URL of the server. A request's body is the JSON of what to play: `pieces`, a list of (ms to wait before, text);
    `frame`: chunked, length or close; `encoding`: gzip, deflate, raw-deflate, br or none; `status`; `ends`: False: the connection
    is closed in mid-stream; `bytes_a_send`: of each piece."""
    with conversations(_converse) as port:
        yield f"http://127.0.0.1:{port}"


def _converse(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received = b""
    while True:
        while b"\r\n\r\n" not in received:
            if not (more := connection.recv(65_536)):
                return
            received += more
        head, _, received = received.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
        while len(received) < length:
            received += connection.recv(65_536)
        asked, received = json.loads(received[:length]), received[length:]
        if not _play(connection, asked):
            return


def _play(connection: socket.socket, asked: dict[str, Any]) -> bool:
    """Whether the connection stays open."""
    frame, encoding = asked.get("frame", "chunked"), asked.get("encoding", "")
    pack, ends = _packing(encoding)
    lines = [f"HTTP/1.1 {asked.get('status', 200)} Played", "Content-Type: text/event-stream"]
    lines += [f"Content-Encoding: {encoding.removeprefix('raw-')}"] if encoding else []
    if frame == "length":
        lines.append(f"Content-Length: {sum(len(text.encode()) for _, text in asked['pieces'])}")
    else:
        lines.append("Transfer-Encoding: chunked" if frame == "chunked" else "Connection: close")
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    for wait_ms, text in asked["pieces"]:
        time.sleep(wait_ms / 1000)
        _send(connection, pack(text.replace(NOW, repr(time.perf_counter())).encode()), frame, asked.get("bytes_a_send"))
    if not asked.get("ends", True):
        return False
    _send(connection, ends(), frame, None)
    if frame == "chunked":
        connection.sendall(b"0\r\n\r\n")
    return bool(frame != "close")


def _packing(encoding: str) -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    if not encoding:
        return lambda data: data, lambda: b""
    if encoding == "br":
        brotlied = brotli.Compressor(quality=1)
        return lambda data: brotlied.process(data) + brotlied.flush(), brotlied.finish
    zipped = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "raw-deflate": -15}[encoding])
    return lambda data: zipped.compress(data) + zipped.flush(zlib.Z_SYNC_FLUSH), zipped.flush


def _send(connection: socket.socket, data: bytes, frame: str, bytes_a_send: int | None) -> None:
    if not data:
        return
    whole = b"%x\r\n%b\r\n" % (len(data), data) if frame == "chunked" else data
    step = bytes_a_send or len(whole)
    for at in range(0, len(whole), step):
        connection.sendall(whole[at : at + step])
        if bytes_a_send:
            time.sleep(0.002)  # so that each is a packet of its own
