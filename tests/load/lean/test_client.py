"""The lean client in user code: it has the interface of Locust's other clients."""

from __future__ import annotations

import sys

import pytest

from ..patched import Played, play
from ..servers import self_signed, server
from .echo import echo

BYTECODES_MOST = 650
"""Of a GET on a connection that is kept, with one listener: 631 on Python 3.11. Looks at each option took 140 more."""


@pytest.fixture(scope="module")
def seen() -> Played:
    with server() as running, server(self_signed()) as with_tls, echo() as echo_url:
        return play("load.scenes.lean_client", url=running.url, tls=with_tls.url, echo=echo_url)


def test_a_request_reaches_the_service_as_it_was_written(seen: Played) -> None:
    sent = seen["what_is_sent"]
    assert sent["get"]["path"] == "/a%20b?q=%C3%A4"
    assert sent["get"]["headers"]["accept-encoding"] == "gzip, deflate, br"
    assert sent["get"]["headers"]["authorization"] == "Basic YW5uOnMgdA=="
    assert "content-length" not in sent["get"]["headers"]
    assert sent["head"] == 200
    assert (sent["form"]["body"], sent["form"]["headers"]["content-type"]) == ("a=1+2", "application/x-www-form-urlencoded")
    assert (sent["json"]["body"], sent["json"]["headers"]["content-type"]) == ('{"a": [1]}', "application/json")
    assert (sent["text"]["method"], sent["text"]["bytes"]) == ("PUT", 5)
    assert sent["empty"]["headers"]["content-length"] == "0"
    assert sent["params"]["path"] == "/p?a=1&b=2"
    assert (sent["own headers"]["headers"]["user-agent"], sent["own headers"]["headers"]["host"]) == ("me", "other")
    assert sent["auth"]["headers"]["authorization"] == "Basic Ym9iOnB3"


def test_a_request_that_would_be_altered_is_refused(seen: Played) -> None:
    assert seen["requests_that_cannot_be_sent"] == ["refused"] * 4


def test_a_body_of_any_size_is_sent_and_a_reply_before_its_end_is_read(seen: Played) -> None:
    assert seen["a_large_body"] == [8_000_000, 413]


def test_a_response_has_the_attributes_that_users_know(seen: Played) -> None:
    found = seen["responses"]
    assert found["names"] == ["named", "renamed"]
    assert found["cookies"] == ["seat=7; Path=/", "row=b; Path=/"]
    assert found["context"] == {"k": 1}
    assert [name for name in ("ok", "url", "header", "length", "time") if not found[name]] == []
    assert found["fields"] == ["context", "exception", "name", "request_type", "response", "response_length", "response_time",
                               "start_time", "url"]  # fmt: skip


def test_user_code_decides_whether_a_request_succeeded(seen: Played) -> None:
    assert seen["caught"] == ["lost_updates", "wrong", None, None, "Connection refused", "raised, 6 events", "refused"]


def test_the_rest_interface_of_locust_works(seen: Played) -> None:
    assert seen["rest"] == ["/x", [True, False]]


def test_cookies_are_kept_unless_the_class_says_otherwise(seen: Played) -> None:
    assert seen["cookies"] == [None, "seat=7; row=b"]


def test_a_cookie_is_sent_as_long_as_it_is_in_the_jar(seen: Played) -> None:
    assert seen["changed_cookies"] == ["seat=7; row=b", "seat=8; row=b", "row=b", "own=1", None]


def test_redirects_are_followed_unless_user_code_asks_for_none(seen: Played) -> None:
    assert seen["redirects"] == [302, True, "GET", 0, True, "TooManyRedirects", ["/moved", "/moved", "/round"]]


def test_a_stream_that_is_left_gives_its_connection_free(seen: Played) -> None:
    assert seen["streams_that_are_left"] == [True, 200]


def test_the_timeout_limits_the_whole_request(seen: Played) -> None:
    assert seen["a_reply_that_trickles"] == ["TimeoutError"]


def test_each_request_of_a_connection_has_the_whole_timeout(seen: Played) -> None:
    assert seen["many_requests_on_one_connection"] == [200] * 12


def test_a_killed_request_leaves_no_connection_and_later_requests_succeed(seen: Played) -> None:
    assert seen["killed_in_a_request"] == [0, 200]


def test_simultaneous_requests_of_one_user_each_have_a_connection(seen: Played) -> None:
    assert seen["at_the_same_time"] == [200] * 5


def test_a_connection_that_ended_while_idle_is_replaced_by_another_idle_one(seen: Played) -> None:
    assert seen["ended_while_idle"] == [[None, None], 10, 1]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="each version of Python has other bytecodes")
def test_a_request_that_needs_no_option_does_not_pay_for_them(seen: Played) -> None:
    assert seen["bytecodes_of_a_request"] <= BYTECODES_MOST


def test_tls_works_and_a_certificate_is_refused_if_it_is_checked(seen: Played) -> None:
    assert seen["over_tls"] == [["ok"] * 3, True]


def test_a_body_in_tiny_chunks_is_bounded(seen: Played) -> None:
    assert seen["many_small_chunks"] == "refused with 0 bytes"
