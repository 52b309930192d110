"""HTTP and TCP servers of this process, for the time of a `with` block."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    """With its query."""
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What it gets."""

    status: int = 200
    body: bytes = b"ok"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/plain"})


@dataclass
class HttpServer:
    """A running server, and what it was asked so far."""

    port: int
    requests: list[Request]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def http_server(answer: Callable[[Request], Reply] = lambda request: Reply()) -> Iterator[HttpServer]:
    """A server on loopback that answers every request by this function, each connection in a thread of its own."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __getattr__(self, name: str) -> Callable[[], None]:
            if name.startswith("do_"):
                return self._reply
            raise AttributeError(name)

        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Request(self.command, self.path, dict(self.headers), body)
            requests.append(request)
            reply = answer(request)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that has gone is no fault."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield HttpServer(server.server_address[1], requests)
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def tcp_server(
    respond: Callable[[socket.socket, bytes], object] | None = None, *, address: str = "127.0.0.1", backlog: int | None = None
) -> Iterator[int]:
    """The port of a listener. A thread accepts one connection after the other, reads what a client sent first, calls
    `respond`, and closes the connection; without `respond` nobody accepts."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family, backlog=backlog) as listener:
        thread = threading.Thread(target=_accept, args=(listener, respond))
        if respond is not None:
            thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            if respond is not None:
                thread.join()


@contextmanager
def conversations(converse: Callable[[socket.socket], object]) -> Iterator[int]:
    """The port of a listener. Each connection is handed to `converse` in a thread of its own, and closed after it."""

    def converse_and_close(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            converse(connection)

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=converse_and_close, args=listener.accept()[:1], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, respond: Callable[[socket.socket, bytes], object]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                respond(connection, connection.recv(65_536))
