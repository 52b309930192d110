"""A small HTTP server whose path says how it misbehaves. In plain threads of the test's process, which nothing patches."""

from __future__ import annotations

import contextlib
import functools
import socket
import ssl
import struct
import subprocess
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import brotli

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
TIMEOUT_S = 30.0

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BROKEN_OFF = {
    "/half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "/half-chunk": _CHUNKED + b"64\r\nonly this",
    "/half-chunks": _CHUNKED + b"5\r\nfirst\r\n",
    "/half-headers": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
    "/half-header": b"HTTP/1.1 200 OK\r\nContent-Le",
    "/garbage": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "/garbage-gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nno gzip!",
    "/garbage-chunk": _CHUNKED + b"not a length\r\nfirst\r\n0\r\n\r\n",
}
"""What is sent before the connection is closed in order."""


BOMB_BYTES = 300_000_000


@functools.cache
def _bomb(encoding: str) -> bytes:
    """300 MB of zeros, in some 300 KB of gzip or less."""
    if encoding == "br":
        packed: bytes = brotli.compress(bytes(BOMB_BYTES), quality=1)
        return packed
    pack = zlib.compressobj(1, wbits=31 if encoding == "gzip" else 15)
    return b"".join(pack.compress(bytes(1_000_000)) for _ in range(BOMB_BYTES // 1_000_000)) + pack.flush()


class Server:
    """Answers on loopback until closed; counts connections and requests."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.connections = 0
        self.requests: Counter[str] = Counter()
        """By path."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

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

    def _serve(self, accepted: socket.socket) -> None:
        with accepted, contextlib.suppress(OSError):
            connection = accepted if self.tls is None else self.tls.wrap_socket(accepted, server_side=True)
            head = b""
            while chunk := connection.recv(65536):
                head += chunk
                if head.startswith(b"\x16\x03"):  # TLS to a plain port: servers answer in plain text that they do not understand
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                    break
                if b"\r\n\r\n" in head and not self._answer(connection, head.decode("latin-1")):
                    break
                head = b""
            if connection is not accepted:
                connection.close()
        self._open.discard(accepted)

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
            case path if path in BROKEN_OFF:
                connection.sendall(BROKEN_OFF[path])
                return False
            case "/every-other-reset":
                if self.requests[target.path] % 2 == 0:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return False
            case "/hang":
                self._ended.wait(TIMEOUT_S)
                return False
            case "/redirect":
                to = unquote(parse_qs(target.query)["to"][0])
                connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())
                return True
            case "/bomb":
                encoding = target.query or "gzip"
                body = _bomb(encoding)
                head_lines = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
                connection.sendall(head_lines.encode() + body)
                return True
            case "/endless":
                connection.sendall(_CHUNKED)
                while not self._ended.is_set():
                    connection.sendall(b"10000\r\n" + bytes(65_536) + b"\r\n")
                return False
            case "/exhausted":
                body = b'{"error": "upstream pool exhausted", "session_token": "abc.def"}'
                head_lines = f"HTTP/1.1 503 Told\r\nSet-Cookie: sid=s3cret\r\nContent-Length: {len(body)}\r\n\r\n"
                connection.sendall(head_lines.encode())
                time.sleep(0.05)
                connection.sendall(body)
                return True
            case "/connections":
                head_lines = (
                    f"HTTP/1.1 200 OK\r\nX-Connections: {self.connections}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                connection.sendall(head_lines.encode())
                return False
            case "/closed-later":
                connection.sendall(OK)
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
def server(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server for a while."""
    running = Server(tls)
    try:
        yield running
    finally:
        running.close()


def closed_port() -> int:
    """A port of loopback on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def full_backlog() -> Iterator[str]:
    """The URL of a listener that accepts nothing and whose queue is full: the kernel drops what comes."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as waiting:
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def self_signed(folder: Path) -> ssl.SSLContext:
    """TLS with a certificate that nobody has reason to trust."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True, timeout=30,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
