"""Load goes to loopback only, unless a host is allowed: this stops mistyped URLs and redirects to other hosts.

It checks the address that a connection is made to, not the name: a `localhost` that resolves to 10.99.0.1 is refused, and
`--allow-host HOST` allows the addresses that HOST resolves to.

Covered: IPv4 and IPv6 sockets of Python as gevent has patched them (`connect`, `connect_ex`, `sendto`, `sendmsg`, and so
`create_connection`, ssl, requests, urllib3, http.client, httpx, Locust's clients), absolute URLs, redirects, and where a proxy on
loopback would forward a request to (`hooks/guarding.py`).
Not covered: `_socket`, ctypes, libraries in C with sockets of their own (`OPENED_IN_C`: a run names those that it recognises),
child processes, lookups of names, other programs on loopback that forward (ssh), other kinds of sockets. `--sandbox` covers all
but files that are sockets: a network without a way out.

It patches gevent's sockets, which in this process only the load thread uses for traffic. Addresses are not sent to gevent's
resolver threads: see `_of_address`.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from gevent import _socketcommon
from gevent import socket as gevent_socket
from gevent.lock import BoundedSemaphore
from gevent.monkey import get_original

from ..addresses import NOT_ALLOWED, is_loopback

_look_up = get_original("socket", "getaddrinfo")
IP_FAMILIES = (gevent_socket.AF_INET, gevent_socket.AF_INET6)

Entry = tuple[Any, ...]
"""As getaddrinfo gives it; the address is `entry[4][0]`."""


OPENED_IN_C = {
    "psycopg": "psycopg (but it checks their names)",  # which are looked up in Python
    **{
        name: name
        for name in (
            "aerospike", "confluent_kafka", "couchbase", "curl_cffi", "cx_Oracle", "grpc", "ibm_db", "MySQLdb", "pulsar",
            "psycopg2", "pycurl", "pylibmc", "pymssql", "pynng", "pyodbc", "rocketmq", "uvloop",
        )
    },
    "_mysql_connector": "mysql.connector",
}  # fmt: skip
"""Modules whose connections the guard does not see, and what to call them. zmq is not among them: Locust imports it itself."""


def opened_in_c() -> tuple[str, ...]:
    """What this process has imported of them."""
    return tuple(shown for name, shown in OPENED_IN_C.items() if name in sys.modules)


class HostNotAllowed(PermissionError):
    """A connection to a host that was not allowed."""

    def __init__(self, host: str) -> None:
        address = host.partition(" ")[0]
        super().__init__(errno.EACCES, f"load to {host} {NOT_ALLOWED} {address})")
        self.host = host


class HostGuard:
    """Decides which hosts are allowed. The hooks of `hook_table.GUARD` ask it, for the life of the process."""

    def __init__(
        self, allowed: Iterable[str] = (), on_refused: Callable[[str], None] = lambda host: None, *, joined: str | None = None
    ) -> None:
        """`joined`: where workers join. Locust looks it up, for a socket in C; it gets no load unless it is allowed, too."""
        self.allowed = {_plain(host) for host in allowed}
        self._joined = joined
        self._addresses: set[str] = set()
        """Addresses that allowed names resolved to."""
        self._on_refused = on_refused
        self._refused: set[str] = set()
        self._to_look_up = [host for host in self.allowed if not _is_address(host)]
        """Allowed names that have not been resolved yet."""
        self._lookup_lock = BoundedSemaphore(1)
        """Locked during a lookup, which yields to other greenlets; they must wait for its result."""
        self.connects = 0
        """Connections tried so far; the kernel's counters include other processes."""

    def permits(self, host: str) -> bool:
        """Whether load may go to this address, or whether this name may be resolved."""
        host = _plain(host)
        return is_loopback(host) or host in self.allowed or host in self._addresses

    def check(self, host: str) -> None:
        """Raises HostNotAllowed."""
        if not self.permits(host):
            self._refuse(host)

    def check_address(self, address: str) -> None:
        """Raises HostNotAllowed, unless an allowed name turns out to have this address."""
        if not self.permits(address):
            self._look_up_allowed()
            self.check(address)

    def reachable(self, name: str, found: list[Entry]) -> list[Entry]:
        """The allowed ones of the addresses that a name resolved to. Raises HostNotAllowed if there is none."""
        if _plain(name) in self.allowed:
            self._addresses.update(_plain(entry[4][0]) for entry in found)
        permitted = [entry for entry in found if not name or self.permits(entry[4][0])]
        if found and not permitted:
            self._refuse(f"{found[0][4][0]} ({name})")
        return permitted

    def _refuse(self, host: str) -> None:
        """Each host is reported once."""
        if host not in self._refused:
            self._refused.add(host)
            self._on_refused(host)
        raise HostNotAllowed(host)

    def _look_up_allowed(self) -> None:
        with self._lookup_lock:
            while self._to_look_up:
                with contextlib.suppress(OSError):  # it has no address, so there is nothing to allow
                    name = self._to_look_up.pop()
                    self.reachable(name, gevent_socket.getaddrinfo(name, None))

    def look_up(self, resolve: Callable[..., list[Entry]], host: Any, *args: Any, **kwargs: Any) -> list[Entry]:
        """The allowed addresses of a host, which `resolve`, gevent's getaddrinfo, looks up. Raises HostNotAllowed."""
        name = host.decode() if isinstance(host, bytes) else str(host or "")
        look_up = _of_address if _is_address(name) else resolve
        if name == self._joined and not self.permits(name):
            return list(look_up(host, *args, **kwargs))
        self.check(name)
        return self.reachable(name, look_up(host, *args, **kwargs))

    def checked(self, sock: Any, address: Any) -> Any:
        """The address with its host looked up, and allowed. Other families than IP pass."""
        if sock.family not in IP_FAMILIES or not isinstance(address, tuple) or not isinstance(address[0], str | bytes):
            return address
        host = address[0].decode() if isinstance(address[0], bytes) else address[0]
        if not _is_address(host):
            self.check(host)
        numeric = _socketcommon._resolve_addr(sock, (host, *address[1:]))
        self.check_address(numeric[0])
        return numeric


@lru_cache(maxsize=1024)  # each connection asks
def _plain(host: str) -> str:
    """Lower case, without the brackets and the zone of an IPv6 address; an address as Python writes it."""
    host = host.lower().strip("[]")
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return host


@lru_cache(maxsize=1024)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _of_address(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
    """getaddrinfo of an address: since no name is looked up, it does not block, and is called in the load thread.

    gevent calls it in a pool of threads, which compete for the GIL: with one connection a request these threads took 0.2 cores in
    addition to the load thread's 0.87, whose waits for the GIL no clock of the kernel shows (measured at 3,457 requests/s).
    """
    return _look_up(host, port, *args, **kwargs)
