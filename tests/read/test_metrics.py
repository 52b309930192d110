"""A target's own metrics over HTTP: JSON and Prometheus text are read; late, incomplete and malformed responses give None."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.servers import Reply, Request, http_server, tcp_server

from capexplorer.model import outside
from capexplorer.read.metrics import AppProbe, metrics


def json_response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@contextmanager
def serving(respond: Callable[[socket.socket], None]) -> Iterator[str]:
    """The URL of a server that calls `respond` for each request."""
    with tcp_server(lambda connection, _: respond(connection)) as port:
        yield f"http://127.0.0.1:{port}/metrics?x=1"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", '{"finished": 17, "queue": {"depth": 3, "oldest_s": 0.5}}',
         {"finished": 17.0, "queue.depth": 3.0, "queue.oldest_s": 0.5}),
        ("application/json", '{"json_response": true, "name": "x", "none": null, "list": [1], "n": 1}', {"n": 1.0}),
        ("text/plain", '{"n": 1e3}', {"n": 1000.0}),
        ("text/plain", "depth 3\nfinished 17.5\n\nnot a number here\nalone\n", {"depth": 3.0, "finished": 17.5}),
        ("text/plain; version=0.0.4", '# HELP a b\n# TYPE a counter\na{code="200 OK",m="x"} 5 1700000000\nb NaN\nc +Inf\nd\t2',
         {'a{code="200 OK",m="x"}': 5.0, "d": 2.0}),
        ("text/plain", 'a{path="/{id}",quote="\\"}"} 6', {'a{path="/{id}",quote="\\"}"}': 6.0}),
        ("text/plain", "", {}),
    ],
)  # fmt: skip
def test_metrics_are_parsed_from_json_and_from_prometheus_text(content_type: str, body: str, expected: dict[str, float]) -> None:
    assert metrics(content_type, body) == (expected, ())


@pytest.mark.parametrize(
    ("content_type", "body"), [("application/json", "[1]"), ("application/json", "{"), ("text/plain", "{cut off"),
     ("application/json", '{"a":' * 100_000 + "1" + "}" * 100_000)],
)  # fmt: skip
def test_json_that_is_invalid_or_not_an_object_raises_value_error(content_type: str, body: str) -> None:
    with pytest.raises(ValueError):
        metrics(content_type, body)


@pytest.mark.parametrize(
    ("body", "refused"),
    [('{"a": ' + "9" * 400 + ', "b": 1}', "a"), ('{"a": {"b": 1e300}, "b": 1}', "a.b"), ("a " + "9" * 300 + "\nb 1", "a")],
    ids=["an integer of 400 digits", "beyond 64 bits", "in a line"],
)
def test_a_number_beyond_64_bits_is_left_out_and_named(body: str, refused: str) -> None:
    assert metrics("", body) == ({"b": 1.0}, (refused,))


def test_names_that_change_with_each_page_are_bounded_and_those_that_came_first_are_kept() -> None:
    pages = count()

    def answer(_: Request) -> Reply:
        page = next(pages)
        body = json.dumps({"kept": page, **{f"k{page}_{index}": 1 for index in range(400)}})
        return Reply(200, body.encode(), {"Content-Type": "application/json"})

    with http_server(answer) as server:
        probe = AppProbe(server.url)
        read = [probe.read() for _ in range(3)]
    assert [len(each or {}) for each in read] == [401, 100, 1]
    assert read[-1] == {"kept": 2.0}
    assert len(probe.unusable) == 400


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just(10**400), st.just(-(10**25))),
    lambda within: st.one_of(st.lists(within, max_size=3), st.dictionaries(st.text(), within, max_size=3)),
    max_leaves=20,
)


@given(st.one_of(st.dictionaries(st.text(), JSON, max_size=5).map(json.dumps), st.text(), st.lists(st.text()).map(" 9\n".join)))
def test_whatever_a_page_says_its_metrics_can_be_recorded(body: str) -> None:
    try:
        found, refused = metrics("", body)
    except ValueError:
        return
    assert outside.figures(found) == (found, ())
    assert not set(found) & set(refused)
    assert json.loads(msgspec.json.encode(found)) == found


def in_pieces(connection: socket.socket, read_returned: threading.Event) -> None:
    """A response without its length, until the connection closes."""
    for piece in (b"HTTP/1.0 200 OK\r\nContent-Type: text/", b"plain\r\n\r\nde", b"pth 3\n"):
        connection.sendall(piece)
        time.sleep(0.02)  # so that each piece arrives alone


def kept_open(connection: socket.socket, read_returned: threading.Event) -> None:
    connection.sendall(json_response(b'{"depth": 3}'))
    assert read_returned.wait(5), "the probe waits until the server closes the connection"


def byte_by_byte(connection: socket.socket, read_returned: threading.Event) -> None:
    """For 4 s; the timeout is 0.5 s."""
    for _ in range(40):
        if read_returned.wait(0.1):
            return
        with suppress(OSError):  # the probe may have closed the connection
            connection.sendall(b"H")
    raise AssertionError("the probe waits until the server has sent everything")


@pytest.mark.parametrize(("send", "expected"), [(in_pieces, {"depth": 3.0}), (kept_open, {"depth": 3.0}), (byte_by_byte, None)])
def test_a_response_is_read_as_soon_as_it_is_whole_or_its_time_is_over(
    send: Callable[[socket.socket, threading.Event], None], expected: dict[str, float] | None
) -> None:
    read_returned, failed = threading.Event(), list[BaseException]()

    def respond(connection: socket.socket) -> None:
        try:
            send(connection, read_returned)
        except AssertionError as error:
            failed.append(error)

    with serving(respond) as url:
        assert AppProbe(url).read() == expected
        read_returned.set()
    assert not failed


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(b"", id="no bytes"),
        pytest.param(b"HTTP/1.1 503 No\r\n\r\n{}", id="status 503"),
        pytest.param(b"SSH-2.0-x\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", id="body shorter than its length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}", id="length not a number"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\nnope", id="invalid JSON"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe 3", id="invalid UTF-8"),
    ],
)
def test_a_failed_or_malformed_response_gives_none(response: bytes) -> None:
    with serving(lambda connection: connection.sendall(response)) as url:
        assert AppProbe(url).read() is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://127.0.0.1/", "http://no-such-host.invalid/", "nonsense"])
def test_an_unreachable_target_gives_none(url: str) -> None:
    assert AppProbe(url).read() is None
