"""Load goes to loopback, unless a host is allowed by name. The guard checks each connect of a socket."""

from __future__ import annotations

import errno
import http.client
import os
import urllib.request
from collections.abc import Callable
from urllib.parse import quote, urlsplit

import gevent
import locust
import pytest
import requests
from gevent import socket
from geventhttpclient import HTTPClient
from locust.env import Environment

from capexplorer.load.guard import HostGuard, HostNotAllowed
from capexplorer.load.hooks import guarding
from capexplorer.load.hooks.hook import put_in_place
from capexplorer.load.hooks.hook_table import GUARD
from capexplorer.load.signature import signature_of
from capexplorer.load.workload import HTTP_USERS

ELSEWHERE = "192.0.2.1"
"""TEST-NET-1, an address without a host, in case the guard fails."""

ALL_CLIENTS = pytest.mark.parametrize("kind", HTTP_USERS, ids=lambda kind: str(kind.__name__))

_guard = HostGuard(["Service.Example"])
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


@ALL_CLIENTS
def test_loopback_is_reached_by_address_by_name_and_by_redirects(url: str, kind: type[locust.User]) -> None:
    assert _exception(kind, url, "/ok") is None
    assert _exception(kind, f"http://localhost:{url.rpartition(':')[2]}", "/ok") is None
    assert _exception(kind, url, f"/redirect?to={quote(url + '/ok')}") is None
    assert gevent.get_hub().threadpool.size <= 1  # only the name, not an address, needs a resolver's thread


@ALL_CLIENTS
@pytest.mark.parametrize(
    "path", [f"http://{ELSEWHERE}/", "http://elsewhere.invalid/", f"/redirect?to={quote(f'http://{ELSEWHERE}/x')}"]
)
def test_requests_to_another_host_are_refused(url: str, kind: type[locust.User], path: str) -> None:
    found = _exception(kind, url, path)
    assert found is not None
    assert "HostNotAllowed" in signature_of(found).types


def _stream(family: int, call: Callable[[socket.socket], object]) -> None:
    with socket.socket(family) as sock:
        call(sock)


def _datagram(call: Callable[[socket.socket], object]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        call(sock)


@pytest.mark.parametrize(
    "act",
    [
        lambda: _stream(socket.AF_INET, lambda sock: sock.connect((ELSEWHERE, 80))),
        lambda: _stream(socket.AF_INET6, lambda sock: sock.connect(("2001:db8::1", 80))),
        lambda: _datagram(lambda sock: sock.sendto(b"x", (ELSEWHERE, 9))),
        lambda: _datagram(lambda sock: sock.sendmsg([b"x"], (), 0, (ELSEWHERE, 9))),
        lambda: socket.create_connection((ELSEWHERE, 80), timeout=3),
    ],
    ids=["connect", "IPv6", "sendto", "sendmsg", "create_connection"],
)
def test_raw_sockets_cannot_connect_or_send_to_another_host(act: Callable[[], object]) -> None:
    with pytest.raises(HostNotAllowed):
        act()


def test_connect_ex_returns_the_error_as_a_number() -> None:
    with socket.socket() as sock:
        assert sock.connect_ex((ELSEWHERE, 80)) == errno.EACCES


def test_sockets_that_are_not_network_sockets_are_left_unchanged() -> None:
    with pytest.raises(FileNotFoundError):
        _stream(socket.AF_UNIX, lambda sock: sock.connect("/nonexistent/socket"))


def test_an_allowed_name_may_be_reached_at_the_addresses_that_it_resolves_to() -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 80))]
    with pytest.raises(HostNotAllowed):
        _guard.reachable("elsewhere.invalid", found)
    assert not _guard.permits("192.0.2.7")
    _guard.reachable("SERVICE.example", found)
    assert _guard.permits("service.EXAMPLE")
    assert _guard.permits("192.0.2.7")


def test_each_refused_host_is_reported_once() -> None:
    shown: list[str] = []
    guard = HostGuard((), shown.append)
    for host in (ELSEWHERE, "elsewhere.invalid", ELSEWHERE):
        with pytest.raises(HostNotAllowed):
            guard.check(host)
    assert shown == [ELSEWHERE, "elsewhere.invalid"]


# -- a proxy on loopback, which replies 200 to everything


def _by_requests(proxy: str, url: str) -> int:
    return requests.get(url, proxies={"http": proxy}, timeout=3).status_code


def _by_urllib(proxy: str, url: str) -> int:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
    return int(opener.open(url, timeout=3).status)


def _by_a_tunnel(proxy: str, url: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(proxy).hostname or "", urlsplit(proxy).port, timeout=3)
    connection.set_tunnel(urlsplit(url).hostname or "", 80)
    connection.request("GET", "/ok")


def _by_the_fast_client(proxy: str, url: str) -> int:
    client = HTTPClient(
        urlsplit(url).hostname or "",
        80,
        proxy_host=urlsplit(proxy).hostname,
        proxy_port=urlsplit(proxy).port,
        network_timeout=3,
    )
    return client.get("/ok").status_code


@pytest.mark.parametrize("ask", [_by_requests, _by_urllib, _by_a_tunnel, _by_the_fast_client])
def test_a_proxy_on_loopback_does_not_bypass_the_guard(url: str, ask: Callable[[str, str], object]) -> None:
    with pytest.raises(Exception) as refused:  # noqa: PT011 - each client wraps it in its own way
        ask(url, f"http://{ELSEWHERE}/ok")
    assert "HostNotAllowed" in signature_of(refused.value).types


def test_a_proxy_may_be_used_for_loopback(url: str) -> None:
    assert _by_requests(url, f"{url}/ok") == 200


def test_proxies_of_the_environment_are_removed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy"):
        monkeypatch.setenv(name, url)
    assert sorted(guarding.forget_environment()) == ["HTTP_PROXY", "http_proxy"]
    assert "no_proxy" in os.environ
    assert urllib.request.getproxies().get("http") is None
