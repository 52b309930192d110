"""A request has a result, or is counted as abandoned, whatever its user does. Each kind of reply: `lean.cases`, tests/e2e."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gevent
import pytest
from gevent.event import Event
from locust.env import Environment
from locust.exception import RescheduleTask
from msgspec.structs import replace

from capexplorer.load.recorder import Recorder
from capexplorer.load.request_counts import request_counts, uncounted
from capexplorer.load.signature import signature_of
from capexplorer.load.user_code import UserErrors
from capexplorer.load.workload import HTTP_USERS

Fired = list[tuple[str, ...] | None]
"""Of each reported request: the types of what it failed with; None: it succeeded."""


@pytest.fixture(params=HTTP_USERS, ids=lambda kind: str(kind.__name__))
def client(request: pytest.FixtureRequest, url: str) -> Any:
    return type("Client", (request.param,), {"host": url, "abstract": False})(Environment(user_classes=[])).client


@pytest.fixture
def fired(client: Any) -> Fired:
    seen: Fired = []

    def on_request(response: Any, exception: Any = None, **_: Any) -> None:
        seen.append(None if exception is None else signature_of(exception, response).types)

    client.request_event.add_listener(on_request)
    return seen


def _counted(act: Callable[[], object]) -> tuple[int, int, int]:
    """(started, reported, abandoned) while `act` ran."""
    before = replace(request_counts)
    act()
    gc.collect()
    now = request_counts
    return now.started - before.started, now.reported - before.reported, now.abandoned - before.abandoned


def _left_by(client: Any, error: BaseException, path: str = "/ok") -> None:
    with suppress(type(error)), client.get(path, catch_response=True):
        raise error


def _killed(act: Callable[[], object]) -> None:
    waiting = gevent.spawn(act)
    gevent.sleep(0.1)
    waiting.kill()


def _asleep_in_the_block(client: Any) -> None:
    with client.get("/ok", catch_response=True):
        gevent.sleep(60)


def _not_entered(client: Any) -> None:
    client.get("/ok", catch_response=True)


def _not_counted(client: Any) -> None:
    with uncounted():
        client.get("/ok")


@pytest.mark.parametrize(
    ("act", "counts", "failed"),
    [
        pytest.param(lambda client: client.get("/ok"), (1, 1, 0), [False], id="read"),
        pytest.param(lambda client: client.get("/503"), (1, 1, 0), [True], id="failed"),
        pytest.param(lambda client: _left_by(client, KeyError("x")), (1, 1, 0), [True], id="left by an error of user code"),
        pytest.param(lambda client: _left_by(client, KeyError("x"), "/503"), (1, 1, 0), [True], id="left by an error, failed"),
        pytest.param(lambda client: _left_by(client, RescheduleTask()), (1, 0, 1), [], id="left early"),
        pytest.param(lambda client: _killed(lambda: client.get("/hang")), (1, 0, 1), [], id="stopped in the request"),
        pytest.param(lambda client: _killed(lambda: _asleep_in_the_block(client)), (1, 0, 1), [], id="stopped in the block"),
        pytest.param(_not_entered, (1, 0, 1), [], id="not entered"),
        pytest.param(_not_counted, (0, 0, 0), [False], id="uncounted"),
    ],
)
def test_a_request_is_reported_or_abandoned(
    client: Any, fired: Fired, act: Callable[[Any], object], counts: tuple[int, int, int], failed: list[bool]
) -> None:
    assert _counted(lambda: act(client)) == counts
    assert [types is not None for types in fired] == failed


def test_an_error_of_user_code_fails_the_request_unless_the_reply_has(client: Any, fired: Fired) -> None:
    _left_by(client, KeyError("x"))
    _left_by(client, KeyError("x"), "/503")
    assert fired[0] == ("KeyError",)
    assert "KeyError" not in (fired[1] or ())


def test_a_mistake_of_user_code_that_sends_nothing_is_in_flight_no_longer(client: Any) -> None:
    def refused() -> None:
        with suppress(Exception):
            client.request("GET", "/ok", headers={"X": "a\r\nY: b"})

    started, reported, _ = _counted(refused)
    assert started == reported


def test_a_measured_request_that_the_end_of_its_user_cuts_off_is_not_reported() -> None:
    events, seen = Environment(user_classes=[]).events, []
    events.request.add_listener(lambda name, exception, **_: seen.append((name, type(exception).__name__)))  # type: ignore[no-untyped-call]

    def measured(name: str, act: Callable[[], object]) -> None:
        with events.request.measure("TCP", name):
            act()

    cut_off, begun = Event(), Event()
    user = gevent.spawn(measured, "cut off", lambda: (begun.set(), cut_off.wait()))
    begun.wait()
    user.kill()
    measured("fails", lambda: 1 / 0)
    measured("succeeds", lambda: None)
    assert seen == [("fails", "ZeroDivisionError"), ("succeeds", "NoneType")]


def test_a_with_block_that_is_not_entered_is_an_error_of_user_code(client: Any) -> None:
    errors = UserErrors()
    recorder = Recorder(errors=errors)
    _counted(lambda: _not_entered(client))
    recorder.drain(0.0, 0)
    assert [each.type for each in errors.waiting] == ["UserCodeFault"]
