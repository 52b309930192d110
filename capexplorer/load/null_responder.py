"""A server that only answers: the latency measured against it is the client's own overhead.

Run as a process of its own (standard library only), so that it shares neither the interpreter nor the gevent hub with the client.
"""

from __future__ import annotations

import selectors
import socket
import sys

REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"


def serve(port: int) -> None:
    """Answer every request head on 127.0.0.1:port until a signal ends it."""
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    listener.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ)
            else:
                _answer(key.fileobj, selector)  # type: ignore[arg-type]


def _answer(connection: socket.socket, selector: selectors.BaseSelector) -> None:
    try:
        data = connection.recv(65536)
        if data:
            connection.sendall(REPLY * data.count(b"\r\n\r\n"))
            if b"HTTP/1.0" not in data:
                return
    except OSError:
        pass
    selector.unregister(connection)
    connection.close()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
