"""Real runs under limits: each applies to the named process, is in the header, and the limited resource is exhausted first."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest
from e2e.rig import ROOT, Run, events_of, export, run_to_end, started_run

from capexplorer.model.events import Event, Header, Sample, Target
from capexplorer.namespace import refusal

pytestmark = pytest.mark.slow

FEW_PORTS = ("--limit", "network.ip_local_port_range=[32768,32867]")


def errnos(events: list[Event]) -> dict[int | None, int]:
    """Failed requests by errno."""
    counts: dict[int | None, int] = {}
    for sample in events_of(events, Sample):
        for tick in sample.failures:
            counts[tick.signature.errno] = counts.get(tick.signature.errno, 0) + tick.count
    return counts


def allowed(pid: int) -> set[int]:
    """Cores that the first thread of a process may use."""
    return os.sched_getaffinity(pid)


@pytest.fixture(scope="module")
def network() -> None:
    if (refused := refusal()) is not None:
        pytest.skip(refused)


def test_few_ports_without_keep_alive_are_exhausted_by_connections_in_time_wait(network: None, tmp_path: Path) -> None:
    run, code = run_to_end(
        tmp_path, str(ROOT / "profiles" / "ports.toml"), "--headless", "--plan", "20:5s", *FEW_PORTS, cwd=tmp_path
    )
    assert code == 4
    ports = [sample.ports for sample in events_of(run.events(), Sample) if sample.ports]
    assert {each.capacity for each in ports} == {100}
    assert ports[-1].used == 100
    assert (ports[-1].time_wait or 0) >= 90, "the client closes first, so nearly all of its ports are in TIME_WAIT"
    assert set(errnos(run.events())) == {99}
    header = events_of(run.events(), Header)[0]
    assert header.host.port_range == (32_768, 32_867)
    assert header.host.tcp_tw_reuse == 0
    assert header.profile["limits"]["network"]["ip_local_port_range"] == [32_768, 32_867]
    port = int(header.target.url.rpartition(":")[2])
    assert not 32_768 <= port <= 32_867


class Limited(NamedTuple):
    """A run with limits of target and generator, whose users need more files than the generator may open."""

    run: Run
    target_cores: set[int]
    generator_cores: set[int]
    code: int


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Limited:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        pytest.skip("needs two cores")
    limits = ("target.open_files=99", f"generator.cpus=[{cores[0]}]", "generator.open_files=64")
    options = [word for limit in limits for word in ("--limit", limit)]
    light = ("--set", "cpu_work=1000")
    with started_run(tmp_path_factory.mktemp("limited"), "mixed", *light, "--headless", "--plan", "60:5s", *options) as run:
        of_target = allowed(run.target_pid())
        threads = os.listdir(f"/proc/{run.process.pid}/task")
        of_generator = {core for thread in threads for core in allowed(int(thread))}
        return Limited(run, of_target, of_generator, run.exit_code())


def test_limits_of_cores_and_files_apply_to_each_side_alone(limited: Limited) -> None:
    cores = os.sched_getaffinity(0)
    assert limited.target_cores == cores, "the target does not inherit the cores of the generator"
    assert limited.generator_cores == {min(cores)}
    last = events_of(limited.run.events(), Sample)[-1]
    assert last.targets[0].fds_limit == 99
    assert last.generator
    assert last.generator.fds_limit == 64
    assert events_of(limited.run.events(), Header)[0].host.fds_limit == 64


def test_a_generator_that_runs_out_of_files_continues_reading_and_ends_normally(limited: Limited) -> None:
    run = limited.run
    assert limited.code == 0, run.stderr
    assert errnos(run.events()).get(24, 0) > 10
    last = events_of(run.events(), Sample)[-1]
    assert last.ports
    assert last.ports.used
    assert last.targets[0].cpu_ratio is not None
    assert [event.state for event in events_of(run.events(), Target)][-1] == "stopped"
    assert export(run.sessions)["session"]["complete"] is True
