"""The result of each client for each case of `lean.cases`, and whether it then uses the connection again."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import locust
import msgspec
from locust.env import Environment

from capexplorer.load.lean.connection import Reply
from capexplorer.load.lean.user import LeanHttpUser
from capexplorer.load.signature import signature_of

from ..lean.cases import CASES
from ..lean.wire import pieces

TIMEOUT_S = 3.0
"""FastHttpUser waits for the rest of a second reply."""


def _seen(kind: type[locust.User], url: str, cut: str) -> dict[str, Any]:
    found = {}
    for name, case in CASES.items():
        environment = Environment(user_classes=[])
        fired: list[Any] = []

        def on_request(response: Any, exception: Any = None, fired: list[Any] = fired, **_: Any) -> None:
            fired.append([response.status_code, response.text or ""] if exception is None else signature_of(exception, response))

        environment.events.request.add_listener(on_request)  # type: ignore[no-untyped-call]
        user: Any = type("Client", (kind,), {"host": url, "abstract": False, "network_timeout": TIMEOUT_S})(environment)
        before = user.client.get("/number").text
        user.client.request(case.method, f"/{quote(name)}/{cut}", allow_redirects=case.follows)
        seen = fired[-1]
        found[name] = [seen if isinstance(seen, list) else msgspec.to_builtins(seen), user.client.get("/number").text == before]
    return found


def http_user(url: str) -> dict[str, Any]:
    return _seen(locust.HttpUser, url, "whole")


def fast_http_user(url: str) -> dict[str, Any]:
    return _seen(locust.FastHttpUser, url, "whole")


def lean_http_user(url: str) -> dict[str, Any]:
    return _seen(LeanHttpUser, url, "whole")


def every_cut() -> dict[str, list[str]]:
    """Cuts of each reply at which the lean client's parser has another result than for the whole; without sockets."""
    found = {}
    for name, case in CASES.items():
        cuts = ["bytes", *map(str, range(1, min(len(case.sent), 2_000)))]
        whole = _framed(case.sent, "whole", case.method, case.closes)
        found[name] = [cut for cut in cuts if _framed(case.sent, cut, case.method, case.closes) != whole]
    return found


def _framed(sent: bytes, cut: str, method: str, closes: bool) -> list[Any]:
    """[complete, status, body, error] as a connection would read it; where it is complete, what follows is not read."""
    reply = Reply(is_head=method == "HEAD", most_bytes=1_000_000)
    try:
        for piece in pieces(sent, cut):
            reply.take(piece)
            if reply.is_complete:
                break
        if not reply.is_complete and closes:
            reply.take(b"")
        return [reply.is_complete, reply.status, (reply.content() or b"").decode("latin-1"), ""]
    except Exception as error:
        return [False, 0, "", type(error).__name__]
