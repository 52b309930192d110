"""What becomes of a request that user code, or the end of its user, leaves without a result."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gevent
import locust
from locust.env import Environment
from locust.exception import RescheduleTask
from msgspec.structs import replace

from capexplorer.load.lean.user import LeanHttpUser
from capexplorer.load.recorder import Recorder
from capexplorer.load.request_counts import request_counts, uncounted
from capexplorer.load.signature import signature_of
from capexplorer.load.user_code import UserErrors


def _seen(kind: type[locust.User], url: str) -> dict[str, Any]:
    environment = Environment(user_classes=[])
    fired: list[Any] = []

    def on_request(response: Any, exception: Any = None, **_: Any) -> None:
        fired.append(None if exception is None else list(signature_of(exception, response).types))

    environment.events.request.add_listener(on_request)  # type: ignore[no-untyped-call]
    client: Any = type("Client", (kind,), {"host": url, "abstract": False})(environment).client

    def counted(act: Callable[[], object]) -> list[Any]:
        """[started, reported, abandoned], and the types of what each reported request failed with."""
        before, already = replace(request_counts), len(fired)
        act()
        gc.collect()
        now = request_counts
        counts = [now.started - before.started, now.reported - before.reported, now.abandoned - before.abandoned]
        return [counts, fired[already:]]

    def left_by(error: BaseException, path: str = "/ok") -> None:
        with suppress(type(error)), client.get(path, catch_response=True):
            raise error

    def killed(path: str, within: Callable[[], object]) -> None:
        waiting = gevent.spawn(within)
        gevent.sleep(0.1)
        waiting.kill()

    def asleep_in_the_block() -> None:
        with client.get("/ok", catch_response=True):
            gevent.sleep(60)

    def not_entered() -> None:
        client.get("/ok", catch_response=True)

    def refused_before() -> None:
        with suppress(Exception):
            client.request("GET", "/ok", headers={"X": "a\r\nY: b"})

    def not_counted() -> None:
        with uncounted():
            client.get("/ok")

    return {
        "read": counted(lambda: client.get("/ok")),
        "failed": counted(lambda: client.get("/503")),
        "left by an error of user code": counted(lambda: left_by(KeyError("x"))),
        "left by an error, and failed": counted(lambda: left_by(KeyError("x"), "/503")),
        "left early": counted(lambda: left_by(RescheduleTask())),
        "stopped in the request": counted(lambda: killed("/hang", lambda: client.get("/hang"))),
        "stopped in the block": counted(lambda: killed("/ok", asleep_in_the_block)),
        "not entered": counted(not_entered),
        "uncounted": counted(not_counted),
        "refused before it is sent": counted(refused_before)[0][0] == counted(refused_before)[0][1],
    }


def http_user(url: str) -> dict[str, Any]:
    return _seen(locust.HttpUser, url)


def fast_http_user(url: str) -> dict[str, Any]:
    return _seen(locust.FastHttpUser, url)


def lean_http_user(url: str) -> dict[str, Any]:
    return _seen(LeanHttpUser, url)


def a_block_not_entered(url: str) -> str:
    """What user code is told."""
    errors = UserErrors()
    recorder = Recorder(errors=errors)
    http_user(url)
    recorder.drain(0.0, 0)
    return errors.waiting[0].text
