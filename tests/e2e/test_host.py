"""A service that already runs: nothing is started, its process is watched, and it outlives the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import Header, Sample, Target
from capexplorer.target.ports import free_port

from .rig import actor_service, capexplorer, export, of, start

pytestmark = pytest.mark.slow


def test_a_service_that_runs_is_watched_and_left_alone(tmp_path: Path) -> None:
    port = free_port()
    with actor_service(port) as service:
        url = f"http://127.0.0.1:{port}"
        with start(tmp_path, "actor", "--host", url, "--headless", "--plan", "3:4s") as run:
            run.until(Sample)
            assert not run.marked.pids("actor.py")
            assert run.exit_code() == 0
        assert service.poll() is None
    events = run.events()
    [header] = of(events, Header)
    assert (header.target.url, header.target.command) == (url, ())
    assert [(target.state, target.pid) for target in of(events, Target)] == [("ready", service.pid)]
    samples = of(events, Sample)
    assert all(reading.pid == service.pid for sample in samples for reading in sample.targets)
    assert any(reading.cpu_ratio is not None and reading.cpu_ratio > 0 for sample in samples for reading in sample.targets)
    [level] = export(run.sessions)["levels"]
    assert level["target_cpu_ratio"] > 0 and level["requests"] > 0 and level["failures"] == 0


def test_nobody_listens_there(tmp_path: Path) -> None:
    """Refused connections are failures of the level, not of the program."""
    with start(tmp_path, "actor", "--host", f"http://127.0.0.1:{free_port()}", "--headless", "--plan", "2:3s") as run:
        assert run.exit_code() == 0
    [level] = export(run.sessions)["levels"]
    assert level["failures_while_unsettled"] + level["failures"] > 0
    assert level["latency_ms"]["p50"] is None and level["target_cpu_ratio"] is None


def test_another_machine_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    done = capexplorer("run", "actor", "--host", "http://192.0.2.7:8080", "--sessions-dir", str(tmp_path / "sessions"))
    assert done.returncode == 2
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert "--allow-host 192.0.2.7" in done.stderr
    assert not (tmp_path / "sessions").exists()
