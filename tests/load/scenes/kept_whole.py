"""Requests that are kept in full, for each client."""

from __future__ import annotations

from typing import Any

import locust
import msgspec
from locust.env import Environment

from capexplorer.load.kept_requests import RequestSampling
from capexplorer.load.lean.user import LeanHttpUser
from capexplorer.load.recorder import Recorder
from capexplorer.session import redact
from capexplorer.session.redact_request import without_secrets


def _kept(kind: type[locust.User], url: str, closed_url: str) -> list[dict[str, Any]]:
    """A failed POST, a second one over the same connection, a failed check, and a connection that is refused."""
    environment, recorder = Environment(user_classes=[]), Recorder(sampling=RequestSampling(without_secrets))
    redact.remember({"ID": "t0p-secret-id"})
    recorder.begin_level(3)
    environment.events.request.add_listener(recorder.on_request)  # type: ignore[no-untyped-call]
    user: Any = type("Client", (kind,), {"host": url, "abstract": False})(environment)
    for _ in range(2):
        user.client.post(
            "/exhausted?id=t0p-secret-id",
            json={"user": "ann", "password": "hunter2"},
            headers={"Authorization": "Bearer abcdef", "X-Trace": "17"},
        )
    with user.client.get("/checked", catch_response=True) as response:
        response.failure("stale: 3 of 5")
    user.client.get(closed_url + "/refused")
    found = {(each.place.why, each.request.url.rpartition("/")[2]): each.request for each in recorder.drain(0.0, 0).kept}
    return [
        msgspec.to_builtins(found[key])
        for key in (
            ("first", "exhausted?id=***"),
            ("last", "exhausted?id=***"),
            ("first", "checked"),
            ("first", "refused"),
        )
    ]


def fast(url: str, closed_url: str) -> list[dict[str, Any]]:
    return _kept(locust.FastHttpUser, url, closed_url)


def requests(url: str, closed_url: str) -> list[dict[str, Any]]:
    return _kept(locust.HttpUser, url, closed_url)


def lean(url: str, closed_url: str) -> list[dict[str, Any]]:
    return _kept(LeanHttpUser, url, closed_url)
