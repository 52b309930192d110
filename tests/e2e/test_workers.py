"""Runs with real worker processes: they share the users, may be lost, join from other machines, and end with the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from load.servers import established
from programs import require

from capexplorer.model.events import Command, Ended, Header, LevelClosed, LevelOpened, Mark, Sample, Target
from capexplorer.target.place import free_port
from lab.kit.namespaces import NETWORKING, is_root, network
from lab.kit.servers import ended as stopped_at_end

from .rig import Run, ended, events_of, export, run_command, started_run, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")]

WORKER_COMMAND = "capexplorer worker --join"


def _worker_pids(run: Run) -> list[int]:
    return run.marked.pids(WORKER_COMMAND)


def _is_loss_of_worker(event: Command) -> bool:
    return event.name == "workers" and event.args.get("change") == "lost"


def test_a_lost_worker_makes_its_level_void_and_its_users_run_in_other_workers(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", "--headless", "--workers", "3", "--plan", "6:10m") as run:
        run.wait_for_events(Sample, lambda event: event.settled)
        killed, stopped, _ = _worker_pids(run)
        os.kill(killed, signal.SIGKILL)
        run.wait_for_events(Command, lambda event: _is_loss_of_worker(event) and "SIGKILL" in str(event.args["why"]))
        run.wait_for_events(Sample, lambda event: event.level == 1 and event.settled)
        os.kill(stopped, signal.SIGSTOP)
        run.wait_for_events(Command, lambda event: _is_loss_of_worker(event) and "no report" in str(event.args["why"]))
        run.wait_for_events(Sample, lambda event: event.level == 2 and event.settled)
        wait_until(lambda: stopped not in run.marked.processes(), "the end of the worker that sent no reports")
        run.process.send_signal(signal.SIGTERM)
        assert run.exit_code() == 128 + signal.SIGTERM
    events = run.events()
    levels = events_of(events, LevelClosed)
    assert [level.void for level in levels] == ["worker_lost", "worker_lost", None]
    assert [level.figures.settled for level in levels] == [False, False, True]
    assert [level.users for level in events_of(events, LevelOpened)] == [6, 6, 6]
    assert {mark.id for mark in events_of(events, Mark)} >= {"worker_lost"}
    assert not any(mark.kind in ("knee", "first_overload") for mark in events_of(events, Mark))
    for sample in events_of(events, Sample):
        if sample.settled:
            assert sample.users == 6
            assert sample.workers is not None and sample.workers.late == 0, "a late worker in a settled second"
    assert events_of(events, Ended)
    assert export(run.sessions)["session"]["engine"] == {"mode": "workers", "workers": 3}


def test_workers_end_when_their_run_is_killed(tmp_path: Path) -> None:
    with started_run(tmp_path, "actor", "--headless", "--workers", "1", "--plan", "4:10m") as run:
        run.wait_for_events(Sample, lambda event: event.users == 4)
        assert len(_worker_pids(run)) == 1
        run.process.kill()
        run.process.wait()
        run.marked.assert_no_process_left()


def test_after_a_step_down_the_service_has_as_many_connections_as_there_are_users(tmp_path: Path) -> None:
    """Each client, and other ways to leave, without workers: tests/load/test_leaving.py."""
    with started_run(tmp_path, "actor", "--headless", "--workers", "2", "--plan", "6:8s,3:10m") as run:
        run.wait_for_events(Target, lambda event: event.state == "ready")
        url = run.wait_for_events(Header)[-1].target.url
        for users in (6, 3):
            wait_until(lambda users=users: established(url) == users, f"{users} connections")  # type: ignore[misc]
        run.process.send_signal(signal.SIGTERM)
        run.exit_code()


LOCUSTFILE = """
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
"""Each user raises one exception in a worker: it must reach the run."""

SECRET = "CAPEXPLORER_SECRET=0123456789abcdef"


