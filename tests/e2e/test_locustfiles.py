"""A locustfile as teams write them runs unchanged; what it prints and logs is in the session. And a locustfile with a shape."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.model.events import Event, Header, Log, Sample
from capexplorer.model.timeline import Timeline
from lab.kit.servers import fast_server

from .rig import E2E_FOLDER, Run, events_of, export, run_in_process, run_to_end, session_path

pytestmark = pytest.mark.slow

FULL_LOCUSTFILE = str(E2E_FOLDER / "locustfiles" / "full.py")
PLAN = ("--headless", "--plan", "6:7s")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    """The run of the locustfile with a profile, and its exit code. Locustfiles without a profile: test_user_code.py."""
    return run_to_end(tmp_path_factory.mktemp("full"), "actor", "-f", FULL_LOCUSTFILE, *PLAN)


@pytest.fixture(scope="module")
def exported(full: tuple[Run, int]) -> dict[str, Any]:
    return export(full[0].sessions)


@pytest.fixture(scope="module")
def events(full: tuple[Run, int]) -> list[Event]:
    return full[0].events()


def test_the_session_names_both_client_classes(full: tuple[Run, int], events: list[Event]) -> None:
    (header,) = events_of(events, Header)
    assert header.clients == ("FastHttpUser", "HttpUser")
    assert "client" not in header.profile["users"], "the profile's key `client` has no effect on locustfiles"
    markdown = run_in_process("export", "last", "--format", "md", "--sessions-dir", str(full[0].sessions)).stdout
    assert "| client | `fast (FastHttpUser) + requests (HttpUser)` |" in markdown
    assert "| locustfile | `full.py` |" in markdown


def test_failures_by_catch_response_are_grouped_by_their_message(exported: dict[str, Any], events: list[Event]) -> None:
    texts = {failure.signature.text for sample in events_of(events, Sample) for failure in sample.failures}
    assert texts == {"price_check"}
    strict = next(each for each in exported["endpoints"] if each["name"] == "/strict")
    assert strict["failures"] == strict["requests"] > 0


def test_requests_in_on_start_are_not_in_the_figures(exported: dict[str, Any], events: list[Event]) -> None:
    logins = [tick for sample in events_of(events, Sample) for tick in sample.endpoints if tick.name == "/login"]
    assert sum(tick.warmup_requests for tick in logins) == 3, "half of the six users are customers, which log in"
    assert sum(tick.requests for tick in logins) == 0
    assert not [each for each in exported["endpoints"] if each["name"] == "/login" and each["requests"]]


def test_requests_of_both_clients_and_custom_request_events_are_counted(full: tuple[Run, int], exported: dict[str, Any]) -> None:
    run, code = full
    assert (code, run.stdout) == (0, f"{session_path(run.sessions)}\n"), run.stderr
    seen = {(each["method"], each["name"]) for each in exported["endpoints"]}
    assert seen >= {("GET", "/look"), ("GET", "/strict"), ("POST", "/basket"), ("GET", "/feed"), ("QUEUE", "publish")}
    assert set(exported["session"]["client_floor_ms"]) == {"HttpUser", "FastHttpUser"}


def test_what_a_locustfile_prints_and_logs_is_in_the_session_and_not_printed_by_the_run(
    events: list[Event], full: tuple[Run, int]
) -> None:
    logs = events_of(events, Log)
    for source, text in (
        ("stdout", "init: currency EUR"),
        ("stdout", "test_start: host http://127.0.0.1:"),
        ("stdout", "test_stop listener"),
        ("stderr", "quitting listener"),
        ("stdout", "a customer logs in"),
        ("stderr", "a customer on stderr"),
    ):
        assert any(log.source == source and text in log.text for log in logs), text
        assert text not in full[0].stdout + full[0].stderr
    assert any((log.level, log.text) == ("warning", "the shop is open") for log in logs)
    assert sum(log.repeated for log in logs if "test_start: host" in log.text) == 1, "a listener is called once"


CLIMB = """
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


@pytest.fixture(scope="module")
def shaped(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A locustfile whose shape changes the users each second, and whose paths are all different."""
    folder = tmp_path_factory.mktemp("shaped")
    (folder / "climb.py").write_text(CLIMB)
    with fast_server() as (_, url):
        run, code = run_to_end(folder, "-f", str(folder / "climb.py"), "--host", url, "--headless")
    assert code == 0, run.stderr
    return run


def test_users_that_change_each_second_make_one_ramp_level_with_a_bin_for_each_count(shaped: Run) -> None:
    timeline = Timeline(shaped.events())
    [ramp] = [level for level in timeline.levels if level.opened.ramp]
    assert {level.opened.by for level in timeline.levels} == {"plan"}
    assert ramp.figures.goodput_rps is None
    users = [each.users for each in ramp.bins]
    assert users == sorted(users) and len(users) >= 3 and users[-1] > 5
    entries = [each for each in export(shaped.sessions)["levels"] if each["kind"] == "ramp"]
    assert len(entries) == len(users)
    assert entries[0]["throughput_rps"] < entries[-1]["throughput_rps"]


def test_more_than_200_endpoint_names_are_grouped_and_logged(shaped: Run) -> None:
    busy = [sample for sample in events_of(shaped.events(), Sample) if sample.endpoints]
    assert [each.name for each in busy[-1].endpoints] == ["/item/{id}"]
    assert [log for log in events_of(shaped.events(), Log) if log.source == "capexplorer" and "200" in log.text]
