"""Load goes to loopback, unless a host is allowed by name. The guard stands where sockets connect."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

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
def test_what_is_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) == expected


def test_loopback_by_address_and_by_name_is_reached_by_both_clients(seen: Played) -> None:
    assert seen["loopback"] == [True] * 4
    assert seen["redirects_to_loopback"] == [True, True]


def test_an_address_keeps_no_resolver_thread_busy(seen: Played) -> None:
    assert seen["threads_for_addresses"] == 0


@pytest.mark.parametrize("scene", ["absolute_urls", "names", "redirects"])
def test_another_host_is_refused_to_both_clients(seen: Played, scene: str) -> None:
    assert seen[scene] == [True, True]


def test_another_host_is_refused_to_raw_sockets(seen: Played) -> None:
    refused = f"HostNotAllowed {errno.EACCES}"
    plain, v6, connect_ex, datagram, message, created = seen["raw_sockets"]
    assert (plain, v6, created) == (refused, refused, refused)
    assert connect_ex == f"PermissionError {errno.EACCES}"
    assert (datagram, message) == (refused, refused)


def test_an_allowed_name_may_be_reached_at_the_addresses_that_it_resolves_to(seen: Played) -> None:
    assert seen["allowed_names"] == [True, False, False, True]


def test_sockets_that_are_no_network_are_left_alone(seen: Played) -> None:
    assert seen["unix_sockets_are_no_network"] == f"FileNotFoundError {errno.ENOENT}"


def test_each_refused_host_is_told_once(seen: Played) -> None:
    assert seen["told"] == ["192.0.2.1", "elsewhere.invalid", "2001:db8::1"]
