"""Valid and invalid replies: the results of the lean client and of the other clients."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import locust
import pytest
from locust.env import Environment

from capexplorer.analysis.causes.classify import classify
from capexplorer.load.lean.connection import Reply
from capexplorer.load.lean.user import LeanHttpUser
from capexplorer.load.signature import signature_of

from ..lean.cases import CASES
from ..lean.wire import pieces

CLIENTS: dict[str, type[locust.User]] = {
    "http_user": locust.HttpUser,
    "fast_http_user": locust.FastHttpUser,
    "lean_http_user": LeanHttpUser,
}


class _Client:
    """A client, and the outcome of its latest request as `Case.expected` has it."""

    def __init__(self, kind: type[locust.User], url: str) -> None:
        environment = Environment(user_classes=[])
        environment.events.request.add_listener(self._on_request)  # type: ignore[no-untyped-call]
        attributes = {"host": url, "abstract": False, "network_timeout": 3.0}  # FastHttpUser waits for a second reply's rest
        self.http: Any = type("Client", (kind,), attributes)(environment).client
        self.outcome: tuple[int, str] | str = ""

    def _on_request(self, response: Any, exception: Any = None, **_: Any) -> None:
        reply = (response.status_code, response.text or "")
        self.outcome = reply if exception is None else classify(signature_of(exception, response), "Linux")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", CASES)
def test_a_reply_is_accepted_as_http_defines_or_fails_with_its_cause(wire: str, name: str, client: str) -> None:
    """And the lean client uses a connection again only if no bytes are left on it."""
    case, asked = CASES[name], _Client(CLIENTS[client], wire)
    connection = asked.http.get("/number").text
    asked.http.request(case.method, f"/{quote(name)}/whole", allow_redirects=case.follows)
    assert asked.outcome == case.others.get(client, case.expected)
    if client == "lean_http_user":
        assert (asked.http.get("/number").text == connection) == case.kept


@pytest.mark.parametrize("name", CASES)
def test_a_reply_is_the_same_wherever_it_is_cut(name: str) -> None:
    """By the lean client's parser, without sockets."""
    case = CASES[name]
    cuts = ["bytes", *map(str, range(1, min(len(case.sent), 2_000)))]
    whole = _framed(case.sent, "whole", case.method, case.closes)
    assert [cut for cut in cuts if _framed(case.sent, cut, case.method, case.closes) != whole] == []


def _framed(sent: bytes, cut: str, method: str, closes: bool) -> tuple[bool, int, bytes | None] | str:
    """(complete, status, body) as a connection would read it, or its error; what follows a complete reply is not read."""
    reply = Reply(is_head=method == "HEAD", most_bytes=1_000_000)
    try:
        for piece in pieces(sent, cut):
            reply.take(piece)
            if reply.is_complete:
                break
        if not reply.is_complete and closes:
            reply.take(b"")
        return reply.is_complete, reply.status, reply.content()
    except Exception as error:
        return type(error).__name__
