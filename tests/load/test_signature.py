"""The signature of an exception, by which causes are distinguished: of all clients (docs/causes.md), and of constructed ones."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from typing import Any

import msgspec
import pytest
from programs import require

from capexplorer.analysis.causes.classify import classify
from capexplorer.load.signature import DEPTH, TEXT_LENGTH, full_text, links, signature_of
from capexplorer.model.events import FailureSignature

from .conditions import CAUSES, CLIENTS, STARVED_CAUSES, has_namespaces, play_reported, play_starved
from .patched import Played


class CatchResponseError(Exception):
    """Known by the name of Locust's: importing that would patch this process."""


@pytest.fixture(scope="module")
def seen() -> Played:
    return play_reported()


@pytest.fixture(scope="module")
def starved() -> Played:
    require("unshare", "ip")
    if not has_namespaces():
        pytest.skip("needs a network namespace: root, or unprivileged user namespaces")
    return play_starved()


def cause_id(reported: dict[str, Any] | None) -> str | None:
    return None if reported is None else classify(msgspec.convert(reported["signature"], FailureSignature), "Linux")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("condition", "expected"), CAUSES.items(), ids=CAUSES)
def test_an_exception_of_a_client_indicates_its_cause(seen: Played, client: str, condition: str, expected: str | None) -> None:
    assert cause_id(seen[client][condition]) == expected


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("condition", "expected"), STARVED_CAUSES.items(), ids=STARVED_CAUSES)
def test_an_exception_of_a_client_without_resources_indicates_its_cause(
    starved: Played, client: str, condition: str, expected: str
) -> None:
    assert cause_id(starved[client][condition]) == expected


@pytest.mark.parametrize("client", CLIENTS)
def test_an_errno_is_found_in_any_wrapping_exception(seen: Played, client: str) -> None:
    assert seen[client]["refused"]["signature"]["errno"] == errno.ECONNREFUSED
    assert seen[client]["reset"]["signature"]["errno"] == errno.ECONNRESET
    assert seen[client]["check-of-nothing"]["signature"]["errno"] == errno.ECONNREFUSED


@pytest.mark.parametrize("client", CLIENTS)
def test_whether_a_connection_was_used_before_is_known(seen: Played, client: str) -> None:
    found = {
        name: seen[client][name]["signature"].get("reused") for name in ("silence", "closed-when-reused", "half", "status-503")
    }
    assert found == {"silence": False, "closed-when-reused": True, "half": None, "status-503": None}


def test_of_a_connection_that_never_was_it_is_not_known_whether_it_was_used(seen: Played) -> None:
    reset = seen["fast_http_user_reset_as_it_connects_again"]
    assert (reset["types"], reset.get("reused")) == (["ConnectionResetError"], None)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_error_after_which_a_connection_was_closed_is_known(seen: Played, client: str) -> None:
    conditions = ("closed-after-503", "closed-when-reused", "silence", "status-503")
    found = {name: seen[client][name]["signature"].get("after_status") for name in conditions}
    assert found == {"closed-after-503": 503, "closed-when-reused": None, "silence": None, "status-503": None}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_check_carries_the_status_of_the_reply(seen: Played, client: str) -> None:
    assert seen[client]["check-of-status"]["signature"]["status"] == 503
    assert seen[client]["check"]["signature"]["text"] == "lost_updates"
    assert seen[client]["task-failed"]["signature"]["text"] == "task_failed: too many open files"


@pytest.mark.parametrize("client", CLIENTS)
def test_texts_are_one_bounded_line_without_addresses_urls_or_long_numbers(seen: Played, client: str) -> None:
    for reported in seen[client].values():
        text = "" if reported is None else reported["signature"].get("text", "")
        assert len(text) <= TEXT_LENGTH
        assert not re.search(r"\n|0x[0-9a-f]|://|\d{4}", text)


def test_a_check_is_grouped_by_the_text_before_the_colon(seen: Played) -> None:
    assert seen["checks"] == ["lost_updates", "lost_updates", "lost_updates", "task FAILED", "not a check: really", "{url}"]


def test_attempts_of_a_request_are_not_counted_for_the_next_one(seen: Played) -> None:
    assert seen["attempts_left_on_the_greenlet"] == []


def test_varying_parts_are_folded_and_distinguishing_parts_stay() -> None:
    texts = {
        signature_of(
            OSError(f"<Connection at {n**20:#x}> to 127.0.0.1:{n}, user{n} {n}.5 ms, {uuid}, http://h/{n}?a={n}, status 503")
        ).text
        for n, uuid in ((7, "0f8fad5b-d9cb-469f-a165-70867728950e"), (31234, "7c9e6679-7425-40de-944b-e07fc1f90ae7"))
    }
    assert texts == {"<Connection at #> to 127.0.0.1:#, user# # ms, #, {url} status 503"}


