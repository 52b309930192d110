"""Runs with real worker processes: spread, lost, refused; and nothing of them outlives the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import require

from capexplorer.model.events import Command, Ended, LevelClosed, LevelOpened, Mark, Sample, Target
from capexplorer.target.free_port import free_port

from .rig import Run, answer, capexplorer, export, of, start, until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")]

WORKER = "capexplorer worker --join"


def _workers(run: Run) -> list[int]:
    return run.marked.pids(WORKER)


def _lost(event: Command) -> bool:
    return event.name == "workers" and event.args.get("change") == "lost"


def test_a_lost_worker_is_marked_its_level_is_void_and_its_users_run_elsewhere(tmp_path: Path) -> None:
    with start(tmp_path, "actor", "--headless", "--workers", "3", "--plan", "6:10m") as run:
        run.until(Sample, lambda event: event.settled)
        killed, stopped, _ = _workers(run)
        os.kill(killed, signal.SIGKILL)
        run.until(Command, lambda event: _lost(event) and "SIGKILL" in str(event.args["why"]))
        run.until(Sample, lambda event: event.level == 1 and event.settled)
        os.kill(stopped, signal.SIGSTOP)
        run.until(Command, lambda event: _lost(event) and "no report" in str(event.args["why"]))
        run.until(Sample, lambda event: event.level == 2 and event.settled)
        until(lambda: stopped not in run.marked.processes(), "a worker that was given up is ended")
        run.process.send_signal(signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    events = run.events()
    levels = of(events, LevelClosed)
    assert [level.void for level in levels] == ["worker_lost", "worker_lost", None]
    assert [level.figures.settled for level in levels] == [False, False, True]
    assert [level.users for level in of(events, LevelOpened)] == [6, 6, 6]
    assert {mark.id for mark in of(events, Mark)} >= {"worker_lost"}
    assert not any(mark.kind in ("knee", "first_overload") for mark in of(events, Mark))
    for sample in of(events, Sample):
        assert not sample.settled or (sample.users, sample.workers and sample.workers.late) == (6, 0)
    assert of(events, Ended)
    found = export(run.sessions)
    assert found["session"]["engine"] == {"mode": "workers", "workers": 3}


def test_workers_of_a_killed_run_end(tmp_path: Path) -> None:
    with start(tmp_path, "actor", "--headless", "--workers", "1", "--plan", "4:10m") as run:
        run.until(Sample, lambda event: event.users == 4)
        assert len(_workers(run)) == 1
        run.process.kill()
        run.process.wait()
        run.marked.assert_gone()


VISITS = """
from locust import FastHttpUser, constant, task
class Visitor(FastHttpUser):
    wait_time = constant(0.1)
    @task
    def visit(self):
        self.client.get("/work")
        if self.environment.runner.worker_index >= 0 and not hasattr(self, "done"):
            self.done = True
            raise KeyError("lost")