def test_a_worker_joins_only_with_the_secret_and_the_locustfile_of_the_run(tmp_path: Path) -> None:
    locustfile, other = tmp_path / "visits.py", tmp_path / "other.py"
    locustfile.write_text(LOCUSTFILE)
    other.write_text(LOCUSTFILE + "\n")
    bind = f"127.0.0.1:{free_port()}"
    args = ("actor", "-f", str(locustfile), "--headless", "--bind", bind, "--expect-workers", "1", "--plan", "4:15s")
    with started_run(tmp_path, *args, before=("env", SECRET)) as run:
        run.wait_for_events(Target, lambda event: event.state == "ready")
        for secret, given, wait_s, message in (
            (SECRET, other, 60, f"{other}: differs from the run's {locustfile}"),
            ("CAPEXPLORER_SECRET=another-secret-here", locustfile, 2, f"no answer of a run at {bind} in 2 s"),
        ):
            done = run_command("worker", "--join", bind, "-f", str(given), "--wait", str(wait_s), before=("env", secret))
            assert done.returncode == 2
            assert done.stderr.splitlines()[-1].startswith(f"capexplorer: {message}")
        worker = run_command("worker", "--join", bind, "-f", str(locustfile), before=("env", SECRET))
        assert worker.returncode == 0, worker.stderr
        assert worker.stderr.splitlines()[0] == f"joined the run at {bind}"
        assert run.exit_code() == 0, run.stderr
    events = run.events()
    assert any(level.figures.settled for level in events_of(events, LevelClosed))
    assert {mark.id for mark in events_of(events, Mark)} >= {"user_code_error"}


SERVICE, RUN_NAME = "10.77.0.3", "run.example"


@pytest.fixture
def two_machines(tmp_path: Path) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Two linked network namespaces in place of machines, that of the run (10.77.0.1, fd77::1, and RUN_NAME) and that of the
    worker: the words that run a command in each. The service is at SERVICE, another address of the run's machine.
    """
    require(*NETWORKING)
    if not is_root():
        pytest.skip("network namespaces need root")
    (hosts := tmp_path / "hosts").write_text(f"127.0.0.1 localhost\n10.77.0.1 {RUN_NAME}\n")
    with_hosts = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts))
    with network() as run, network() as worker:
        other = worker[1].split("/")[2]  # the process that holds the namespace
        ends = {
            run: [f"link add eth0 type veth peer name eth0 netns {other}", "addr add 10.77.0.1/24 dev eth0"],
            worker: ["addr add 10.77.0.2/24 dev eth0", "addr add fd77::2/64 dev eth0 nodad"],
        }
        ends[run] += [f"addr add {SERVICE}/24 dev eth0", "addr add fd77::1/64 dev eth0 nodad"]
        for words, commands in ends.items():
            for command in (*commands, "link set eth0 up"):
                subprocess.run([*words, "ip", *command.split()], check=True, capture_output=True)
        yield (*run, *with_hosts), (*worker, *with_hosts)


LOADED = ("--host", f"http://{SERVICE}:8123", "--allow-host", SERVICE)


@pytest.mark.parametrize(
    ("bind", "join"),
    [("10.77.0.1", "10.77.0.1"), ("0.0.0.0", "10.77.0.1"), ("[::]", "[fd77::1]"), (RUN_NAME, RUN_NAME)],
)
def test_a_worker_on_another_machine_joins_at_every_kind_of_address_and_must_allow_the_host_of_the_load_itself(
    tmp_path: Path, two_machines: tuple[tuple[str, ...], tuple[str, ...]], bind: str, join: str
) -> None:
    """The address at which it joins is not allowed as a host for load thereby."""
    on_run_machine, on_worker_machine = two_machines
    (locustfile := tmp_path / "visits.py").write_text(LOCUSTFILE.replace('get("/work")', 'get("/")').partition("        if ")[0])
    command = [*on_run_machine, sys.executable, "-m", "http.server", "8123", "--bind", SERVICE, "--directory", str(tmp_path)]
    args = ("-f", str(locustfile), *LOADED, "--bind", f"{bind}:5557", "--expect-workers", "1", "--headless", "--plan", "1:6s")
    options = ("worker", "--join", f"{join}:5557", "-f", str(locustfile), "--wait", "60")
    with (
        stopped_at_end(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)),
        started_run(tmp_path, *args, before=(*on_run_machine, "env", SECRET)) as run,
    ):
        refused = run_command(*options, before=(*on_worker_machine, "env", SECRET))
        worker = run_command(*options, "--allow-host", SERVICE, before=(*on_worker_machine, "env", SECRET))
        run.exit_code()
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].endswith(f"--allow-host {SERVICE}")
    assert (worker.returncode, worker.stderr) == (0, f"joined the run at {join}:5557\n")
    last = ended(run.events())
    assert last.requests and not last.failures
    settled = [sample for sample in events_of(run.events(), Sample) if sample.settled]
    assert all(sample.duration_s == 1.0 and sample.ports is not None for sample in settled)
