"""Users who leave close their connections: a service has as many as there are users, after each step down."""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Callable
from typing import Any

import gevent
import locust
import pytest
from geventhttpclient.client import HTTPClientPool
from kit.servers import conversations
from locust import constant
from locust.clients import HttpSession
from locust.contrib.fasthttp import FastHttpSession
from locust.exception import StopUser

from capexplorer.load.connections import closes, uncounted
from capexplorer.load.lean.session import LeanSession
from capexplorer.model.load import OfferedRate
from capexplorer.users import LeanHttpUser

from ..servers import established
from .rig import Rig

Make = Callable[..., Rig]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="connections are counted in /proc"),
]

CLIENTS = {"requests": locust.HttpUser, "fast": locust.FastHttpUser, "lean": LeanHttpUser}
STEPS = (6, 2, 5, 0)

gc.disable()  # it finds the clients of users that have ended, but nobody knows when


@pytest.fixture(params=list(CLIENTS.values()), ids=list(CLIENTS))
def kind(request: pytest.FixtureRequest) -> type[locust.User]:
    found: type[locust.User] = request.param
    return found


def _user(kind: type[locust.User], url: str, path: str = "/ok", **attributes: Any) -> type[locust.User]:
    def ask(user: Any) -> None:
        user.client.get(path)
        user.has_reply = True

    attributes = {"host": url, "abstract": False, "wait_time": constant(0.01), "tasks": [ask], **attributes}
    return type("Visitor", (kind,), attributes)


def _running(made: Rig) -> list[Any]:
    """The users that run now."""
    greenlets = tuple(made.host.engine.runner.user_greenlets.greenlets)  # copied at once: the load thread changes the set
    return [user for greenlet in greenlets for user in greenlet.args]


def _step(made: Rig, url: str, each: int = 1, *, replies: bool = True) -> None:
    """After each of STEPS there are `each` connections a user. `replies`: a step waits until each user has a reply."""

    def reached(users: int) -> bool:
        running = _running(made)
        have_replies = all(hasattr(user, "has_reply") for user in running)
        return len(running) == users and (have_replies or not replies) and established(url) == each * users

    for users in STEPS:
        made.host.set_users(users, 100.0)
        made.until(lambda users=users: reached(users))  # type: ignore[misc]


def test_there_are_as_many_connections_as_users_after_each_step(rig: Make, kind: type[locust.User], url: str) -> None:
    _step(rig(_user(kind, url)), url)


def test_there_are_as_many_while_a_request_runs(rig: Make, kind: type[locust.User], url: str) -> None:
    _step(rig(_user(kind, url, "/hang")), url, replies=False)


