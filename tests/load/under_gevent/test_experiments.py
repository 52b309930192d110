"""What users do otherwise in an experiment, against a server on loopback."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import pytest

from capexplorer.load import native, workload
from capexplorer.load.load_thread import LoadThread
from capexplorer.load.recorder import RecordedTick
from capexplorer.model.experiments import Experiment
from capexplorer.profile import Task, Users

Client = Literal["fast", "requests", "lean"]

ALONE, WITHOUT = (Experiment(name=name, endpoint="GET /a") for name in ("alone", "without"))
"""Of two endpoints."""


def asked(url: str, client: Client, experiment: Experiment | None, enough: Callable[[RecordedTick], bool]) -> RecordedTick:
    """What two users of two endpoints did in the first tick of an experiment that is `enough`, after they had begun."""
    declared = Users(client=client, wait_s=0.02, task=(Task(name="/a"), Task(name="/b", path="/b")))
    host = LoadThread(lambda report: None)
    host.start()
    host.make_workload(lambda: workload.from_profile(declared, url), url, own_events=True)
    host.set_users(2, 100.0)
    deadline_s = time.monotonic() + 20
    host.begin_level(0, experiment)
    while not host.recorder.drain(0.0, 0).all_requests:
        assert time.monotonic() < deadline_s
        native.sleep(0.05)
    tick = host.recorder.drain(0.0, 0)
    while not enough(tick):
        assert time.monotonic() < deadline_s
        native.sleep(0.3)
        tick = host.recorder.drain(0.0, 0)
    host.stop()
    return tick


CLIENTS = pytest.mark.parametrize("client", ["fast", "requests", "lean"])


def named(tick: RecordedTick) -> set[str]:
    return {each.name for each in tick.endpoints if each.requests}


@CLIENTS
def test_one_endpoint_alone_the_others_and_a_path_that_no_task_has(url: str, client: Client) -> None:
    many = lambda tick: tick.all_requests >= 8  # noqa: E731
    assert named(asked(url, client, None, lambda tick: len(named(tick)) == 2)) == {"/a", "/b"}
    assert named(asked(url, client, ALONE, many)) == {"/a"}
    assert named(asked(url, client, WITHOUT, many)) == {"/b"}
    assert named(asked(url, client, Experiment(name="path", endpoint="GET /health"), many)) == {"/health"}


@CLIENTS
def test_connections_are_closed_after_each_task(url: str, client: Client) -> None:
    kept = asked(url, client, None, lambda tick: tick.all_requests >= 8)
    again = asked(url, client, Experiment(name="reconnect"), lambda tick: tick.all_requests >= 8)
    assert not kept.closed_by_users
    assert (again.closed_by_users or 0) >= again.all_requests - 2


def test_half_the_pauses_are_those_that_are_counted(url: str) -> None:
    tick = asked(url, "fast", Experiment(name="half_pauses"), lambda tick: tick.waits >= 8)
    assert tick.wait_sum_s / tick.waits == pytest.approx(0.01)
