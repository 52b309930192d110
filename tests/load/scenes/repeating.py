"""Clients that repeat requests by themselves, and what a recorder counts."""

from __future__ import annotations

from typing import Any

import locust
import requests.adapters
import urllib3
from locust.env import Environment

from capexplorer.load.recorder import RecordedTick, Recorder

REQUESTS = 20


def _user(kind: type[locust.User], url: str, recorder: Recorder, **attributes: Any) -> Any:
    environment = Environment(user_classes=[])
    environment.events.request.add_listener(recorder.on_request)  # type: ignore[no-untyped-call]
    return type("Client", (kind,), {"host": url, "abstract": False, **attributes})(environment)


def _reported(tick: RecordedTick) -> dict[str, Any]:
    return {
        "requests": sum(each.requests for each in tick.endpoints),
        "failures": [[each.method, each.name, each.signature.types[-1], each.count] for each in tick.failures],
        "retried": [
            [each.method, each.name, each.signature.types[-1], each.signature.errno, each.signature.reused, each.count]
            for each in tick.retried
        ],
    }


def hidden_resets(url: str) -> dict[str, Any]:
    """A server that resets every other connection."""
    found = {}
    for kind in (locust.FastHttpUser, locust.HttpUser):
        recorder = Recorder()
        user = _user(kind, url, recorder)
        for _ in range(REQUESTS):
            user.client.get("/every-other-reset", headers={"Connection": "close"})
        found[kind.__name__] = _reported(recorder.drain(0.0, 0))
    return found


def resets_only(url: str) -> dict[str, Any]:
    recorder = Recorder()
    user = _user(locust.FastHttpUser, url, recorder)
    user.client.get("/reset")
    user.client.post("/reset")
    user.client.get("/ok")
    user.client.get("/silence")
    return _reported(recorder.drain(0.0, 0))


def a_failure_that_user_code_forgives(url: str) -> dict[str, Any]:
    recorder = Recorder()
    with _user(locust.FastHttpUser, url, recorder).client.get("/reset", catch_response=True) as response:
        response.success()
    return _reported(recorder.drain(0.0, 0))


def retries_of_the_user_agent(url: str) -> dict[str, Any]:
    recorder = Recorder()
    _user(locust.FastHttpUser, url, recorder, max_retries=2, network_timeout=0.1).client.get("/hang")
    return _reported(recorder.drain(0.0, 0))


def retries_of_an_adapter(url: str) -> dict[str, Any]:
    recorder = Recorder()
    user = _user(locust.HttpUser, url, recorder)
    retry = urllib3.Retry(2, status_forcelist=[503], raise_on_status=False)
    user.client.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
    user.client.get("/reset")
    user.client.get("/503")
    return _reported(recorder.drain(0.0, 0))
