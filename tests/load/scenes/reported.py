"""What the clients raise against servers that misbehave, reduced to signatures: by client class and condition."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import locust
import msgspec
from gevent import getcurrent
from geventhttpclient.connectionpool import ConnectionPool
from locust.env import Environment
from locust.exception import CatchResponseError

from capexplorer.load import request_counts
from capexplorer.load.lean.user import LeanHttpUser
from capexplorer.load.signature import _status, fold, links, signature_of

Client = Callable[..., Any]
"""`client(url, path, ...)`: the signature and the exceptions of its last request; None for a success."""

STATUSES = (404, 429, 500, 502, 503, 504, 507)
BROKEN = (
    "half",
    "half-chunk",
    "half-chunks",
    "half-headers",
    "half-header",
    "garbage",
    "garbage-chunk",
    "garbage-gzip",
    "reset",
    "silence",
)


def _client(kind: type[locust.User]) -> Client:
    def ask(
        url: str, path: str = "/", method: str = "GET", first: str | None = None, check: Any = None, **attributes: Any
    ) -> Any:
        environment, seen = Environment(user_classes=[]), []

        def on_request(exception: Any = None, response: Any = None, **_: Any) -> None:
            request_counts.attempts_of_request(exception, response)
            seen.append(None if exception is None else _described(exception, response))

        environment.events.request.add_listener(on_request)  # type: ignore[no-untyped-call]
        limit_s = 0.3 if path == "/hang" or attributes.pop("impatient", False) else 5.0
        attributes |= {"network_timeout": limit_s, "connection_timeout": limit_s} if kind is not locust.HttpUser else {}
        user = type("Client", (kind,), {"host": url, "abstract": False, **attributes})(environment)
        options: dict[str, Any] = {"timeout": limit_s} if kind is locust.HttpUser else {}
        if first is not None:
            user.client.get(first)
        if check is None:
            user.client.request(method, path, **options)
        else:
            with user.client.request(method, path, catch_response=True, **options) as response:
                check(response)
        return seen[-1]

    return ask


def _described(exception: BaseException, response: Any) -> dict[str, Any]:
    chain = [
        {"type": type(link).__name__, "errno": getattr(link, "errno", None), "status": _status(link), "text": fold(str(link))}
        for link in links(exception, getattr(response, "error", None) if isinstance(exception, CatchResponseError) else None)
    ]
    return {"signature": msgspec.to_builtins(signature_of(exception, response)), "chain": chain}


def _reported(ask: Client, url: str, refused: str, full: str, tls: str) -> dict[str, Any]:
    found = {path: ask(url, f"/{path}") for path in BROKEN}
    found |= {f"status-{status}": ask(url, f"/{status}") for status in STATUSES}
    return found | {
        "reset-post": ask(url, "/reset", "POST"),
        "closed-when-reused": ask(url, "/silence", "POST", first="/ok"),
        "closed-after-503": ask(url, "/silence", "POST", first="/503"),
        "hang": ask(url, "/hang"),
        "refused": ask(refused),
        "connect-timeout": ask(full, impatient=True),
        "no-name": ask("http://no-such-host.invalid"),
        "untrusted": ask(tls, insecure=False),
        "tls-to-plain": ask(url.replace("http:", "https:"), insecure=True),
        "check": ask(url, "/ok", check=lambda response: response.failure("lost_updates: saw 3")),
        "task-failed": ask(
            url, "/ok", check=lambda response: response.failure("task_failed: [Errno 24] Too many open files: 'x'")
        ),
        "check-of-status": ask(url, "/503", check=lambda response: response.failure(f"got {response.status_code}")),
        "check-of-nothing": ask(refused, check=lambda response: response.failure("no answer")),
        "check-that-forgives": ask(url, "/503", check=lambda response: response.success()),
    }


def http_user(url: str, refused: str, full: str, tls: str) -> dict[str, Any]:
    return _reported(_client(locust.HttpUser), url, refused, full, tls)


def fast_http_user(url: str, refused: str, full: str, tls: str) -> dict[str, Any]:
    return _reported(_client(locust.FastHttpUser), url, refused, full, tls)


def lean_http_user(url: str, refused: str, full: str, tls: str) -> dict[str, Any]:
    return _reported(_client(LeanHttpUser), url, refused, full, tls)


def fast_http_user_reset_as_it_connects_again(url: str) -> dict[str, Any]:
    """The service ends a used connection in place of a reply, and resets the next one before it is there."""
    create: Callable[[Any], Any] = ConnectionPool._create_socket
    opened: list[Any] = []

    def once(pool: Any) -> Any:
        if opened:
            raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        opened.append(create(pool))
        return opened[0]

    with patch.object(ConnectionPool, "_create_socket", once):
        signature: dict[str, Any] = _client(locust.FastHttpUser)(url, "/silence", first="/ok")["signature"]
    return signature


def checks() -> list[str]:
    texts = ["lost_updates: saw 3", "lost_updates: saw 4", "lost_updates", "task FAILED", "not a check: really", "http://x:80/y"]
    return [signature_of(CatchResponseError(text)).text for text in texts]


def attempts_left_on_the_greenlet() -> list[str]:
    return sorted(name for name in vars(getcurrent()) if name == "attempts")
