"""A small HTTP server whose path says how it misbehaves. In plain threads of the test's process, which nothing patches."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from urllib.parse import parse_qs, unquote, urlsplit

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
PATIENCE_S = 30.0


class Server:
    """Answers on loopback until closed; counts connections and requests."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests: Counter[str] = Counter()
        """By path."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            head = b""
            while chunk := connection.recv(65536):
                head += chunk
                if b"\r\n\r\n" in head and not self._answer(connection, head.decode("latin-1")):
                    break
                head = b""
        self._open.discard(connection)

    def _answer(self, connection: socket.socket, head: str) -> bool:
        """Whether the connection stays open."""
        target = urlsplit(head.split(" ", 2)[1])
        self.requests[target.path] += 1
        match target.path:
            case "/reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            case "/silence":
                return False
            case "/half":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
                return False
            case "/garbage":
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
                return False
            case "/hang":
                self._ended.wait(PATIENCE_S)
                return False
            case "/redirect":
                to = unquote(parse_qs(target.query)["to"][0])
                connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())
                return True
            case "/connections":
                head_lines = (
                    f"HTTP/1.1 200 OK\r\nX-Connections: {self.connections}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                connection.sendall(head_lines.encode())
                return False
            case "/sticky":
                connection.sendall(OK)  # whatever was asked about the connection
                return True
        if target.path.strip("/").isdigit():
            connection.sendall(f"HTTP/1.1 {target.path.strip('/')} Told\r\nContent-Length: 2\r\n\r\nno".encode())
            return True
        closing = "connection: close" in head.lower()
        connection.sendall(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") if closing else OK)
        return not closing


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """A server for a while."""
    running = Server()
    try:
        yield running
    finally:
        running.close()


def closed_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
