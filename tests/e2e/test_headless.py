"""A headless run of the profile `mixed` by a plan of two levels: its output, its log and its JSON export agree."""

from __future__ import annotations

import re
import stat
from datetime import datetime
from typing import Any

import pytest

from capexplorer.model.events import Event, Header
from capexplorer.session import beside

from .rig import Run, assert_no_gap_between_samples, events_of, export, run_to_end_unsuspended, session_path

pytestmark = pytest.mark.slow

ENDPOINTS = ("/health", "/io", "/cpu")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    """The run and its exit code."""
    folder = tmp_path_factory.mktemp("mixed")
    return run_to_end_unsuspended(
        folder, "mixed", "--set", "cpu_work=20000", "--headless", "--keep-bodies", "--plan", "5:5s,10:7s"
    )


@pytest.fixture(scope="module")
def exported(mixed: tuple[Run, int]) -> dict[str, Any]:
    return export(mixed[0].sessions)


@pytest.fixture(scope="module")
def events(mixed: tuple[Run, int]) -> list[Event]:
    return mixed[0].events()


def test_stdout_has_the_path_of_the_session_and_stderr_a_line_for_each_level_and_the_verdict_last(
    mixed: tuple[Run, int],
) -> None:
    run, code = mixed
    assert (code, run.stdout) == (0, f"{session_path(run.sessions)}\n"), run.stderr
    lines = run.stderr.splitlines()
    walls, times, said = zip(*(line.split("  ", 2) for line in lines[:-1]), strict=True)
    assert all(re.fullmatch(r"\d\d:\d\d", time) for time in times)
    assert all(datetime.fromisoformat(wall) for wall in walls)
    assert said[0] == "target ready"
    levels = [line.split(":")[0].split() for line in said if line.startswith("level")]  # marks, on a busy machine, are between
    assert levels == [["level", "5", "users"], ["level", "10", "users"]]
    assert lines[-1].startswith("verdict: ")
    assert not {"\x1b", "\r"} & set(run.stderr)


def test_levels_are_those_of_the_plan_with_readings_of_target_generator_and_ports(
    exported: dict[str, Any], events: list[Event]
) -> None:
    levels = exported["levels"]
    assert [(level["users"], level["by"], level["kind"], level["settled"]) for level in levels] == [
        (5, "plan", "step", True),
        (10, "plan", "step", True),
    ]
    assert [level["failures"] for level in levels] == [0, 0]
    assert exported["session"]["complete"] is True
    assert_no_gap_between_samples(events)
    assert events_of(events, Header)[0].clients == ("FastHttpUser",), "that of the profile"
    for level in levels:
        io = next(endpoint for endpoint in level["endpoints"] if endpoint["name"] == "/io")
        assert 199.8 <= io["latency_ms"]["min"] <= io["latency_ms"]["p50"], "it sleeps for 200 ms"
        assert level["target_cpu_ratio"] > 0
        assert level["target_rss_bytes"] > 1_000_000
        assert level["generator_cpu_ratio"] > 0
        assert level["loop_lag_p99_ms"] > 0
        assert level["ports_used"] >= level["users"]
    assert exported["session"]["client_floor_ms"]["FastHttpUser"]["p50"] > 0


def test_kept_requests_are_in_a_private_file_beside_the_log_that_the_export_names(
    mixed: tuple[Run, int], exported: dict[str, Any]
) -> None:
    log = session_path(mixed[0].sessions)
    assert log is not None
    path = beside.kept_path(log)
    assert exported["session"]["requests_file"] == path.name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    requests = beside.RequestsFile(path)
    slowest = {(brief.level, brief.name) for brief in requests.briefs() if brief.why == "slowest"}
    assert {(level, name) for level in (0, 1) for name in ENDPOINTS} <= slowest
    first = requests.request(requests.briefs()[0].number)
    assert first is not None
    assert first.brief.status == 200
    assert first.received.text
    assert first.sent_headers
