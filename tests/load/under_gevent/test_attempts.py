"""Attempts that clients repeat by themselves are counted, without a change of what the clients do."""

from __future__ import annotations

import errno
from typing import Any

import locust
import requests.adapters
import urllib3
from locust.env import Environment

from capexplorer.load.recorder import RecordedTick, Recorder


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


def _with_resets(kind: type[locust.User], url: str) -> dict[str, Any]:
    """Of a server that resets every other connection."""
    recorder = Recorder()
    user = _user(kind, url, recorder)
    for _ in range(20):
        user.client.get("/every-other-reset", headers={"Connection": "close"})
    return _reported(recorder.drain(0.0, 0))


def test_resets_that_fast_http_user_hides_are_counted_and_its_requests_stay_successes(url: str) -> None:
    found = _with_resets(locust.FastHttpUser, url)
    assert (found["requests"], found["failures"]) == (20, [])
    [[*row, count]] = found["retried"]
    assert row == ["GET", "/every-other-reset", "ConnectionResetError", errno.ECONNRESET, False]
    assert 19 <= count <= 20


def test_http_user_hides_no_failures(url: str) -> None:
    failures = [["GET", "/every-other-reset", "ConnectionResetError", 10]]
    assert _with_resets(locust.HttpUser, url) == {"requests": 20, "failures": failures, "retried": []}


def test_the_last_attempt_is_the_failure_and_only_those_before_it_are_retries(url: str) -> None:
    recorder = Recorder()
    user = _user(locust.FastHttpUser, url, recorder)
    user.client.get("/reset")
    user.client.post("/reset")
    user.client.get("/ok")
    user.client.get("/silence")
    found = _reported(recorder.drain(0.0, 0))
    assert found["requests"] == 4
    assert sorted(found["failures"]) == [
        ["GET", "/reset", "ConnectionResetError", 1],
        ["GET", "/silence", "HTTPConnectionClosed", 1],
        ["POST", "/reset", "ConnectionResetError", 1],
    ]
    counted = {(name, reused): count for _, name, _, _, reused, count in found["retried"]}
    assert counted == {("/reset", False): 11, ("/silence", True): 1, ("/silence", False): 10}


def test_a_failure_that_user_code_forgives_is_not_a_retry(url: str) -> None:
    recorder = Recorder()
    with _user(locust.FastHttpUser, url, recorder).client.get("/reset", catch_response=True) as response:
        response.success()
    found = _reported(recorder.drain(0.0, 0))
    assert (found["requests"], found["failures"]) == (1, [])
    assert [row[-1] for row in found["retried"]] == [11]


def test_retries_that_a_locustfile_asks_of_the_user_agent_are_counted(url: str) -> None:
    recorder = Recorder()
    _user(locust.FastHttpUser, url, recorder, max_retries=2, network_timeout=0.1).client.get("/hang")
    found = _reported(recorder.drain(0.0, 0))
    assert found["failures"] == [["GET", "/hang", "TimeoutError", 1]]
    assert [(row[2], row[-1]) for row in found["retried"]] == [("TimeoutError", 2)]


def test_retries_that_a_locustfile_asks_of_an_adapter_are_counted(url: str) -> None:
    recorder = Recorder()
    user = _user(locust.HttpUser, url, recorder)
    retry = urllib3.Retry(2, status_forcelist=[503], raise_on_status=False)
    user.client.mount("http://", requests.adapters.HTTPAdapter(max_retries=retry))
    user.client.get("/reset")
    user.client.get("/503")
    found = _reported(recorder.drain(0.0, 0))
    assert len(found["failures"]) == 2
    assert sorted((row[1], row[-1]) for row in found["retried"]) == [("/503", 2), ("/reset", 2)]
