"""Asks the HostGuard of the process (`guard.py`) wherever a client would connect or send, or have a proxy do so.

A proxy on loopback cannot bypass it: the host that it would forward a request to is checked like a direct connection. Covered:
proxies of http.client (so of urllib and urllib3), requests (SOCKS, too) and Locust's fast client. Proxies that the environment
names (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) are ignored: through them the figures would be the proxy's.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import zmq
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.utils import select_proxy
from zmq.utils import z85

from ..guard import IP_FAMILIES, Entry, HostGuard, HostNotAllowed

# -- sockets


def guarded_lookup(resolve: Callable[..., list[Entry]], guard: HostGuard) -> Callable[..., list[Entry]]:
    """Looks up allowed names only, and gives allowed addresses only."""

    def guarded(host: Any, *args: Any, **kwargs: Any) -> list[Entry]:
        return guard.look_up(resolve, host, *args, **kwargs)

    return guarded


def guarded_connect(connect: Callable[[Any, Any], Any], guard: HostGuard) -> Callable[[Any, Any], Any]:
    """Raises HostNotAllowed."""

    def guarded(sock: Any, address: Any) -> Any:
        checked = guard.checked(sock, address)
        guard.connects += sock.family in IP_FAMILIES
        return connect(sock, checked)

    return guarded


def guarded_connect_ex(connect_ex: Callable[[Any, Any], Any], guard: HostGuard) -> Callable[[Any, Any], Any]:
    """Returns EACCES where `guarded_connect` raises."""

    def guarded(sock: Any, address: Any) -> Any:
        try:
            checked = guard.checked(sock, address)
        except HostNotAllowed:
            return errno.EACCES
        guard.connects += sock.family in IP_FAMILIES
        return connect_ex(sock, checked)

    return guarded


def guarded_sendto(sendto: Callable[..., Any], guard: HostGuard) -> Callable[..., Any]:
    """Raises HostNotAllowed."""

    def guarded(sock: Any, data: Any, *args: Any) -> Any:
        *flags, address = args or [None]  # the address comes last, after optional flags
        return sendto(sock, data, *flags, guard.checked(sock, address))

    return guarded


def guarded_sendmsg(sendmsg: Callable[..., Any], guard: HostGuard) -> Callable[..., Any]:
    """Raises HostNotAllowed."""

    def guarded(sock: Any, buffers: Any, ancdata: Any = (), flags: int = 0, address: Any = None) -> Any:
        return sendmsg(sock, buffers, ancdata, flags, guard.checked(sock, address))

    return guarded


# -- proxies


def forget_environment() -> list[str]:
    """Remove proxy variables from this process's environment; returns their names."""
    found = [name for name in os.environ if name.lower().endswith("_proxy") and name.lower() != "no_proxy"]
    for name in found:
        del os.environ[name]
    return found


def guarded_putrequest(putrequest: Callable[..., None], guard: HostGuard) -> Callable[..., None]:
    """http.client: a request to a proxy names an absolute URL, or opens a tunnel."""

    def guarded(connection: Any, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        if "://" in url.partition("?")[0]:
            guard.check(urlsplit(url).hostname or "")
        putrequest(connection, method, url, *args, **kwargs)

    return guarded


def guarded_tunnel(set_tunnel: Callable[..., None], guard: HostGuard) -> Callable[..., None]:
    """http.client: a tunnel through a proxy."""

    def guarded(connection: Any, host: str, *args: Any, **kwargs: Any) -> None:
        guard.check(urlsplit(f"//{host}").hostname or "")
        set_tunnel(connection, host, *args, **kwargs)

    return guarded


def guarded_send(send: Callable[..., Any], guard: HostGuard) -> Callable[..., Any]:
    """requests: by the proxy that is chosen for a request."""

    def guarded(
        adapter: Any,
        request: Any,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> Any:
        if select_proxy(request.url or "", proxies):
            try:
                guard.check(urlsplit(request.url or "").hostname or "")
            except OSError as refused:  # a failed request, as where a connection is refused; no error of the user's code
                raise RequestsConnectionError(refused, request=request) from refused
        return send(adapter, request, stream, timeout, verify, cert, proxies)

    return guarded


def guarded_client(make: Callable[..., None], guard: HostGuard) -> Callable[..., None]:
    """FastHttpUser: a client that has a proxy."""

    def guarded(client: Any, host: str, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("proxy_host") is not None:
            guard.check(host)
        make(client, host, *args, **kwargs)

    return guarded


# -- secret --------------------------------------------------------------------------------------------------------------------
# A shared secret for the port of a run: ZeroMQ's CURVE, with the server's key pair derived from the secret.
#
# A stranger cannot complete the handshake without the server's public key, which is derived from the secret and never sent, and
# no other process can answer in the server's place. Messages are encrypted. A process that has the secret is trusted fully.


def with_keys(init: Callable[..., None], secret: str) -> Callable[..., None]:
    """Locust's sockets use this secret."""
    server_secret, server_public = _key_pair(secret)

    def init_with_keys(self: Any, sock_type: int, ipv4_only: bool) -> None:
        init(self, sock_type, ipv4_only)
        if sock_type == zmq.ROUTER:
            self.socket.curve_secretkey, self.socket.curve_publickey = server_secret, server_public
            self.socket.curve_server = True
        else:
            self.socket.curve_publickey, self.socket.curve_secretkey = zmq.curve_keypair()
            self.socket.curve_serverkey = server_public

    return init_with_keys


def _key_pair(secret: str) -> tuple[bytes, bytes]:
    """(secret, public) key, Z85."""
    seed = hashlib.scrypt(secret.encode(), salt=b"capexplorer workers", n=2**14, r=8, p=1, dklen=32)
    encoded: bytes = z85.encode(seed)
    return encoded, zmq.curve_public(encoded)
