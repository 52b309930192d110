"""What is kept of a request and of its reply, by client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from locust.env import Environment

from capexplorer.load.kept_requests import RequestSampling
from capexplorer.load.recorder import Recorder
from capexplorer.load.workload import HTTP_USERS
from capexplorer.model.kept_request import KeptRequest
from capexplorer.session import redact
from capexplorer.session.redact_request import without_secrets

from ..servers import closed_port

Kept = dict[tuple[str, str], KeptRequest]
"""By reason and the last part of the URL."""


@pytest.fixture(scope="module", params=HTTP_USERS, ids=lambda kind: str(kind.__name__))
def kept(request: pytest.FixtureRequest, url: str) -> Kept:
    """A failed POST, a second one over the same connection, a failed check, and a connection that is refused."""
    environment, recorder = Environment(user_classes=[]), Recorder(sampling=RequestSampling(without_secrets))
    redact.remember({"ID": "t0p-secret-id"})
    recorder.begin_level(3)
    environment.events.request.add_listener(recorder.on_request)  # type: ignore[no-untyped-call]
    client: Any = type("Client", (request.param,), {"host": url, "abstract": False})(environment).client
    for _ in range(2):
        client.post(
            "/exhausted?id=t0p-secret-id",
            json={"user": "ann", "password": "hunter2"},
            headers={"Authorization": "Bearer abcdef", "X-Trace": "17"},
        )
    with client.get("/checked", catch_response=True) as response:
        response.failure("stale: 3 of 5")
    client.get(f"http://127.0.0.1:{closed_port()}/refused")
    return {(each.place.why, each.request.url.rpartition("/")[2]): each.request for each in recorder.drain(0.0, 0).kept}


FAILED = "first", "exhausted?id=***"


def test_a_request_is_kept_as_it_was_sent_without_its_secrets(kept: Kept) -> None:
    failed = kept[FAILED]
    sent = {name.lower(): value for name, value in failed.sent_headers}
    assert (sent["authorization"], sent["x-trace"], sent["content-type"]) == ("***", "17", "application/json")
    assert json.loads(failed.sent.text) == {"user": "ann", "password": "***"}
    assert (failed.brief.method, failed.brief.level) == ("POST", 3)


def test_the_reply_of_a_kept_request_is_kept_without_secrets(kept: Kept) -> None:
    failed = kept[FAILED]
    assert failed.brief.status == 503
    assert json.loads(failed.received.text) == {"error": "upstream pool exhausted", "session_token": "***"}
    assert ("set-cookie", "***") in [(name.lower(), value) for name, value in failed.headers]


def test_the_phases_of_a_kept_request_add_up_to_its_time(kept: Kept) -> None:
    first, second = kept[FAILED], kept["last", "exhausted?id=***"]
    assert (first.phases.kept_connection, second.phases.kept_connection) == (False, True)
    connect_ms, first_ms, body_ms = (first.phases.connect_ms or 0, first.phases.first_byte_ms or 0, first.phases.body_ms or 0)
    assert min(connect_ms, body_ms) > 0
    assert first_ms + body_ms >= 50  # the server waits 50 ms before it sends the body; the first byte may be delivered late
    assert connect_ms + first_ms + body_ms == pytest.approx(first.brief.response_ms, rel=0.01)


def test_a_reply_that_a_check_refused_is_kept_with_the_message_of_the_check(kept: Kept) -> None:
    checked = kept["first", "checked"]
    assert (checked.brief.error, checked.brief.status, checked.received.text) == ("stale: 3 of 5", 200, "ok")


def test_without_a_reply_only_the_error_is_known(kept: Kept) -> None:
    refused = kept["first", "refused"]
    assert "refused" in refused.brief.error
    assert (refused.brief.status, refused.phases.first_byte_ms, refused.headers) == (None, None, ())
