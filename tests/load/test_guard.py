"""Load goes to loopback, unless a host is allowed by name. The guard checks each connect of a socket."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import require

from capexplorer.addresses import is_loopback

from .patched import Played, play
from .servers import server


@pytest.fixture(scope="module")
def seen() -> Iterator[Played]:
    with server() as running:
        yield play("load.scenes.guarded", url=running.url)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.9.10", True), ("localhost", True), ("LOCALHOST", True), ("::1", True), ("[::1]", True),
     ("::ffff:127.0.0.1", True), ("", True), ("10.0.0.1", False), ("192.0.2.1", False), ("localhost.example", False),
     ("127.0.0.1.example", False), ("::ffff:10.0.0.1", False), ("0.0.0.0", False)],
)  # fmt: skip
def test_loopback_addresses_are_recognised(host: str, expected: bool) -> None:
    assert is_loopback(host) == expected


def test_loopback_is_reached_by_address_and_by_name_by_all_clients(seen: Played) -> None:
    assert seen["loopback"] == [True] * 6
    assert seen["redirects_to_loopback"] == [True] * 3


def test_an_address_needs_no_resolver_thread(seen: Played) -> None:
    assert seen["threads_for_addresses"] == 0


@pytest.mark.parametrize("scene", ["absolute_urls", "names", "redirects"])
def test_requests_of_all_clients_to_another_host_are_refused(seen: Played, scene: str) -> None:
    assert seen[scene] == [True] * 3


def test_raw_sockets_cannot_connect_or_send_to_another_host(seen: Played) -> None:
    refused = f"HostNotAllowed {errno.EACCES}"
    plain, v6, connect_ex, datagram, message, created = seen["raw_sockets"]
    assert (plain, v6, created) == (refused, refused, refused)
    assert connect_ex == f"PermissionError {errno.EACCES}"
    assert (datagram, message) == (refused, refused)


def test_an_allowed_name_may_be_reached_at_the_addresses_that_it_resolves_to(seen: Played) -> None:
    assert seen["allowed_names"] == [True, False, False, True]


@pytest.mark.parametrize("way", ["of_requests", "of_urllib", "tunnel", "of_the_fast_client"])
def test_a_proxy_on_loopback_does_not_bypass_the_guard(seen: Played, way: str) -> None:
    assert seen["proxies_on_loopback"][way] == "HostNotAllowed"


def test_a_proxy_may_be_used_for_loopback(seen: Played) -> None:
    assert seen["proxies_on_loopback"]["to_loopback"] == "200"


def test_proxies_of_the_environment_are_removed(seen: Played) -> None:
    assert seen["proxies_of_the_environment"] == [["HTTP_PROXY", "http_proxy"], True, None]


def test_sockets_that_are_not_network_sockets_are_left_unchanged(seen: Played) -> None:
    assert seen["unix_sockets_are_no_network"] == f"FileNotFoundError {errno.ENOENT}"


def test_each_refused_host_is_reported_once(seen: Played) -> None:
    assert seen["reported"] == ["192.0.2.1", "elsewhere.invalid", "2001:db8::1", "192.0.2.7 (elsewhere.invalid)"]


HOSTS = """
10.99.0.1 localhost
127.0.0.1 localhost.localdomain
10.99.0.7 service.example
10.99.0.9 run.example
"""
ELSEWHERE_HOSTS = 'mount --bind "$0" /etc/hosts && ip link set lo up && exec "$@"'
REFUSED = [f"HostNotAllowed {errno.EACCES}", f"PermissionError {errno.EACCES}", *[f"HostNotAllowed {errno.EACCES}"] * 3]
"""connect, connect_ex, sendto, sendmsg, create_connection."""
NO_ROUTE = [f"OSError {errno.ENETUNREACH}"] * 5
"""Errors of the kernel, where the guard allows the connection."""


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Played:
    require("unshare")
    if os.geteuid() != 0:
        pytest.skip("needs root to give a process another /etc/hosts")
    hosts: Path = tmp_path_factory.mktemp("names") / "hosts"
    hosts.write_text(HOSTS)
    return play("load.scenes.guarded_names", within=("unshare", "-mn", "sh", "-c", ELSEWHERE_HOSTS, str(hosts)))


def test_a_localhost_that_resolves_elsewhere_is_refused_by_its_address(names: Played) -> None:
    assert names["localhost_elsewhere"] == REFUSED
    assert "load to 10.99.0.1 (localhost) is not allowed" in names["localhost_elsewhere_of_requests"]
    assert names["localhost_here"] == [*["ConnectionRefusedError 111"] * 2, *["no error"] * 2, "ConnectionRefusedError 111"]


def test_an_allowed_name_allows_the_addresses_that_it_resolves_to_and_no_others(names: Played) -> None:
    assert names["address_of_an_allowed_name"] == NO_ROUTE
    assert names["address_of_no_allowed_name"] == REFUSED
    assert names["reported"] == ["10.99.0.1 (localhost)", "10.99.0.8", "run.example", "10.99.0.9"]


def test_the_name_at_which_workers_join_may_be_looked_up_and_gets_no_load(names: Played) -> None:
    assert names["the_name_at_which_workers_join"] == ["10.99.0.9", REFUSED]
