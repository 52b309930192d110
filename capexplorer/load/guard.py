"""Load goes to loopback only, unless a host is allowed by name. The guard stands where sockets look up names and connect, so
absolute URLs, redirects and user code are covered. It patches gevent's sockets, which in this process only the load thread uses
for traffic. Addresses are not sent to gevent's resolver threads: see `_of_address`.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Callable, Iterable
from typing import Any

from gevent import socket as gevent_socket
from gevent.monkey import get_original

from ..addresses import is_loopback

_look_up = get_original("socket", "getaddrinfo")


class HostNotAllowed(PermissionError):
    """A connection to a host that was not allowed."""

    def __init__(self, host: str) -> None:
        super().__init__(errno.EACCES, f"load to {host} is not allowed (only loopback, or --allow-host {host})")
        self.host = host


class HostGuard:
    """Decides; `install` puts it in front of gevent's sockets for the life of the process."""

    def __init__(self, allowed: Iterable[str] = (), on_refused: Callable[[str], None] = lambda host: None) -> None:
        self.allowed = {host.lower().strip("[]") for host in allowed}
        self._addresses: set[str] = set()
        """What allowed names resolved to."""
        self._on_refused = on_refused
        self._told: set[str] = set()
        self.connects = 0
        """Connections tried so far: what the kernel counts holds those of all neighbours, too."""

    def permits(self, host: str) -> bool:
        """Whether load may go to this name or address."""
        host = host.lower().strip("[]")
        return is_loopback(host) or host in self.allowed or host in self._addresses

    def check(self, host: str) -> None:
        """Raises HostNotAllowed, and tells each host once."""
        if self.permits(host):
            return
        if host not in self._told:
            self._told.add(host)
            self._on_refused(host)
        raise HostNotAllowed(host)

    def learn(self, name: str, found: Iterable[tuple[Any, ...]]) -> None:
        """Addresses that an allowed name resolved to may be connected to."""
        if name.lower().strip("[]") in self.allowed:
            self._addresses.update(str(entry[4][0]) for entry in found)

    def install(self) -> None:
        """Patch gevent's sockets. Once a process."""
        guard = self
        resolve, sockets = gevent_socket.getaddrinfo, gevent_socket.socket
        connect, connect_ex, sendto = sockets.connect, sockets.connect_ex, sockets.sendto
        sendmsg: Any = getattr(sockets, "sendmsg", None)  # not on Windows
        families = (gevent_socket.AF_INET, gevent_socket.AF_INET6)

        def guarded_resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else str(host or "")
            guard.check(name)
            found = (_of_address if _is_address(name) else resolve)(host, *args, **kwargs)
            guard.learn(name, found)
            return found

        def guarded_connect(sock: Any, address: Any) -> Any:
            if sock.family in families:
                guard.check(str(address[0]))
                guard.connects += 1
            return connect(sock, address)

        def guarded_connect_ex(sock: Any, address: Any) -> Any:
            if sock.family in families and not guard.permits(str(address[0])):
                return errno.EACCES
            guard.connects += sock.family in families
            return connect_ex(sock, address)

        def guarded_sendto(sock: Any, data: Any, *args: Any) -> Any:
            if sock.family in families and args:
                guard.check(str(args[-1][0]))  # the address comes last, after optional flags
            return sendto(sock, data, *args)

        def guarded_sendmsg(sock: Any, buffers: Any, ancdata: Any = (), flags: int = 0, address: Any = None) -> Any:
            if sock.family in families and address is not None:
                guard.check(str(address[0]))
            return sendmsg(sock, buffers, ancdata, flags, address)

        socket.getaddrinfo = gevent_socket.getaddrinfo = guarded_resolve
        sockets.connect, sockets.connect_ex, sockets.sendto = guarded_connect, guarded_connect_ex, guarded_sendto
        if sendmsg is not None:
            sockets.sendmsg = guarded_sendmsg


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _of_address(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
    """getaddrinfo of an address: nothing is looked up, so nothing waits, and the load thread may ask by itself.

    gevent hands each one to a pool of threads, which then fight for the GIL: with a connection a request that took 0.2 cores
    beside 0.87 of the load thread, whose waits for the GIL no clock of the kernel shows (measured at 3,457 requests/s).
    """
    return _look_up(host, port, *args, **kwargs)
