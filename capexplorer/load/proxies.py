"""A proxy on loopback cannot bypass the guard: the host that it would forward a request to is checked like a direct connection.

Covered: proxies of http.client (so of urllib and urllib3), requests (SOCKS, too) and Locust's fast client. Proxies named by the
environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) are ignored: through them the figures would be the proxy's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from geventhttpclient import HTTPClient
from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.utils import select_proxy

Check = Callable[[str], None]
"""Raises OSError for a host that is not allowed."""


def forget_environment() -> list[str]:
    """Remove proxy variables from this process's environment; returns their names."""
    found = [name for name in os.environ if name.lower().endswith("_proxy") and name.lower() != "no_proxy"]
    for name in found:
        del os.environ[name]
    return found


def install(check: Check) -> None:
    """Patch the clients. Once a process."""
    _guard_http_client(HTTPConnection, check)
    _guard_requests(HTTPAdapter, check)
    _guard_fast_client(HTTPClient, check)


def _guard_http_client(kind: Any, check: Check) -> None:
    """A request to a proxy names an absolute URL, or opens a tunnel."""
    putrequest, set_tunnel = kind.putrequest, kind.set_tunnel

    def guarded_putrequest(connection: HTTPConnection, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        if "://" in url.partition("?")[0]:
            check(urlsplit(url).hostname or "")
        putrequest(connection, method, url, *args, **kwargs)

    def guarded_set_tunnel(connection: HTTPConnection, host: str, *args: Any, **kwargs: Any) -> None:
        check(urlsplit(f"//{host}").hostname or "")
        set_tunnel(connection, host, *args, **kwargs)

    kind.putrequest, kind.set_tunnel = guarded_putrequest, guarded_set_tunnel


def _guard_requests(kind: Any, check: Check) -> None:
    send = kind.send

    def guarded(
        adapter: HTTPAdapter,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> Any:
        if select_proxy(request.url or "", proxies):
            try:
                check(urlsplit(request.url or "").hostname or "")
            except OSError as refused:  # a failed request, as where a connection is refused; no error of the user's code
                raise RequestsConnectionError(refused, request=request) from refused
        return send(adapter, request, stream, timeout, verify, cert, proxies)

    kind.send = guarded


def _guard_fast_client(kind: Any, check: Check) -> None:
    make = kind.__init__

    def guarded(client: HTTPClient, host: str, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("proxy_host") is not None:
            check(host)
        make(client, host, *args, **kwargs)

    kind.__init__ = guarded
