"""A headless run of a locustfile whose shape changes the users each second: one ramp level, with a bin for each user count."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from load.patched import ROOT
from load.servers import closed_port

from capexplorer import cli
from capexplorer.model.events import Log, Sample
from capexplorer.model.timeline import Timeline
from capexplorer.session.reader import read

pytestmark = pytest.mark.slow

LOCUSTFILE_WITH_A_RAMP = """
import itertools
from locust import FastHttpUser, LoadTestShape, constant, task

numbers = itertools.count()

class Visitor(FastHttpUser):
    wait_time = constant(0.05)

    @task
    def visit(self):
        self.client.get(f"/item/{next(numbers)}")

class Climb(LoadTestShape):
    users = itertools.chain(range(1, 13, 2), [None])

    def tick(self):  # by its calls, not by the clock: on a busy machine they are late, and seconds would be left out
        users = next(self.users)
        return users and (users, 100)
"""


@contextmanager
def null_responder() -> Iterator[str]:
    """A server that answers every request at once; gives its URL."""
    port = closed_port()
    process = subprocess.Popen([sys.executable, str(ROOT / "capexplorer" / "load" / "null_responder.py"), str(port)])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shaped")
    (folder / "climb.py").write_text(LOCUSTFILE_WITH_A_RAMP)
    with null_responder() as url:
        command = [
            sys.executable,
            "-m",
            "capexplorer",
            "run",
            "-f",
            "climb.py",
            "--host",
            url,
            "--headless",
            "--sessions-dir",
            ".",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.strip()


@pytest.fixture(scope="module")
def exported(session: Path) -> dict[str, Any]:
    document = session.with_suffix(".json")
    assert cli.run(["export", str(session), "-o", str(document)]) == 0
    found: dict[str, Any] = json.loads(document.read_bytes())
    return found


def test_users_that_change_each_second_make_one_ramp_level_with_bins(session: Path) -> None:
    timeline = Timeline(read(session))
    ramps = [level for level in timeline.levels if level.opened.ramp]
    assert len(ramps) == 1
    assert {level.opened.by for level in timeline.levels} == {"plan"}
    assert ramps[0].figures.goodput_rps is None
    users = [each.users for each in ramps[0].bins]
    assert len(users) >= 3
    assert users == sorted(users)
    assert users[-1] > 5
    assert timeline.ended is not None and timeline.ended.reason == "shape finished"


def test_bins_are_levels_of_the_export_and_throughput_grows_with_users(exported: dict[str, Any]) -> None:
    entries = [each for each in exported["levels"] if each["kind"] == "ramp"]
    assert len(entries) >= 3
    assert entries[0]["throughput_rps"] < entries[-1]["throughput_rps"]
    assert all(each["failures"] == 0 for each in entries)


def test_more_than_200_endpoint_names_are_grouped_and_logged(session: Path) -> None:
    events = list(read(session))
    busy = [event for event in events if isinstance(event, Sample) and event.endpoints]
    assert [each.name for each in busy[-1].endpoints] == ["/item/{id}"]
    lines = [log.text for log in events if isinstance(log, Log) and log.source == "capexplorer"]
    assert any("more than 200 endpoint names" in text for text in lines)


def test_the_overhead_of_the_client_in_use_was_measured(exported: dict[str, Any]) -> None:
    floors = exported["session"]["client_floor_ms"]
    assert set(floors) == {"FastHttpUser"}
    assert 0 < floors["FastHttpUser"]["p50"] <= floors["FastHttpUser"]["p99"]
