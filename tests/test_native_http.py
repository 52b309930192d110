"""`native_http.get`: one GET from a native thread, bounded in time and bytes; no redirect, proxy, host name or compression."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable

import httpcore
import pytest
from fresh_process import run_in_fresh_process
from kit.servers import tcp_server

from capexplorer import native_http

MOST_BYTES = 10_000


def sending(response: bytes) -> Callable[[socket.socket, bytes], None]:
    """An answer that sends these bytes and closes the connection."""
    return lambda connection, _: connection.sendall(response)


def fetched(url: str, timeout_s: float = 30.0) -> bytes:
    with native_http.get(url, timeout_s=timeout_s, most_bytes=MOST_BYTES) as answer:
        return b"".join(answer.body)


def test_the_request_accepts_no_compression_and_closes_the_connection() -> None:
    requests = []

    def answer(connection: socket.socket, request: bytes) -> None:
        requests.append(request)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with tcp_server(answer) as port:
        assert fetched(f"http://127.0.0.1:{port}/path?x=1") == b"ok"
    head, *fields = requests[0].decode().strip().split("\r\n")
    headers = dict(field.lower().split(": ") for field in fields)
    assert head == "GET /path?x=1 HTTP/1.1"
    assert headers["host"] == f"127.0.0.1:{port}"
    assert headers["connection"] == "close"
    assert headers["accept-encoding"] == "identity"


def test_the_chunks_of_a_body_are_joined() -> None:
    with tcp_server(sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n3\r\npth\r\n0\r\n\r\n")) as port:
        assert fetched(f"http://127.0.0.1:{port}/") == b"depth"


def test_an_ipv6_address_can_be_requested() -> None:
    with tcp_server(sending(b"HTTP/1.1 200 OK\r\n\r\nsix"), address="::1") as port:
        assert fetched(f"http://[::1]:{port}/") == b"six"


def test_a_compressed_body_is_not_decompressed() -> None:
    compressed = gzip.compress(b"0" * 1_000_000)
    with tcp_server(sending(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + compressed)) as port:
        assert fetched(f"http://127.0.0.1:{port}/") == compressed


@pytest.mark.parametrize("location", [b"/elsewhere", b"http://192.0.2.1/", b"http://host:port/", b"\x01"])
def test_a_redirect_is_returned_and_not_followed(location: bytes) -> None:
    with (
        tcp_server(sending(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n")) as port,
        native_http.get(f"http://127.0.0.1:{port}/", timeout_s=30, most_bytes=MOST_BYTES) as answer,
    ):
        assert answer.status == 302


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with tcp_server(sending(b"HTTP/1.1 200 OK\r\n\r\ndirect")) as port:
        assert fetched(f"http://127.0.0.1:{port}/") == b"direct"


@pytest.mark.parametrize(
    "part", [b"x", b"X-Filler: x\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["word", "headers", "continue"]
)
def test_a_response_without_end_is_an_error_at_the_limit_of_bytes(part: bytes) -> None:
    begin = b"" if part.startswith(b"HTTP") else b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if part == b"x" else b"")

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(begin)
        try:
            for _attempt in range(1_000):
                connection.sendall(part * 100)
        except OSError:
            return

    with tcp_server(answer) as port, pytest.raises(httpcore.RemoteProtocolError, match="too long"):
        fetched(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["status", "headers", "body"])
def test_a_response_that_arrives_too_slowly_is_a_timeout_error(begin: bytes) -> None:
    client_has_closed = threading.Event()

    def send_slowly(connection: socket.socket, _: bytes) -> None:
        connection.sendall(begin)
        while not client_has_closed.wait(0.05):
            try:
                connection.sendall(b"H")
            except OSError:
                return

    with tcp_server(send_slowly) as port:
        with pytest.raises(TimeoutError):
            fetched(f"http://127.0.0.1:{port}/", timeout_s=0.3)
        client_has_closed.set()


@pytest.mark.parametrize("url", ["https://127.0.0.1:1/", "ftp://127.0.0.1:1/", "nonsense"])
def test_urls_other_than_plain_http_are_refused(url: str) -> None:
    with pytest.raises(ValueError):
        fetched(url)


def test_a_host_name_is_refused_without_a_look_up() -> None:
    with pytest.raises(OSError):
        fetched("http://localhost:1/")


def test_a_request_of_a_native_thread_starts_no_gevent_hub_in_a_patched_process() -> None:
    with tcp_server(sending(b"HTTP/1.1 200 OK\r\n\r\nnative")) as port:
        run_in_fresh_process(
            "from capexplorer.load import native; native.patch()\n"
            "from _queue import SimpleQueue\n"
            "from gevent._hub_local import get_hub_if_exists\n"
            "from capexplorer import native_http\n"
            "answers = SimpleQueue()\n"
            "def get():\n"
            f"    with native_http.get('http://127.0.0.1:{port}/', timeout_s=60, most_bytes=1000) as answer:\n"
            "        answers.put((b''.join(answer.body), get_hub_if_exists()))\n"
            "native.start_thread(get)\n"
            "assert answers.get(timeout=120) == (b'native', None)\n"
        )
