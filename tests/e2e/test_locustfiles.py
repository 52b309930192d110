"""Existing locustfiles run unchanged; what they print and log is in the session, and never on stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capexplorer.model.events import Event, Header, LevelOpened, Log, Sample, Target

from .rig import HERE, Run, answer, ended, export, of, session_path, start

pytestmark = pytest.mark.slow

FULL = str(HERE / "locustfiles" / "full.py")
SHAPED = str(HERE / "locustfiles" / "shaped.py")
PLAN = ("--headless", "--plan", "6:4s")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    """With a profile; alone, with --host: test_user_code.py."""
    return ended(tmp_path_factory.mktemp("full"), "actor", "-f", FULL, *PLAN)


@pytest.fixture(scope="module")
def exported(full: tuple[Run, int]) -> dict[str, Any]:
    return export(full[0].sessions)


@pytest.fixture(scope="module")
def events(full: tuple[Run, int]) -> list[Event]:
    return full[0].events()


def test_a_locustfile_runs_unchanged_and_stdout_is_the_path_of_its_session(full: tuple[Run, int]) -> None:
    run, code = full
    assert code == 0, run.stderr
    assert run.stdout == f"{session_path(run.sessions)}\n"


def test_every_kind_of_request_is_counted(exported: dict[str, Any]) -> None:
    seen = {(each["method"], each["name"]) for each in exported["endpoints"]}
    assert seen >= {("GET", "/look"), ("GET", "/strict"), ("POST", "/basket"), ("GET", "/feed"), ("QUEUE", "publish")}


def test_the_overhead_of_both_client_classes_is_measured(exported: dict[str, Any]) -> None:
    assert set(exported["session"]["client_floor_ms"]) == {"HttpUser", "FastHttpUser"}


def test_the_session_names_both_client_classes(full: tuple[Run, int], events: list[Event]) -> None:
    (header,) = of(events, Header)
    assert header.clients == ("FastHttpUser", "HttpUser")
    assert "client" not in header.profile["users"]  # the profile's own setting had no part in it
    markdown = answer("export", "last", "--format", "md", "--sessions-dir", str(full[0].sessions)).stdout
    assert "| client | `fast (FastHttpUser) + requests (HttpUser)` |" in markdown
    assert "| locustfile | `full.py` |" in markdown


def test_what_catch_response_fails_is_grouped_by_its_check(exported: dict[str, Any], events: list[Event]) -> None:
    texts = {failure.signature.text for sample in of(events, Sample) for failure in sample.failures}
    assert texts == {"price_check"}
    strict = next(each for each in exported["endpoints"] if each["name"] == "/strict")
    assert strict["failures"] == strict["requests"] > 0


def test_on_start_requests_make_no_figures(exported: dict[str, Any], events: list[Event]) -> None:
    logins = [tick for sample in of(events, Sample) for tick in sample.endpoints if tick.name == "/login"]
    assert sum(tick.warmup_requests for tick in logins) == 3  # half of six users are customers
    assert sum(tick.requests for tick in logins) == 0
    assert not [each for each in exported["endpoints"] if each["name"] == "/login" and each["requests"]]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("stdout", "init heard, currency EUR"),
        ("stdout", "test_start heard, host http://127.0.0.1:"),
        ("stdout", "test_stop heard"),
        ("stderr", "quitting heard"),
        ("stdout", "a customer logs in"),
        ("stderr", "a customer grumbles"),
    ],
)
def test_lines_that_a_locustfile_prints_are_in_the_session(
    events: list[Event], full: tuple[Run, int], source: str, text: str
) -> None:
    assert any(log.source == source and text in log.text for log in of(events, Log)), of(events, Log)
    assert text not in full[0].stdout + full[0].stderr


def test_lines_that_a_locustfile_logs_keep_their_level(events: list[Event]) -> None:
    assert any((log.level, log.text) == ("warning", "the shop is open") for log in of(events, Log))


def test_a_test_start_listener_is_called_once(events: list[Event]) -> None:
    heard = [log for log in of(events, Log) if "test_start heard" in log.text]
    assert sum(log.repeated for log in heard) == 1


def test_a_shape_drives_a_headless_run_and_ends_it(tmp_path: Path) -> None:
    stair = tmp_path / "stair"
    stair.write_text("2")
    with start(tmp_path, "actor", "-f", SHAPED, "--headless", before=("env", f"STAIR={stair}")) as run:
        run.until(Sample, lambda sample: sample.users == 2 and sample.settled)
        replace(stair, "5")
        run.until(Sample, lambda sample: sample.users == 5 and sample.settled)
        replace(stair, "end")
        assert run.exit_code() == 0, run.stderr
    opened = [(level.users, level.by) for level in of(run.events(), LevelOpened)]
    assert list(dict.fromkeys(opened)) == [(2, "plan"), (5, "plan"), (0, "plan")]  # a busy machine may split a level
    assert [event.state for event in of(run.events(), Target)] == ["starting", "ready", "stopping", "stopped"]
    settled = [level for level in export(run.sessions)["levels"] if level["settled"]]
    assert {level["users"] for level in settled} == {2, 5}
    assert settled[-1]["throughput_rps"] > settled[0]["throughput_rps"] > 0


def replace(path: Path, text: str) -> None:
    """At once: whoever reads it meanwhile finds all of the old text or all of the new."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)
