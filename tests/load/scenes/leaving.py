"""Connections of users that leave, counted from the service's side: those that the kernel has as established at its port."""

from __future__ import annotations

import gc
from typing import Any

import gevent
import locust
from geventhttpclient.client import HTTPClientPool
from locust import constant
from locust.clients import HttpSession
from locust.contrib.fasthttp import FastHttpSession
from locust.exception import StopUser

from capexplorer.load.connections import closes
from capexplorer.load.lean.session import LeanSession
from capexplorer.model.load import OfferedRate
from capexplorer.users import LeanHttpUser

from ..servers import established
from ..under_gevent.rig import Rig

CLIENTS: dict[str, type[locust.User]] = {"requests": locust.HttpUser, "fast": locust.FastHttpUser, "lean": LeanHttpUser}
STEPS = (6, 2, 5, 0)

gc.disable()  # it finds the clients of users that have ended, but nobody knows when


def _user(kind: type[locust.User], url: str, path: str = "/ok", **attributes: Any) -> type[locust.User]:
    def ask(user: Any) -> None:
        user.client.get(path)
        user.has_reply = True

    attributes = {"host": url, "abstract": False, "wait_time": constant(0.01), "tasks": [ask], **attributes}
    return type("Visitor", (kind,), attributes)


def _steps(kind: type[locust.User], url: str, each: int = 1, *, replies: bool = True) -> list[int]:
    """The established connections after each of STEPS: `each` a user, or those after a minute. `replies`: a step waits until each
    user has a reply.
    """
    rig, found = Rig(kind), []

    def reached(users: int) -> bool:
        greenlets = tuple(rig.host.engine.runner.user_greenlets.greenlets)  # copied at once: the load thread changes the set
        running = [user for greenlet in greenlets for user in greenlet.args]
        have_replies = all(hasattr(user, "has_reply") for user in running)
        return len(running) == users and (have_replies or not replies) and established(url) == each * users

    for users in STEPS:
        rig.host.set_users(users, 100.0)
        rig.until(lambda users=users: reached(users))  # type: ignore[misc]
        found.append(established(url))
    rig.host.stop()
    return found


def after_each_step(url: str) -> dict[str, list[int]]:
    return {name: _steps(_user(kind, url), url) for name, kind in CLIENTS.items()}


def while_a_request_runs(url: str) -> dict[str, list[int]]:
    return {name: _steps(_user(kind, url, "/hang"), url, replies=False) for name, kind in CLIENTS.items()}


def while_tls_begins(silent: str) -> dict[str, list[int]]:
    """A service that accepts connections and sends nothing."""
    return {name: _steps(_user(kind, silent), silent, replies=False) for name, kind in CLIENTS.items()}


def over_tls(tls: str) -> dict[str, list[int]]:
    def trust(user: Any) -> None:
        if isinstance(user, locust.HttpUser):
            user.client.verify = False

    kinds = {name: _user(kind, tls, on_start=trust) for name, kind in CLIENTS.items()}
    return {name: _steps(kind, tls) for name, kind in kinds.items()}


def of_a_second_client(url: str) -> dict[str, list[int]]:
    """Each user has two connections, the second by a session of another kind."""
    makes = {
        "requests": lambda user: HttpSession(url, user.environment.events.request, user),
        "fast": lambda user: FastHttpSession(url, user.environment.events.request, user),
        "lean": lambda user: LeanSession(url, user.environment.events.request, user),
    }

    def kind_of(make: Any) -> type[locust.User]:
        def on_start(user: Any) -> None:
            user.other = make(user)
            user.other.get("/ok")

        return _user(locust.FastHttpUser, url, on_start=on_start)

    return {name: _steps(kind_of(make), url, each=2) for name, make in makes.items()}


def of_users_that_end_by_themselves(url: str) -> dict[str, bool]:
    """Users that stop after one request, or raise in `on_start` after one, 20 times: no more connections than users."""
    found = {}
    for name, kind in CLIENTS.items():
        starts: list[int] = []

        def visit_once(user: Any) -> None:
            user.client.get("/ok")
            raise StopUser

        def fail_at_first(user: Any, starts: list[int] = starts) -> None:
            starts.append(1)
            user.client.get("/ok")
            if len(starts) % 2:
                raise RuntimeError("no credentials")

        rig = Rig(_user(kind, url, on_start=fail_at_first, tasks=[visit_once]))
        rig.host.set_users(3, 100.0)
        rig.until(lambda starts=starts: len(starts) >= 20)  # type: ignore[misc]
        rig.host.set_users(0, 100.0)
        found[name] = rig.reaches(0) and rig.until(lambda: established(url) == 0)
        rig.host.stop()
    return found


def of_users_stopped_as_a_request_begins(url: str) -> dict[str, bool]:
    """Users that are stopped where their second request waits first: whatever it waits for, no connection is left."""
    found = {}
    for name, kind in CLIENTS.items():
        stopped: list[int] = []

        def visit_twice(user: Any, stopped: list[int] = stopped) -> None:
            user.reply = user.client.get("/ok")
            stopped.append(1)
            gevent.spawn(gevent.getcurrent().kill)
            user.client.get("/ok")

        rig = Rig(_user(kind, url, tasks=[visit_twice]))
        rig.host.set_users(3, 100.0)
        rig.until(lambda stopped=stopped: len(stopped) >= 3)  # type: ignore[misc]
        rig.host.set_users(0, 100.0)
        found[name] = rig.reaches(0) and rig.until(lambda: established(url) == 0)
        rig.host.stop()
    return found


def of_a_pool_that_users_share(url: str) -> list[int]:
    """It stays open when one of its users leaves."""
    shared = HTTPClientPool(concurrency=10)
    rig = Rig(_user(locust.FastHttpUser, url, client_pool=shared))
    rig.host.set_users(4, 100.0)
    rig.until(lambda: rig.host.users == 4 and established(url) > 0)
    rig.host.set_users(0, 100.0)
    rig.reaches(0)
    found = [established(url)]
    rig.host.call(shared.close)
    rig.until(lambda: established(url) == 0)
    rig.host.stop()
    return [int(found[0] > 0), established(url)]


def after_an_offered_rate(url: str) -> list[int]:
    """The pool of a rate, and the users that go on after it."""
    rig = Rig(_user(locust.FastHttpUser, url, "/exhausted"))  # takes 50 ms
    rig.host.set_rate(OfferedRate(per_s=50.0, arrivals="even", max_users=20))
    rig.until(lambda: established(url) >= 2)
    rig.host.set_users(1, 100.0)
    rig.until(lambda: rig.host.users == 1 and established(url) == 1)
    found = [established(url)]
    rig.host.stop()
    rig.until(lambda: established(url) == 0)
    return [*found, established(url)]


def do_not_count_as_closed_by_users(url: str) -> list[int]:
    """Of users that leave while they wait."""
    before = closes.by_users
    found = _steps(_user(locust.FastHttpUser, url, wait_time=constant(60)), url)
    return [*found, closes.by_users - before]
