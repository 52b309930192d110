"""Which addresses are loopback; and names that /etc/hosts maps to other addresses, which the guard checks by address."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from programs import require

from capexplorer.addresses import is_loopback

from .patched import Played, play


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.9.10", True), ("localhost", True), ("LOCALHOST", True), ("::1", True), ("[::1]", True),
     ("::ffff:127.0.0.1", True), ("", True), ("10.0.0.1", False), ("192.0.2.1", False), ("localhost.example", False),
     ("127.0.0.1.example", False), ("::ffff:10.0.0.1", False), ("0.0.0.0", False)],
)  # fmt: skip
def test_loopback_addresses_are_recognised(host: str, expected: bool) -> None:
    assert is_loopback(host) == expected


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
