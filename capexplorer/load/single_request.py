"""Sends one request outside of any load. The host guard checks the address of its connection, as it does for load."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic

import httpcore
import msgspec

from ..addresses import is_http_url
from ..profile import Task
from .guard import HostGuard, HostNotAllowed

_KEPT_BYTES = 1 << 20
"""Most bytes of a body that are read; the size of a longer one is a lower bound."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """The service's reply."""

    status: int
    seconds: float
    """Time until the body had been read."""
    kind: str
    """The Content-Type without parameters."""
    body: bytes
    is_whole: bool


def send(task: Task, url: str, guard: HostGuard, timeout_s: float = 30.0) -> HttpAnswer | str:
    """The reply of the service at `url`, or in a few words why there is none. Follows no redirect."""
    path = task.name if task.path is None else task.path
    headers, body = dict(task.headers), (task.body or "").encode()
    if task.json is not None:
        headers, body = {"Content-Type": "application/json", **headers}, msgspec.json.encode(task.json)
    timeouts = dict.fromkeys(("connect", "read", "write", "pool"), timeout_s)
    whole_url = path if is_http_url(path) else url.rstrip("/") + path
    certificates = _any_certificate() if whole_url.startswith("https:") else None  # 20 ms that are not the service's
    began_s = monotonic()
    try:
        with (
            httpcore.ConnectionPool(ssl_context=certificates, network_backend=_Guarded(guard)) as pool,
            pool.stream(
                task.method.upper(),
                whole_url,
                headers=[(name.encode("latin-1", "replace"), text.encode()) for name, text in headers.items()],
                content=body or None,
                extensions={"timeout": timeouts},
            ) as response,
        ):
            return _answer(response, began_s)
    except HostNotAllowed as refused:
        return refused.strerror or str(refused)
    except httpcore.TimeoutException:
        return f"no answer in {timeout_s:g} s"
    except (OSError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        return str(error).partition("] ")[2].lower() or str(error) or type(error).__name__


def _answer(response: httpcore.Response, began_s: float) -> HttpAnswer:
    body, is_whole = b"", True
    for chunk in response.iter_stream():
        body += chunk
        if len(body) > _KEPT_BYTES:
            is_whole = False
            break
    kinds = [value.decode("latin-1") for name, value in response.headers if name.lower() == b"content-type"]
    kind = kinds[0].partition(";")[0].strip() if kinds else ""
    return HttpAnswer(response.status, monotonic() - began_s, kind, body, is_whole)


def _any_certificate() -> ssl.SSLContext:
    """A TLS context that accepts any certificate, as a profile's users do: services under test often have self-signed ones."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class _Guarded(httpcore.SyncBackend):
    def __init__(self, guard: HostGuard) -> None:
        self._guard = guard

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        self._guard.check(host)
        found = self._guard.reachable(host, list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        addresses = [str(entry[4][0]) for entry in found]
        for address in addresses[:-1]:  # localhost is ::1 first, where many services do not listen
            with suppress(httpcore.ConnectError):
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
        return super().connect_tcp(addresses[-1], port, timeout, local_address, socket_options)
