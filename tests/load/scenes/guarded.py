"""Requests and connections of a locustfile to addresses other than loopback, in every way that it has."""

from __future__ import annotations

import http.client
import os
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

import gevent
import locust
import requests
from gevent import socket
from geventhttpclient import HTTPClient
from locust.env import Environment

from capexplorer.load.guard import HostGuard
from capexplorer.load.hooks import guarding
from capexplorer.load.hooks.hook import put_in_place
from capexplorer.load.hooks.hook_table import GUARD
from capexplorer.load.signature import signature_of
from capexplorer.load.workload import HTTP_USERS

from .outcome import error_of

ELSEWHERE = "192.0.2.1"
"""TEST-NET-1, an address without a host, in case the guard fails."""

_shown: list[str] = []
_guard = HostGuard(["Service.Example"], _shown.append)
put_in_place(GUARD, _guard)


def _exception(kind: type[locust.User], url: str, path: str) -> BaseException | None:
    environment, seen = Environment(user_classes=[]), []
    environment.events.request.add_listener(lambda exception=None, **_: seen.append(exception))  # type: ignore[no-untyped-call]
    user = type("Client", (kind,), {"host": url, "abstract": False, "network_timeout": 3.0, "connection_timeout": 3.0})(
        environment
    )
    with gevent.Timeout(20):
        user.client.get(path, allow_redirects=True)
    found: BaseException | None = seen[0]
    return found


def _refused(kind: type[locust.User], url: str, path: str) -> bool:
    found = _exception(kind, url, path)
    return found is not None and "HostNotAllowed" in signature_of(found).types


def threads_for_addresses(url: str) -> int:
    for kind in HTTP_USERS:
        assert _exception(kind, url, "/ok") is None
    size: int = gevent.get_hub().threadpool.size
    return size


def loopback(url: str) -> list[bool]:
    port = url.rpartition(":")[2]
    urls = [url, f"http://localhost:{port}"]
    return [_exception(kind, each, "/ok") is None for kind in HTTP_USERS for each in urls]


def absolute_urls(url: str) -> list[bool]:
    return [_refused(kind, url, f"http://{ELSEWHERE}/") for kind in HTTP_USERS]


def names(url: str) -> list[bool]:
    return [_refused(kind, url, "http://elsewhere.invalid/") for kind in HTTP_USERS]


def redirects(url: str) -> list[bool]:
    path = f"/redirect?to={quote(f'http://{ELSEWHERE}/x')}"
    return [_refused(kind, url, path) for kind in HTTP_USERS]


def redirects_to_loopback(url: str) -> list[bool]:
    path = f"/redirect?to={quote(url + '/ok')}"
    return [_exception(kind, url, path) is None for kind in HTTP_USERS]


def raw_sockets() -> list[str]:
    def plain() -> Any:
        with socket.socket() as sock:
            sock.connect((ELSEWHERE, 80))

    def v6() -> Any:
        with socket.socket(socket.AF_INET6) as sock:
            sock.connect(("2001:db8::1", 80))

    def connect_ex() -> Any:
        with socket.socket() as sock:
            raise OSError(sock.connect_ex((ELSEWHERE, 80)), "connect_ex")

    def datagram() -> Any:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"x", (ELSEWHERE, 9))

    def message() -> Any:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendmsg([b"x"], (), 0, (ELSEWHERE, 9))

    def created() -> Any:
        socket.create_connection((ELSEWHERE, 80), timeout=3)

    return [error_of(each) for each in (plain, v6, connect_ex, datagram, message, created)]


def allowed_names() -> list[bool]:
    before = _guard.permits("192.0.2.7")
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 80))]
    is_permitted = error_of(lambda: _guard.reachable("elsewhere.invalid", found)) == "no error"
    _guard.reachable("SERVICE.example", found)
    return [_guard.permits("service.EXAMPLE"), before, is_permitted, _guard.permits("192.0.2.7")]


def proxies_on_loopback(url: str) -> dict[str, str]:
    """The result of a request to another host through a proxy on loopback, which replies 200 to everything."""
    host, port = urlsplit(url).hostname, urlsplit(url).port

    def of_requests() -> Any:
        return requests.get(f"http://{ELSEWHERE}/ok", proxies={"http": url}, timeout=3).status_code

    def of_urllib() -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": url}))
        return opener.open(f"http://{ELSEWHERE}/ok", timeout=3).status

    def tunnel() -> Any:
        connection = http.client.HTTPConnection(host or "", port, timeout=3)
        connection.set_tunnel(ELSEWHERE, 80)
        connection.request("GET", "/ok")

    def of_the_fast_client() -> Any:
        client = HTTPClient(ELSEWHERE, 80, proxy_host=host, proxy_port=port, network_timeout=3)
        return client.get("/ok").status_code

    def to_loopback() -> Any:
        return requests.get(f"{url}/ok", proxies={"http": url}, timeout=3).status_code

    return {act.__name__: _result(act) for act in (of_requests, of_urllib, tunnel, of_the_fast_client, to_loopback)}


def proxies_of_the_environment(url: str) -> list[Any]:
    os.environ |= {"http_proxy": url, "HTTP_PROXY": url, "no_proxy": "x"}
    forgotten = sorted(guarding.forget_environment())
    return [forgotten, "no_proxy" in os.environ, urllib.request.getproxies().get("http")]


def _result(act: Callable[[], Any]) -> str:
    try:
        return str(act())
    except Exception as error:
        return "HostNotAllowed" if "HostNotAllowed" in signature_of(error).types else repr(error)


def unix_sockets_are_no_network() -> str:
    def act() -> None:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect("/nonexistent/socket")

    return error_of(act)


def reported() -> list[str]:
    return _shown