"""
SECRET = "CAPEXPLORER_SECRET=0123456789abcdef"


def test_a_worker_from_elsewhere_joins_with_the_secret_and_the_same_locustfile_only(tmp_path: Path) -> None:
    file, other = tmp_path / "visits.py", tmp_path / "other.py"
    file.write_text(VISITS)
    other.write_text(VISITS + "\n")
    bind = f"127.0.0.1:{free_port()}"
    args = ("actor", "-f", str(file), "--headless", "--bind", bind, "--expect-workers", "1", "--plan", "4:5s")
    with start(tmp_path, *args, before=("env", SECRET)) as run:
        run.until(Target, lambda event: event.state == "ready")
        for secret, given, message in (
            (SECRET, other, f"{other}: differs from the run's {file}"),
            ("CAPEXPLORER_SECRET=another-secret-here", file, f"no answer of a run at {bind} in 2 s"),
        ):
            done = capexplorer("worker", "--join", bind, "-f", str(given), "--wait", "2", before=("env", secret))
            assert done.returncode == 2
            assert done.stderr.splitlines()[-1].startswith(f"capexplorer: {message}")
        worker = capexplorer("worker", "--join", bind, "-f", str(file), before=("env", SECRET))
        assert (worker.returncode, worker.stderr.splitlines()[0]) == (0, f"joined the run at {bind}")
        assert run.exit_code() == 0, run.stderr
    events = run.events()
    assert [level.figures.settled for level in of(events, LevelClosed)] == [True]
    assert {mark.id for mark in of(events, Mark)} >= {"user_code_error"}


def _ip(*args: str) -> bool:
    return subprocess.run(["ip", *args], capture_output=True, check=False, timeout=20).returncode == 0


@pytest.fixture
def two_machines() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Two network namespaces with a cable between them, 10.77.0.1 and 10.77.0.2: the words that run a command in each."""
    require("ip")
    run, worker = (f"cap-{side}-{os.getpid()}" for side in ("run", "worker"))  # a killed test run leaves its own behind
    if os.geteuid() != 0 or not _ip("netns", "add", run):
        pytest.skip("needs root and the right to make network namespaces")
    try:
        made = [
            _ip("netns", "add", worker),
            _ip("link", "add", "cap-a", "netns", run, "type", "veth", "peer", "name", "cap-b", "netns", worker),
        ]
        for name, end, address in ((run, "cap-a", "10.77.0.1/24"), (worker, "cap-b", "10.77.0.2/24")):
            made += [_ip("-n", name, "link", "set", "lo", "up"), _ip("-n", name, "addr", "add", address, "dev", end)]
            made.append(_ip("-n", name, "link", "set", end, "up"))
        assert all(made), "the two ends of the cable"
        yield ("ip", "netns", "exec", run), ("ip", "netns", "exec", worker)
    finally:
        for name in (run, worker):
            _ip("netns", "del", name)


def test_a_worker_on_another_machine_loads_a_service_that_its_own_user_allows(
    tmp_path: Path, two_machines: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    here, there = two_machines
    file = tmp_path / "visits.py"
    file.write_text(VISITS.replace('get("/work")', 'get("/")'))
    command = [*here, sys.executable, "-m", "http.server", "8123", "--bind", "10.77.0.1", "--directory", str(tmp_path)]
    service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url, bind = ("--host", "http://10.77.0.1:8123", "--allow-host", "10.77.0.1"), "10.77.0.1:5557"
    args = ("-f", str(file), *url, "--bind", bind, "--expect-workers", "1", "--headless", "--plan", "3:6s")
    joins = ("worker", "--join", bind, "-f", str(file))
    try:
        with start(tmp_path, *args, before=(*here, "env", SECRET)) as run:
            refused = capexplorer(*joins, before=(*there, "env", SECRET))
            assert refused.returncode == 2
            assert refused.stderr.splitlines()[-1].endswith("or add --allow-host 10.77.0.1")
            worker = capexplorer(*joins, "--allow-host", "10.77.0.1", before=(*there, "env", SECRET))
            assert worker.returncode == 0, worker.stderr
            assert run.exit_code() == 0, run.stderr
    finally:
        service.terminate()
        service.wait()
    events = run.events()
    assert [level.figures.settled for level in of(events, LevelClosed)] == [True]
    clocks = [sample for sample in of(events, Sample) if sample.settled]
    assert all(sample.duration_s == 1.0 and sample.ports is not None for sample in clocks)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--workers", "0"), "--workers: expected 1 to 256, or auto, got '0'"),
        (("--workers", "many"), "--workers: expected 1 to 256, or auto, got 'many'"),
        (("--workers", "200"), "--workers: expected at most guards.max_workers (8), got 200"),
        (("--expect-workers", "2"), "--expect-workers: needs --bind ADDRESS:PORT"),
        (
            ("--plain-workers", "--bind", "127.0.0.1:7999", "--plan", "rate 5/s 3s"),
            "--plan: plain Locust workers cannot be offered a rate: leave out --plain-workers",
        ),
        (("--bind", "here"), "--bind: expected ADDRESS:PORT, got 'here'"),
    ],
)
def test_wrong_options_are_refused_in_one_line(args: tuple[str, ...], message: str) -> None:
    done = answer("run", "actor", "--headless", "--plan", "1:1s", *args)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]


def test_an_address_that_others_reach_needs_a_secret() -> None:
    """It is refused where workers are put together, after Locust is loaded: in a process of its own."""
    done = capexplorer("run", "actor", "--headless", "--plan", "1:1s", "--bind", "10.1.2.3:5557")
    assert done.returncode == 2
    assert "--bind: set CAPEXPLORER_SECRET here and for the workers" in done.stderr.splitlines()[-1]
