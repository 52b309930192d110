"""A headless run of the profile `mixed` by a plan of two levels: its output, its log and its JSON export agree."""

from __future__ import annotations

import math
import re
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from capexplorer.model.events import Event, Header, LevelClosed, LevelOpened, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.session import beside

from .rig import Run, events_of, export, run_in_process, run_to_end_unsuspended, session_path

pytestmark = pytest.mark.slow

SHARES = {"/health": 0.5, "/io": 0.3, "/cpu": 0.2}
"""The endpoints of the profile, with their shares of the requests."""


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


def test_stdout_has_only_the_path_of_the_session(mixed: tuple[Run, int]) -> None:
    run, code = mixed
    assert code == 0, run.stderr
    assert run.stdout == f"{session_path(run.sessions)}\n"


def test_stderr_has_one_line_for_each_level_and_the_verdict_last(mixed: tuple[Run, int]) -> None:
    lines = mixed[0].stderr.splitlines()
    times, said = zip(*(line.split("  ", 1) for line in lines[:-1]), strict=True)
    assert all(re.fullmatch(r"\d\d:\d\d", time) for time in times)
    assert said[0] == "target ready"
    levels = [line.split(":")[0].split() for line in said if line.startswith("level")]  # marks, on a busy machine, are between
    assert levels == [["level", "5", "users"], ["level", "10", "users"]]
    assert lines[-1].startswith("verdict: ")
    assert "\x1b" not in mixed[0].stderr


def test_levels_are_those_of_the_plan(exported: dict[str, Any]) -> None:
    levels = exported["levels"]
    assert [(level["users"], level["by"], level["kind"], level["settled"]) for level in levels] == [
        (5, "plan", "step", True),
        (10, "plan", "step", True),
    ]
    assert [level["failures"] for level in levels] == [0, 0]
    assert exported["session"]["complete"] is True


def test_each_level_lasts_as_long_as_the_plan_says_after_all_users_were_spawned(
    exported: dict[str, Any], events: list[Event]
) -> None:
    for level, hold_s in zip(exported["levels"], (5.0, 7.0), strict=True):
        spawn_s = 1.0  # 5 more users at 5 a second
        late_s = 2.0  # on a busy machine
        assert hold_s - 0.5 <= level["ended_s"] - level["started_s"] <= hold_s + spawn_s + late_s
    assert [opened.spawn_rate for opened in events_of(events, LevelOpened)] == [5.0, 5.0]


def test_endpoints_get_shares_of_the_requests_by_their_weights(exported: dict[str, Any]) -> None:
    counts = {name: 0 for name in SHARES}
    for level in exported["levels"]:
        for endpoint in level["endpoints"]:
            counts[endpoint["name"]] += endpoint["requests"]
    total = sum(counts.values())
    assert total >= 50  # fewer requests have more noise; a busy machine serves fewer
    for name, share in SHARES.items():
        five_standard_errors = 5 * math.sqrt(share * (1 - share) / total)
        assert counts[name] / total == pytest.approx(share, abs=five_standard_errors)


def test_latency_of_the_io_endpoint_is_at_least_its_sleep_of_200_ms(exported: dict[str, Any]) -> None:
    for level in exported["levels"]:
        io = next(endpoint for endpoint in level["endpoints"] if endpoint["name"] == "/io")
        assert 199.8 <= io["latency_ms"]["min"] <= io["latency_ms"]["p50"], "200 ms, to the three digits of the histogram"


def test_ports_capacity_is_the_kernels_port_range_without_reserved_ports(exported: dict[str, Any]) -> None:
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    reserved = set()
    for part in Path("/proc/sys/net/ipv4/ip_local_reserved_ports").read_text().strip().split(","):
        first, _, last = part.partition("-")
        reserved |= set(range(int(first), int(last or first) + 1)) if first else set()
    capacity = len(set(range(low, high + 1)) - reserved)
    assert [level["ports_capacity"] for level in exported["levels"]] == [capacity, capacity]


def test_each_level_has_readings_of_the_target_the_generator_and_the_ports(exported: dict[str, Any]) -> None:
    for level in exported["levels"]:
        assert level["target_cpu_ratio"] > 0
        assert level["target_rss_bytes"] > 1_000_000
        assert level["generator_cpu_ratio"] > 0
        assert level["loop_lag_p99_ms"] > 0
        assert level["ports_used"] >= level["users"]
    assert exported["session"]["client_floor_ms"]["FastHttpUser"]["p50"] > 0


def test_the_client_class_is_that_of_the_client_key_in_the_profile(events: list[Event]) -> None:
    (header,) = events_of(events, Header)
    assert header.clients == ("FastHttpUser",)
    assert header.profile["users"]["client"] == "fast"


def test_throughput_is_requests_per_settled_second(exported: dict[str, Any], events: list[Event]) -> None:
    for level, closed in zip(exported["levels"], events_of(events, LevelClosed), strict=True):
        seconds = sum(
            sample.duration_s for sample in events_of(events, Sample) if sample.settled and sample.level == closed.index
        )
        assert closed.figures.settled_seconds == pytest.approx(seconds, abs=0.01)
        assert level["throughput_rps"] == pytest.approx(level["requests"] / seconds, rel=0.001)
        assert level["goodput_rps"] == pytest.approx(level["throughput_rps"], rel=0.001)


def test_a_closed_level_is_the_sum_of_its_settled_seconds(events: list[Event]) -> None:
    for closed in events_of(events, LevelClosed):
        samples = [sample for sample in events_of(events, Sample) if sample.settled and sample.level == closed.index]
        ticks = [tick for sample in samples for tick in sample.endpoints]
        assert closed.figures.requests == sum(tick.requests for tick in ticks)
        for endpoint in closed.endpoints:
            its = [tick for tick in ticks if (tick.name, tick.method) == (endpoint.name, endpoint.method)]
            assert endpoint.requests == sum(tick.requests for tick in its)
            merged = LatencyHistogram()
            for tick in its:
                if tick.latency:
                    merged.add(LatencyHistogram.decode(tick.latency))
            assert endpoint.latency is not None
            recorded = LatencyHistogram.decode(endpoint.latency)
            assert recorded.count == merged.count == endpoint.requests - endpoint.failures
            assert recorded.percentiles_ms((0.5, 0.99)) == merged.percentiles_ms((0.5, 0.99))


def test_samples_have_no_gap_between_them(events: list[Event]) -> None:
    samples = events_of(events, Sample)
    assert len(samples) >= 12
    for before, after in pairwise(samples):
        assert after.t_s - after.duration_s == pytest.approx(before.t_s, abs=0.01)


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
    assert {(level, name) for level in (0, 1) for name in SHARES} <= slowest
    first = requests.request(requests.briefs()[0].number)
    assert first is not None
    assert first.brief.status == 200
    assert first.received.text
    assert first.sent_headers


def test_an_unknown_name_of_a_plan_is_refused_in_one_line(tmp_path: Path) -> None:
    done = run_in_process("run", "actor", "--headless", "--plan", "nightly", "--sessions-dir", str(tmp_path))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "no plan `nightly`" in done.stderr
    assert done.stdout == ""
