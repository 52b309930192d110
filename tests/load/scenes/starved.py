"""Exceptions of the clients without routes, ports or descriptors. Run in a network namespace (see `load.conditions`)."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import locust

from capexplorer.load.lean.user import LeanHttpUser

from ..servers import server
from .reported import Client, _client


@contextlib.contextmanager
def _four_ports() -> Iterator[str]:
    """The URL of a listener to which all source ports are in use."""
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40003")
    with socket.create_server(("127.0.0.1", 39000)), contextlib.ExitStack() as taken:
        for _ in range(4):
            taken.enter_context(socket.create_connection(("127.0.0.1", 39000)))
        yield "http://127.0.0.1:39000"
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("32768 60999")


@contextlib.contextmanager
def _no_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, hard))  # the listing has one itself
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _reported(ask: Client) -> dict[str, Any]:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    found = {"no-network": ask("http://10.9.8.7")}
    subprocess.run(["ip", "route", "add", "unreachable", "10.9.0.0/16"], check=True)
    found["no-route"] = ask("http://10.9.8.7")
    subprocess.run(["ip", "route", "del", "unreachable", "10.9.0.0/16"], check=True)
    with _four_ports() as url:
        found["no-ports"] = ask(url)
    with server() as running, _no_descriptors():
        found["no-descriptors"] = ask(running.url)
        found["no-descriptors-by-name"] = ask(running.url.replace("127.0.0.1", "localhost"))
    return found


def http_user() -> dict[str, Any]:
    return _reported(_client(locust.HttpUser))


def fast_http_user() -> dict[str, Any]:
    return _reported(_client(locust.FastHttpUser))


def lean_http_user() -> dict[str, Any]:
    return _reported(_client(LeanHttpUser))