def test_error_numbers_of_resolvers_and_tls_are_not_errnos() -> None:
    assert signature_of(socket.gaierror(12, "bad hints")).errno is None
    assert signature_of(ssl.SSLError(1, "wrong version number")).errno is None
    hidden = socket.gaierror(-3, "no name")
    hidden.__context__ = OSError(errno.EMFILE, "too many")
    assert signature_of(hidden).errno == errno.EMFILE


def test_an_exception_that_was_being_handled_does_not_count_beside_a_status() -> None:
    failure = ValueError("503")
    failure.code = 503  # type: ignore[attr-defined]
    failure.__context__ = OSError(errno.ECONNREFUSED, "refused, earlier")
    assert (signature_of(failure).errno, signature_of(failure).status) == (None, 503)


def test_text_is_cut_and_put_on_one_line() -> None:
    assert signature_of(ValueError("a\n b\t\x0bc" + "x" * 10_000)).text == ("a b c" + "x" * 10_000)[:TEXT_LENGTH]


@pytest.mark.parametrize(
    ("failure", "reported"),
    [
        (CatchResponseError("lost_updates: expected 90,\n read 60"), "lost_updates: expected 90, read 60"),
        (OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"), "[Errno 99] Cannot assign requested address"),
        (RuntimeError("wrapped", OSError(errno.ECONNRESET, "reset 17")), "[Errno 104] reset 17"),
        (OSError(errno.ECONNRESET, ""), "[Errno 104]"),
        (socket.gaierror(-3, "Temporary failure"), "[Errno -3] Temporary failure"),
        (ValueError("got 7 of http://ann:pw@h/x?token=abc"), "got 7 of {url}"),
        (ValueError('Get "http://h/x": dial tcp: refused'), 'Get "{url}": dial tcp: refused'),
        ("boom 3", "boom 3"),
        (TimeoutError(), "TimeoutError()"),
        (ValueError("x" * 10_000), "x" * TEXT_LENGTH),
    ],
)
def test_an_example_has_in_full_the_text_that_a_signature_folds(failure: BaseException | str, reported: str) -> None:
    assert full_text(failure) == reported


def test_the_errno_is_the_first_of_the_chain_in_breadth_first_order() -> None:
    inner = OSError(errno.ECONNREFUSED, "refused")
    middle = OSError(errno.ECONNRESET, "reset")
    middle.__cause__ = inner
    outer = RuntimeError("wrapped", middle)
    assert signature_of(outer).errno == errno.ECONNRESET
    assert signature_of(outer).types == ("RuntimeError", "ConnectionResetError", "ConnectionRefusedError")


def test_an_errno_is_found_through_reason_original_cause_context_and_args() -> None:
    class Carrier(Exception):
        pass

    for attribute in ("reason", "original", "__cause__", "__context__"):
        carrier = Carrier()
        setattr(carrier, attribute, OSError(errno.EMFILE, "too many"))
        assert signature_of(carrier).errno == errno.EMFILE
    assert signature_of(Carrier("x", OSError(errno.EMFILE, "too many"))).errno == errno.EMFILE


def test_cyclic_chains_end() -> None:
    first, second = ValueError("one"), KeyError("two")
    first.__cause__, second.__cause__ = second, first
    first.args = (first, second)
    assert signature_of(first).types == ("ValueError", "KeyError")


def test_endless_chains_are_bounded() -> None:
    deepest: BaseException = OSError(errno.EPIPE, "far away")
    for number in range(500):
        outer = RuntimeError(number)
        outer.__context__ = deepest
        deepest = outer
    assert len(list(links(deepest))) == DEPTH
    assert signature_of(deepest).errno is None


@pytest.mark.parametrize("status", [99, 600, True, "503", None])
def test_an_invalid_status_becomes_none(status: object) -> None:
    failure = ValueError("x")
    failure.code = status  # type: ignore[attr-defined]
    assert signature_of(failure).status is None


def test_a_text_instead_of_an_exception_becomes_the_text_of_the_signature() -> None:
    assert (signature_of("boom").types, signature_of("boom").text) == (("str",), "boom")


def test_an_exception_whose_text_fails_is_still_counted_under_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

        __repr__ = __str__

    signature = signature_of(Mute())
    assert signature.types == ("Mute",)
    assert signature.text == "Mute"


def test_an_exception_without_a_message_is_shown_by_its_type() -> None:
    assert signature_of(TimeoutError()).text == "TimeoutError()"
