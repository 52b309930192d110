"""A pool of known size behind several protocols: k requests at a time, each for s, all others wait in order of arrival.

`sockets`: Socket.IO, and WebSocket at any other path. `graphql`: the operations Order and Orders. `grpc`: /sample.Pool/Work and
/sample.Pool/Stream, whose messages are bytes. `tcp`: a line for each line. Threads that sleep: it uses almost no CPU, so its
capacity is k / s requests a second.

Each protocol says in its own words that it is busy (`--fault busy`: as many requests wait as may be served at a time), or that a
fifth of the requests fail: an error of the service, a reply that takes 20 s, or a connection that is closed in its place.
"""

from __future__ import annotations

import argparse
import itertools
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, Literal

Fault = Literal["none", "busy", "error", "slow", "close"]
FAULTS: tuple[Fault, ...] = ("none", "busy", "error", "slow", "close")

SLOW_S = 20.0
FAULTY_EACH = 5
"""Of so many requests one fails."""


class Busy(Exception):
    """Too many requests wait."""


class Close(Exception):
    """The connection is to be closed in place of a reply."""


class Pool:
    """Serves `size` requests at a time."""

    def __init__(self, size: int, work_s: float, fault: Fault) -> None:
        self._size, self._work_s, self._fault = size, work_s, fault
        self._tokens = threading.Semaphore(size)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._inside = 0

    def work(self, parts: int = 1) -> None:
        """Serve one request, or one of `parts` parts of it. Raises Busy, Close, or RuntimeError: the service's own fault."""
        with self._lock:
            if self._fault == "busy" and self._inside >= 2 * self._size:
                raise Busy
            self._inside += 1
        try:
            with self._tokens:
                time.sleep(self._work_s / parts)
        finally:
            with self._lock:
                self._inside -= 1
        if next(self._numbers) % (FAULTY_EACH * parts) == 0:
            self._fail()

    def _fail(self) -> None:
        if self._fault == "error":
            raise RuntimeError("the store does not answer")
        if self._fault == "close":
            raise Close
        if self._fault == "slow":
            time.sleep(SLOW_S)


# -- tcp


def serve_tcp(pool: Pool, port: int) -> None:
    """A line for each line."""

    class Lines(StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                try:
                    pool.work()
                except (Busy, RuntimeError) as error:
                    line = b"busy\n" if isinstance(error, Busy) else b"error\n"
                except Close:
                    break
                self.wfile.write(line)

    class Server(ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True
        request_queue_size = 1024

        def handle_error(self, *_: object) -> None:
            """A client that has gone is no fault."""

    with Server(("127.0.0.1", port), Lines) as server:
        server.serve_forever()


# -- grpc


def serve_grpc(pool: Pool, port: int) -> None:
    """Messages are bytes, so that no generated code is needed."""
    import grpc

    def work(message: bytes, context: Any, parts: int = 1) -> bytes:
        try:
            pool.work(parts)
        except Busy:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "as many requests wait as may")
        except Close:
            context.abort(grpc.StatusCode.UNAVAILABLE, "going away")
        except RuntimeError as error:
            context.abort(grpc.StatusCode.INTERNAL, str(error))
        return message

    def stream(message: bytes, context: Any) -> Any:
        for _ in range(PARTS):
            yield work(message, context, PARTS)

    methods = {"Work": grpc.unary_unary_rpc_method_handler(work), "Stream": grpc.unary_stream_rpc_method_handler(stream)}
    server = grpc.server(ThreadPoolExecutor(1000))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("sample.Pool", methods),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


PARTS = 5
"""Messages of a stream; together they take as long as one request."""


# -- graphql


def serve_graphql(pool: Pool, port: int) -> None:
    """Any POST; connections are kept."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(_graphql(pool, body.get("operationName"))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """No line for each request."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 1024

    Server(("127.0.0.1", port), Handler).serve_forever()


def _graphql(pool: Pool, operation: str | None) -> dict[str, Any]:
    """Two operations, an order and many. Errors are in a reply whose status is 200."""
    if operation not in ("Order", "Orders"):
        return _errors("GRAPHQL_VALIDATION_FAILED", f"no operation {operation}")
    try:
        pool.work()
    except Busy:
        return _errors("RATE_LIMITED", "as many requests wait as may")
    except (RuntimeError, Close) as error:
        return _errors("INTERNAL_SERVER_ERROR", str(error) or "going away")
    return {"data": {"order": {"id": "7"}} if operation == "Order" else {"orders": []}}


def _errors(code: str, message: str) -> dict[str, Any]:
    return {"data": None, "errors": [{"message": message, "extensions": {"code": code}}]}


# -- sockets: WebSocket and Socket.IO


def serve_sockets(pool: Pool, port: int) -> None:
    """One WSGI application, each connection in a thread of its own."""
    from socketio import Server, WSGIApp
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: object) -> None:
            """No line for each connection."""

    sockets = Server(async_mode="threading", logger=False)

    @sockets.on("work")  # type: ignore[untyped-decorator]
    def work(sid: str, message: Any) -> Any:
        try:
            pool.work()
        except Busy:
            return {"error": "busy"}
        except Close:
            sockets.disconnect(sid)
        return {"message": message}

    application = WSGIApp(sockets, lambda environ, start: _converse(pool, environ))
    make_server("127.0.0.1", port, application, threaded=True, request_handler=Handler).serve_forever()


def _converse(pool: Pool, environ: dict[str, Any]) -> None:
    """Each message of a WebSocket comes back. A connection is closed with the code for why."""
    from simple_websocket import ConnectionClosed, Server

    connection = Server.accept(environ)
    try:
        while True:
            message = connection.receive()
            try:
                pool.work()
                connection.send(message)
            except Busy:
                connection.close(1013, "as many requests wait as may")
            except RuntimeError as error:
                connection.close(1011, str(error))
            except Close:
                connection.sock.shutdown(socket.SHUT_RDWR)
    except ConnectionClosed:
        raise ConnectionError from None  # werkzeug's word for a connection that has no HTTP reply


SERVERS = {"sockets": serve_sockets, "graphql": serve_graphql, "grpc": serve_grpc, "tcp": serve_tcp}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--protocol", choices=SERVERS, default="sockets")
    parser.add_argument("--pool", type=int, default=5, help="requests that are served at a time")
    parser.add_argument("--work-ms", type=float, default=100.0, help="how long each of them takes")
    parser.add_argument("--fault", choices=FAULTS, default="none")
    options = parser.parse_args()
    SERVERS[options.protocol](Pool(options.pool, options.work_ms / 1000, options.fault), options.port)


if __name__ == "__main__":
    main()
