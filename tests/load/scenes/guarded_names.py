"""Names that /etc/hosts maps to unexpected addresses. Run in a network namespace without a route to other hosts."""

from __future__ import annotations

from typing import Any

import requests
from gevent import socket

from capexplorer.load.guard import HostGuard
from capexplorer.load.hooks.hook import put_in_place
from capexplorer.load.hooks.hook_table import GUARD

from .outcome import error_of

_shown: list[str] = []
_guard = HostGuard(["service.example", "nowhere.invalid"], _shown.append, joined="run.example")
put_in_place(GUARD, _guard)


def _to(host: str, port: int = 9, kind: int = socket.SOCK_STREAM) -> list[str]:
    """The errors of each call that takes a name."""

    def connect() -> None:
        with socket.socket(type=kind) as sock:
            sock.connect((host, port))

    def connect_ex() -> None:
        with socket.socket(type=kind) as sock:
            raise OSError(sock.connect_ex((host, port)), "connect_ex")

    def sendto() -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as sock:
            sock.sendto(b"x", (host, port))

    def sendmsg() -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as sock:
            sock.sendmsg([b"x"], (), 0, (host, port))

    def create_connection() -> None:
        socket.create_connection((host, port), timeout=5)

    return [error_of(act) for act in (connect, connect_ex, sendto, sendmsg, create_connection)]


def localhost_elsewhere() -> list[str]:
    return _to("localhost")


def localhost_elsewhere_of_requests() -> str:
    try:
        requests.get("http://localhost:9/", timeout=5)
    except requests.RequestException as error:
        return str(error)
    return "no error"


def localhost_here() -> list[str]:
    """Another name of loopback, which resolves to 127.0.0.1."""
    return _to("localhost.localdomain")


def address_of_an_allowed_name() -> list[str]:
    """A connection to the address of an allowed name that was not resolved before."""
    return _to("10.99.0.7")


def address_of_no_allowed_name() -> list[str]:
    return _to("10.99.0.8")


def the_name_at_which_workers_join() -> list[Any]:
    """Its address, and the errors of load to it."""
    return [socket.getaddrinfo("run.example", 9, proto=socket.IPPROTO_TCP)[0][4][0], _to("run.example")]


def reported() -> list[str]:
    return _shown
