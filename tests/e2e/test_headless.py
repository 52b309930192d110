"""A headless run by a plan, and what its export says, against the log and against what is known of the target."""

from __future__ import annotations

import math
import stat
from pathlib import Path
from typing import Any

import pytest

from capexplorer.model.events import Event, Header, LevelClosed, LevelOpened, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.session import kept_file

from .rig import Run, answer, ended, export, of, session_path

pytestmark = pytest.mark.slow

SHARES = {"/health": 0.5, "/io": 0.3, "/cpu": 0.2}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    folder = tmp_path_factory.mktemp("mixed")
    return ended(folder, "mixed", "--set", "cpu_work=20000", "--headless", "--keep-bodies", "--plan", "5:5s,10:7s")


@pytest.fixture(scope="module")
def exported(mixed: tuple[Run, int]) -> dict[str, Any]:
    return export(mixed[0].sessions)


@pytest.fixture(scope="module")
def events(mixed: tuple[Run, int]) -> list[Event]:
    return mixed[0].events()


def test_stdout_is_the_path_of_the_session_and_nothing_else(mixed: tuple[Run, int]) -> None:
    run, code = mixed
    assert code == 0, run.stderr
    assert run.stdout == f"{session_path(run.sessions)}\n"


def test_progress_is_reported_on_stderr_a_line_a_level(mixed: tuple[Run, int]) -> None:
    lines = mixed[0].stderr.splitlines()
    assert lines[0] == "target ready"
    levels = [line.split(":")[0].split() for line in lines if line.startswith("level")]  # marks, on a busy machine, are between
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


def test_holds_are_counted_from_the_end_of_spawning_and_not_stretched(exported: dict[str, Any], events: list[Event]) -> None:
    for level, hold_s in zip(exported["levels"], (5.0, 7.0), strict=True):
        spawn_s = 1.0  # the difference in one second; a busy machine may add some
        assert hold_s - 0.5 <= level["ended_s"] - level["started_s"] <= hold_s + spawn_s + 2.0
    assert [opened.spawn_rate for opened in of(events, LevelOpened)] == [5.0, 5.0]


def test_endpoints_get_requests_by_their_weights_in_the_profile(exported: dict[str, Any]) -> None:
    counts = {name: 0 for name in SHARES}
    for level in exported["levels"]:
        for endpoint in level["endpoints"]:
            counts[endpoint["name"]] += endpoint["requests"]
    total = sum(counts.values())
    assert total >= 50  # on a busy machine they are fewer, and the noise is greater
    for name, share in SHARES.items():
        noise = 5 * math.sqrt(share * (1 - share) / total)
        assert counts[name] / total == pytest.approx(share, abs=noise)


def test_latency_of_io_is_at_least_its_sleep(exported: dict[str, Any]) -> None:
    for level in exported["levels"]:
        found = next(endpoint for endpoint in level["endpoints"] if endpoint["name"] == "/io")
        assert 199.8 <= found["latency_ms"]["min"] <= found["latency_ms"]["p50"]  # three digits


def test_ports_capacity_is_what_the_kernel_says(exported: dict[str, Any]) -> None:
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


def test_the_client_of_a_profile_is_its_setting(events: list[Event]) -> None:
    (header,) = of(events, Header)
    assert header.clients == ("FastHttpUser",)
    assert header.profile["users"]["client"] == "fast"


def test_rates_are_requests_over_settled_seconds(exported: dict[str, Any], events: list[Event]) -> None:
    for level, closed in zip(exported["levels"], of(events, LevelClosed), strict=True):
        seconds = sum(sample.duration_s for sample in of(events, Sample) if sample.settled and sample.level == closed.index)
        assert closed.figures.settled_seconds == pytest.approx(seconds, abs=0.01)
        assert level["throughput_rps"] == pytest.approx(level["requests"] / seconds, rel=0.001)
        assert level["goodput_rps"] == pytest.approx(level["throughput_rps"], rel=0.001)


def test_a_closed_level_is_the_sum_of_its_settled_seconds(events: list[Event]) -> None:
    for closed in of(events, LevelClosed):
        samples = [sample for sample in of(events, Sample) if sample.settled and sample.level == closed.index]
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


def test_seconds_follow_each_other_without_a_gap(events: list[Event]) -> None:
    samples = of(events, Sample)
    assert len(samples) >= 12
    for before, after in zip(samples, samples[1:], strict=False):
        assert after.t_s - after.duration_s == pytest.approx(before.t_s, abs=0.01)


def test_whole_requests_are_kept_beside_the_log_and_the_export_names_their_file(
    mixed: tuple[Run, int], exported: dict[str, Any]
) -> None:
    log = session_path(mixed[0].sessions)
    assert log is not None
    path = kept_file.path_of(log)
    assert exported["session"]["requests_file"] == path.name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = kept_file.RequestsFile(path)
    slowest = {(brief.level, brief.name) for brief in found.briefs() if brief.why == "slowest"}
    assert {(level, name) for level in (0, 1) for name in SHARES} <= slowest
    whole = found.request(found.briefs()[0].number)
    assert whole is not None
    assert whole.brief.status == 200
    assert whole.received.text
    assert whole.sent_headers


def test_a_plan_is_given_by_name_or_as_text(tmp_path: Path) -> None:
    done = answer("run", "actor", "--headless", "--plan", "nightly", "--sessions-dir", str(tmp_path))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and "no plan `nightly`" in done.stderr
    assert done.stdout == ""
