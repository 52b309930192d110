"""A target's own metrics: the forms they come in, and every way not to come."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from capexplorer.probe.app import AppProbe, metrics

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


def ok(body: bytes) -> bytes:
    return OK % (len(body), body)


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server for one connection; gives its URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(5)
                connection.recv(4096)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/metrics?x=1"
        finally:
            thread.join()


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/json", '{"finished": 17, "queue": {"depth": 3, "oldest_s": 0.5}}',
         {"finished": 17.0, "queue.depth": 3.0, "queue.oldest_s": 0.5}),
        ("application/json", '{"ok": true, "name": "x", "none": null, "list": [1], "n": 1}', {"n": 1.0}),
        ("text/plain", '{"n": 1e3}', {"n": 1000.0}),
        ("text/plain", "depth 3\nfinished 17.5\n\nnot a number here\nalone\n", {"depth": 3.0, "finished": 17.5}),
        ("text/plain; version=0.0.4", '# HELP a b\n# TYPE a counter\na{code="200 OK",m="x"} 5 1700000000\nb NaN\nc +Inf\nd\t2',
         {'a{code="200 OK",m="x"}': 5.0, "d": 2.0}),
        ("text/plain", "", {}),
    ],
)  # fmt: skip
def test_metrics_in_each_form_are_read(kind: str, body: str, expected: dict[str, float]) -> None:
    assert metrics(kind, body) == expected


@pytest.mark.parametrize(("kind", "body"), [("application/json", "[1]"), ("application/json", "{"), ("text/plain", "{torn")])
def test_invalid_json_is_an_error(kind: str, body: str) -> None:
    with pytest.raises(ValueError):
        metrics(kind, body)


def test_metrics_are_read_over_http() -> None:
    with answering(lambda connection: connection.sendall(ok(b'{"depth": 3}'))) as url:
        assert AppProbe(url).read() == {"depth": 3.0}


def test_an_answer_in_pieces_is_read_whole_also_without_its_length() -> None:
    def pieces(connection: socket.socket) -> None:
        for piece in (b"HTTP/1.0 200 OK\r\nContent-Type: text/", b"plain\r\n\r\nde", b"pth 3\n"):
            connection.sendall(piece)
            time.sleep(0.02)

    with answering(pieces) as url:
        assert AppProbe(url).read() == {"depth": 3.0}


def test_a_target_that_keeps_the_connection_open_is_read_too() -> None:
    hang_up = threading.Event()

    def keep_open(connection: socket.socket) -> None:
        connection.sendall(ok(b'{"depth": 3}'))
        hang_up.wait(5)

    with answering(keep_open) as url:
        assert AppProbe(url).read() == {"depth": 3.0}
        hang_up.set()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 503 No\r\n\r\n{}",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\nnope",
        b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe 3",
    ],
)
def test_an_incomplete_answer_gives_none(answer: bytes) -> None:
    with answering(lambda connection: connection.sendall(answer)) as url:
        assert AppProbe(url).read() is None


def test_a_silent_target_gives_none_without_a_wait() -> None:
    hang_up = threading.Event()

    def say_nothing(_: socket.socket) -> None:
        hang_up.wait(5)

    with answering(say_nothing) as url:
        assert AppProbe(url).read() is None
        hang_up.set()


def test_a_target_that_answers_too_slowly_is_given_up() -> None:
    given_up = threading.Event()

    def drip(connection: socket.socket) -> None:
        for _ in range(40):
            if given_up.wait(0.1):
                return
            connection.sendall(b"H")

    with answering(drip) as url:
        assert AppProbe(url).read() is None
        assert not given_up.is_set()
        given_up.set()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://127.0.0.1/", "http://no-such-host.invalid/", "nonsense"])
def test_an_unreachable_target_gives_none(url: str) -> None:
    assert AppProbe(url).read() is None