def test_there_are_as_many_while_tls_begins(rig: Make, kind: type[locust.User]) -> None:
    """A service that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        silent = f"https://127.0.0.1:{listener.getsockname()[1]}"
        _step(rig(_user(kind, silent)), silent, replies=False)


def _broker(connection: socket.socket) -> None:
    """Accepts an MQTT 3 client and reads what it sends, to its end."""
    connection.recv(1024)
    connection.sendall(b"\x20\x02\x00\x00")
    while connection.recv(1024):
        pass


@pytest.mark.filterwarnings("ignore:Callback API")  # Locust's contribution uses the older one of paho
def test_there_are_as_many_of_users_of_mqtt_whose_threads_would_go_on(rig: Make) -> None:
    mqtt = pytest.importorskip("locust.contrib.mqtt")
    with conversations(_broker) as port:
        attributes = {"host": "127.0.0.1", "port": port, "wait_time": constant(0.01), "tasks": [lambda user: None]}
        kind = type("Device", (mqtt.MqttUser,), {"abstract": False, **attributes})
        _step(rig(kind), f"http://127.0.0.1:{port}", replies=False)


def test_there_are_as_many_over_tls(rig: Make, kind: type[locust.User], tls: str) -> None:
    def trust(user: Any) -> None:
        if isinstance(user, locust.HttpUser):
            user.client.verify = False

    _step(rig(_user(kind, tls, on_start=trust)), tls)


@pytest.mark.parametrize("session", [HttpSession, FastHttpSession, LeanSession])
def test_all_sessions_of_a_user_are_closed(rig: Make, url: str, session: Any) -> None:
    """Each user has two connections, the second by a session of its own."""

    def on_start(user: Any) -> None:
        user.other = session(url, user.environment.events.request, user)
        user.other.get("/ok")

    _step(rig(_user(locust.FastHttpUser, url, on_start=on_start)), url, each=2)


def test_users_that_end_by_themselves_or_by_an_error_leave_no_connection(rig: Make, kind: type[locust.User], url: str) -> None:
    """Users that stop after one request, or raise in `on_start` after one, 20 times."""
    starts: list[int] = []

    def visit_once(user: Any) -> None:
        user.client.get("/ok")
        raise StopUser

    def fail_at_first(user: Any) -> None:
        starts.append(1)
        user.client.get("/ok")
        if len(starts) % 2:
            raise RuntimeError("no credentials")

    made = rig(_user(kind, url, on_start=fail_at_first, tasks=[visit_once]))
    made.host.set_users(3, 100.0)
    made.until(lambda: len(starts) >= 20)
    made.host.set_users(0, 100.0)
    made.until(lambda: made.host.users == 0 and established(url) == 0)


def test_users_who_are_stopped_as_a_request_begins_leave_no_connection(rig: Make, kind: type[locust.User], url: str) -> None:
    """They are stopped where their second request waits first: whatever it waits for, no connection is left."""
    stopped: list[int] = []

    def visit_twice(user: Any) -> None:
        user.reply = user.client.get("/ok")
        stopped.append(1)
        gevent.spawn(gevent.getcurrent().kill)
        user.client.get("/ok")

    made = rig(_user(kind, url, tasks=[visit_twice]))
    made.host.set_users(3, 100.0)
    made.until(lambda: len(stopped) >= 3)
    made.host.set_users(0, 100.0)
    made.until(lambda: made.host.users == 0 and established(url) == 0)


def test_a_pool_that_users_share_stays_open(rig: Make, url: str) -> None:
    """Users that leave while they wait: the connection of a request that is stopped is closed in any case."""
    shared = HTTPClientPool(concurrency=10)
    made = rig(_user(locust.FastHttpUser, url, client_pool=shared, wait_time=constant(60)))
    made.host.set_users(4, 100.0)
    made.until(lambda: made.host.users == 4 and all(hasattr(user, "has_reply") for user in _running(made)))
    made.host.set_users(0, 100.0)
    assert made.reaches(0)
    assert established(url) > 0
    made.host.call(shared.close)
    made.until(lambda: established(url) == 0)


def test_users_of_a_rate_that_are_not_needed_any_more_leave_no_connection(rig: Make, url: str) -> None:
    made = rig(_user(locust.FastHttpUser, url, "/exhausted"))  # takes 50 ms
    made.host.set_rate(OfferedRate(per_s=50.0, arrivals="even", max_users=20))
    made.until(lambda: established(url) >= 2)
    made.host.set_users(1, 100.0)
    made.until(lambda: made.host.users == 1 and established(url) == 1)
    made.host.stop()
    made.until(lambda: established(url) == 0)


def test_these_closes_do_not_count_as_those_of_users_that_go_on(rig: Make, url: str) -> None:
    """Of users that leave while they wait."""
    before = closes.by_users
    _step(rig(_user(locust.FastHttpUser, url, wait_time=constant(60))), url)
    assert closes.by_users == before


def test_the_counts_of_closes_never_fall() -> None:
    """The pump's thread may read them while a user ends: a worker once reported -1 closes, and its run ended."""
    before = closes.by_users
    with uncounted():
        closes.add(by_service=False)
        assert closes.by_users == before
    closes.add(2, by_service=False)
    assert closes.by_users == before + 2
