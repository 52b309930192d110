"""The header `traceparent` of each request, by client."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from locust.env import Environment

from capexplorer.load.hooks.hook import while_in_place
from capexplorer.load.hooks.hook_table import TRACES
from capexplorer.load.kept_requests import RequestSampling
from capexplorer.load.recorder import Recorder
from capexplorer.load.workload import HTTP_USERS
from capexplorer.session.redact_request import without_secrets

SAMPLED = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01")


@pytest.fixture(params=HTTP_USERS, ids=lambda kind: str(kind.__name__))
def environment(request: pytest.FixtureRequest) -> Environment:
    return Environment(user_classes=[request.param])


@pytest.fixture
def client(environment: Environment, echo: str) -> Any:
    (kind,) = environment.user_classes
    return type("Client", (kind,), {"host": echo, "abstract": False})(environment).client


@pytest.fixture
def traces() -> Iterator[None]:
    with while_in_place(TRACES):
        yield


def sent(response: Any) -> str | None:
    """The header as the service got it."""
    found: str | None = json.loads(response.text)["headers"].get("traceparent")
    return found


@pytest.mark.usefixtures("traces")
def test_each_request_has_a_sampled_trace_of_its_own(client: Any) -> None:
    found = [sent(client.get("/")) or "" for _ in range(3)]
    assert all(map(SAMPLED.fullmatch, found))
    assert len(set(found)) == 3


@pytest.mark.usefixtures("traces")
def test_user_code_that_seeds_random_gets_other_traces(client: Any) -> None:
    found = []
    for _ in range(2):
        random.seed(7)
        found.append(sent(client.get("/")))
    assert found[0] != found[1]


@pytest.mark.usefixtures("traces")
def test_a_request_is_otherwise_as_before(client: Any) -> None:
    response = client.post("/items?a=1", data="body", headers={"X-Own": "7"})
    got = json.loads(response.text)
    assert (got["method"], got["path"], got["body"], got["headers"]["x-own"]) == ("POST", "/items?a=1", "body", "7")
    assert SAMPLED.fullmatch(got["headers"]["traceparent"])


@pytest.mark.usefixtures("traces")
def test_a_trace_of_user_code_stays(client: Any) -> None:
    assert sent(client.get("/", headers={"Traceparent": "00-own"})) == "00-own"


@pytest.mark.usefixtures("traces")
def test_a_redirected_request_has_a_trace(client: Any) -> None:
    response = client.get("/moved")
    assert json.loads(response.text)["path"] == "/landed"
    assert SAMPLED.fullmatch(sent(response) or "")


def test_without_the_option_no_trace_is_sent(client: Any) -> None:
    assert sent(client.get("/")) is None


@pytest.mark.usefixtures("traces")
def test_a_kept_request_names_its_trace(environment: Environment, client: Any) -> None:
    recorder = Recorder(sampling=RequestSampling(without_secrets))
    recorder.begin_level(0)
    environment.events.request.add_listener(recorder.on_request)  # type: ignore[no-untyped-call]
    trace = sent(client.get("/")) or ""
    kept = [each.request.trace_id for each in recorder.drain(0.0, 0).kept]
    assert set(kept) == {trace.split("-")[1]}
