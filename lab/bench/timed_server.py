"""A server that waits 5 ms for each request and reports its own latencies: from reading a request to writing its reply. One
thread per connection; GET /figures returns the latencies since the last call."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time

DELAY_S = 0.005
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

_latencies_ms: list[float] = []


def _serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while data := connection.recv(65_536):
            if data.startswith(b"GET /figures"):
                body = json.dumps(_latencies_ms).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                _latencies_ms.clear()
                continue
            began = time.perf_counter()
            time.sleep(DELAY_S)
            connection.sendall(REPLY)
            _latencies_ms.append((time.perf_counter() - began) * 1000)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
