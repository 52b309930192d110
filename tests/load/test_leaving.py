"""Users who leave close their connections: a service has as many as there are users, after each step down."""

from __future__ import annotations

import socket
import sys

import pytest

from .patched import Played, play
from .servers import self_signed, server

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="connections are counted in /proc")]

CLIENTS = ("requests", "fast", "lean")
STEPS = [6, 2, 5, 0]


@pytest.fixture(scope="module")
def seen() -> Played:
    with server() as plain, server(self_signed()) as with_tls, socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        silent = f"https://127.0.0.1:{listener.getsockname()[1]}"
        return play("load.scenes.leaving", url=plain.url, tls=with_tls.url, silent=silent)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("scene", ["after_each_step", "while_a_request_runs", "while_tls_begins", "over_tls"])
def test_there_are_as_many_connections_as_users(seen: Played, scene: str, client: str) -> None:
    assert seen[scene][client] == STEPS


@pytest.mark.parametrize("client", CLIENTS)
def test_all_sessions_of_a_user_are_closed(seen: Played, client: str) -> None:
    assert seen["of_a_second_client"][client] == [2 * users for users in STEPS]


@pytest.mark.parametrize("client", CLIENTS)
def test_users_that_end_by_themselves_or_by_an_error_leave_no_connection(seen: Played, client: str) -> None:
    assert seen["of_users_that_end_by_themselves"][client]


@pytest.mark.parametrize("client", CLIENTS)
def test_users_who_are_stopped_as_a_request_begins_leave_no_connection(seen: Played, client: str) -> None:
    assert seen["of_users_stopped_as_a_request_begins"][client]


def test_a_pool_that_users_share_stays_open(seen: Played) -> None:
    assert seen["of_a_pool_that_users_share"] == [1, 0]


def test_users_of_a_rate_that_are_not_needed_any_more_leave_no_connection(seen: Played) -> None:
    assert seen["after_an_offered_rate"] == [1, 0]


def test_these_closes_do_not_count_as_those_of_users_that_go_on(seen: Played) -> None:
    assert seen["do_not_count_as_closed_by_users"] == [*STEPS, 0]
