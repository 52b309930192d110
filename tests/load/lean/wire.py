"""A server that sends the bytes of a case in pieces: the path is `/CASE/CUT`. For any other path it sends `here`."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections.abc import Iterator
from urllib.parse import unquote

from kit.servers import conversations

from .cases import CASES

PAUSE_S = 0.002
"""Between pieces: long enough that they arrive one by one, most of the time."""


@contextlib.contextmanager
def wire() -> Iterator[str]:
    """The URL of such a server, until the end of the `with` block."""
    numbers = itertools.count(1)

    def converse(connection: socket.socket) -> None:
        number = next(numbers)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (head := connection.recv(65_536)) and _answer(connection, head.split(b" ", 2)[1].decode(), number):
            pass

    with conversations(converse) as port:
        yield f"http://127.0.0.1:{port}"


def _answer(connection: socket.socket, path: str, number: int) -> bool:
    """Whether the connection stays open."""
    if path == "/number":  # of this connection
        body = str(number).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        return True
    name, _, cut = unquote(path).strip("/").partition("/")
    case = CASES.get(name)
    if case is None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere")
        return True
    for piece in pieces(case.sent, cut):
        connection.sendall(piece)
        if cut != "whole":
            time.sleep(PAUSE_S)
    return not case.closes


def pieces(sent: bytes, cut: str) -> Iterator[bytes]:
    """`whole`, `bytes` one by one, or the position of one cut."""
    if cut == "bytes":
        return (sent[at : at + 1] for at in range(len(sent)))
    at = len(sent) if cut == "whole" else int(cut)
    return iter([piece for piece in (sent[:at], sent[at:]) if piece])
