"""An exception reduced to what tells causes apart: real chains of both clients (CAUSES.md), and hand-made ones."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from capexplorer.load.signature import DEPTH, TEXT_LENGTH, links, reduce

from .patched import Played, play
from .servers import closed_port, server


@pytest.fixture(scope="module")
def seen() -> Iterator[Played]:
    with server() as running:
        yield play("load.scenes.signatures", url=running.url, refused=f"http://127.0.0.1:{closed_port()}")


CLIENTS = ["requests_client", "fast_client"]


@pytest.mark.parametrize("client", CLIENTS)
def test_refused_is_errno_111_through_all_wrappings(seen: Played, client: str) -> None:
    signature = seen[client]["refused"]
    assert signature["errno"] == errno.ECONNREFUSED
    assert "ConnectionRefusedError" in signature["types"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_reset_is_errno_104(seen: Played, client: str) -> None:
    signature = seen[client]["reset"]
    assert signature["errno"] == errno.ECONNRESET
    assert "ConnectionResetError" in signature["types"]


@pytest.mark.parametrize(("client", "kind"), [("requests_client", "ReadTimeout"), ("fast_client", "RetriesExceeded")])
def test_a_read_timeout_has_its_types(seen: Played, client: str, kind: str) -> None:
    assert kind in seen[client]["timeout"]["types"]
    assert "timed out" in seen[client]["timeout"]["text"]


@pytest.mark.parametrize(("client", "kind"), [("requests_client", "HTTPError"), ("fast_client", "LocustBadStatusCode")])
def test_an_http_error_carries_its_status(seen: Played, client: str, kind: str) -> None:
    signature = seen[client]["status_503"]
    assert signature["status"] == 503
    assert signature["types"][0] == kind
    assert signature.get("errno") is None


@pytest.mark.parametrize(("client", "kind"), [("requests_client", "RemoteDisconnected"), ("fast_client", "HTTPConnectionClosed")])
def test_a_connection_closed_without_a_reply_has_its_type(seen: Played, client: str, kind: str) -> None:
    assert kind in seen[client]["silence"]["types"]


@pytest.mark.parametrize(("client", "kind"), [("requests_client", "IncompleteRead"), ("fast_client", "HTTPParseError")])
def test_a_reply_cut_off_has_its_type(seen: Played, client: str, kind: str) -> None:
    assert kind in seen[client]["half"]["types"]


@pytest.mark.parametrize(("client", "kind"), [("requests_client", "BadStatusLine"), ("fast_client", "HTTPParseError")])
def test_a_reply_that_is_not_http_has_its_type(seen: Played, client: str, kind: str) -> None:
    assert kind in seen[client]["garbage"]["types"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_name_that_does_not_resolve_is_a_gaierror(seen: Played, client: str) -> None:
    assert "gaierror" in seen[client]["no_name"]["types"]


@pytest.mark.parametrize("client", CLIENTS)
def test_texts_are_on_one_line_bounded_and_without_addresses(seen: Played, client: str) -> None:
    for signature in seen[client].values():
        assert len(signature.get("text", "")) <= TEXT_LENGTH
        assert "\n" not in signature.get("text", "")
        assert "0x7" not in signature.get("text", "")


def test_a_check_is_grouped_by_what_stands_before_the_colon(seen: Played) -> None:
    assert seen["checks"] == [
        "lost_updates",
        "lost_updates",
        "lost_updates",
        "task FAILED",
        "not a check: really",
        "http://x:80/y",
    ]


def test_addresses_and_long_numbers_are_folded_and_short_ones_stay() -> None:
    said = [
        reduce(OSError(f"<Connection at {address:#x}> after {ms} ms, status 503")).text
        for address, ms in ((7**20, 12345), (9**18, 99999))
    ]
    assert said == ["<Connection at 0x> after # ms, status 503"] * 2


def test_text_is_cut_and_put_on_one_line() -> None:
    assert reduce(ValueError("a\n b\t\x0bc" + "x" * 10_000)).text == ("a b c" + "x" * 10_000)[:TEXT_LENGTH]


def test_the_first_errno_of_the_chain_wins_breadth_first() -> None:
    inner = OSError(errno.ECONNREFUSED, "refused")
    middle = OSError(errno.ECONNRESET, "reset")
    middle.__cause__ = inner
    outer = RuntimeError("wrapped", middle)
    assert reduce(outer).errno == errno.ECONNRESET
    assert reduce(outer).types == ("RuntimeError", "ConnectionResetError", "ConnectionRefusedError")


def test_reason_original_cause_context_and_args_are_followed() -> None:
    class Carrier(Exception):
        pass

    for attribute in ("reason", "original", "__cause__", "__context__"):
        carrier = Carrier()
        setattr(carrier, attribute, OSError(errno.EMFILE, "too many"))
        assert reduce(carrier).errno == errno.EMFILE
    assert reduce(Carrier("x", OSError(errno.EMFILE, "too many"))).errno == errno.EMFILE


def test_cyclic_chains_end() -> None:
    first, second = ValueError("one"), KeyError("two")
    first.__cause__, second.__cause__ = second, first
    first.args = (first, second)
    assert reduce(first).types == ("ValueError", "KeyError")


def test_endless_chains_are_bounded() -> None:
    deepest: BaseException = OSError(errno.EPIPE, "far away")
    for number in range(500):
        outer = RuntimeError(number)
        outer.__context__ = deepest
        deepest = outer
    assert len(list(links(deepest))) == DEPTH
    assert reduce(deepest).errno is None


@pytest.mark.parametrize("status", [99, 600, True, "503", None])
def test_what_is_no_status_is_none(status: object) -> None:
    failure = ValueError("x")
    failure.code = status  # type: ignore[attr-defined]
    assert reduce(failure).status is None


def test_a_text_instead_of_an_exception_is_taken() -> None:
    assert (reduce("boom").types, reduce("boom").text) == (("str",), "boom")


def test_an_exception_that_cannot_be_told_is_still_counted_under_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

        __repr__ = __str__

    signature = reduce(Mute())
    assert signature.types == ("Mute",)
    assert signature.text == "Mute"


def test_an_exception_without_words_is_told_by_its_name() -> None:
    assert reduce(TimeoutError()).text == "TimeoutError()"
