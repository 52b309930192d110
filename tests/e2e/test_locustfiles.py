"""A locustfile as teams write them runs unchanged; what it prints and logs is in the session. And a locustfile with a shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capexplorer.model.events import Event, Header, LevelOpened, Log, Sample

from .rig import E2E_FOLDER, Run, events_of, export, run_in_process, run_to_end, session_path, started_run, target_states

pytestmark = pytest.mark.slow

FULL_LOCUSTFILE = str(E2E_FOLDER / "locustfiles" / "full.py")
SHAPED_LOCUSTFILE = str(E2E_FOLDER / "locustfiles" / "shaped.py")
PLAN = ("--headless", "--plan", "6:4s")


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


def test_a_run_of_a_locustfile_succeeds_and_stdout_has_only_the_path_of_its_session(full: tuple[Run, int]) -> None:
    run, code = full
    assert code == 0, run.stderr
    assert run.stdout == f"{session_path(run.sessions)}\n"


def test_requests_of_both_clients_and_custom_request_events_are_counted(exported: dict[str, Any]) -> None:
    seen = {(each["method"], each["name"]) for each in exported["endpoints"]}
    assert seen >= {("GET", "/look"), ("GET", "/strict"), ("POST", "/basket"), ("GET", "/feed"), ("QUEUE", "publish")}


def test_the_overhead_of_both_client_classes_is_measured(exported: dict[str, Any]) -> None:
    assert set(exported["session"]["client_floor_ms"]) == {"HttpUser", "FastHttpUser"}


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


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("stdout", "init: currency EUR"),
        ("stdout", "test_start: host http://127.0.0.1:"),
        ("stdout", "test_stop listener"),
        ("stderr", "quitting listener"),
        ("stdout", "a customer logs in"),
        ("stderr", "a customer on stderr"),
    ],
)
def test_lines_that_a_locustfile_prints_are_in_the_session(
    events: list[Event], full: tuple[Run, int], source: str, text: str
) -> None:
    assert any(log.source == source and text in log.text for log in events_of(events, Log)), events_of(events, Log)
    assert text not in full[0].stdout + full[0].stderr


def test_lines_that_a_locustfile_logs_keep_their_level(events: list[Event]) -> None:
    assert any((log.level, log.text) == ("warning", "the shop is open") for log in events_of(events, Log))


def test_a_test_start_listener_is_called_once(events: list[Event]) -> None:
    lines = [log for log in events_of(events, Log) if "test_start: host" in log.text]
    assert sum(log.repeated for log in lines) == 1


def test_a_shape_sets_the_users_of_a_headless_run_and_ends_it(tmp_path: Path) -> None:
    users_file = tmp_path / "users"
    users_file.write_text("2")
    with started_run(tmp_path, "actor", "-f", SHAPED_LOCUSTFILE, "--headless", before=("env", f"USERS_FILE={users_file}")) as run:
        run.wait_for_events(Sample, lambda sample: sample.users == 2 and sample.settled)
        replace_text(users_file, "5")
        run.wait_for_events(Sample, lambda sample: sample.users == 5 and sample.settled)
        replace_text(users_file, "end")
        assert run.exit_code() == 0, run.stderr
    opened = [(level.users, level.by) for level in events_of(run.events(), LevelOpened)]
    assert list(dict.fromkeys(opened)) == [(2, "plan"), (5, "plan"), (0, "plan")]  # a busy machine may split a level
    assert target_states(run.events()) == ["starting", "ready", "stopping", "stopped"]
    settled = [level for level in export(run.sessions)["levels"] if level["settled"]]
    assert {level["users"] for level in settled} == {2, 5}
    assert settled[-1]["throughput_rps"] > settled[0]["throughput_rps"] > 0


def replace_text(path: Path, text: str) -> None:
    """Replace a file's text at once: another process reads either the old text or the new one."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)
