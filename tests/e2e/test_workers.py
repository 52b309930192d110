"""Runs with real worker processes: they share the users, may be lost, join from other machines, and end with the run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from disturbed_runs import repeated_while_disturbed
from load.servers import established
from programs import require

from capexplorer.model.events import Command, Ended, Event, Header, LevelClosed, LevelOpened, Mark, Sample, Target
from capexplorer.target.place import free_port

from .rig import Run, events_of, export, run_command, run_in_process, started_run, wait_until

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


def _ip(*args: str) -> bool:
    """Whether `ip ARGS` succeeded."""
    return subprocess.run(["ip", *args], capture_output=True, check=False, timeout=20).returncode == 0


@pytest.fixture
def two_machines(tmp_path: Path) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Two linked network namespaces in place of machines, that of the run (10.77.0.1, fd77::1, and RUN_NAME) and that of the
    worker: the words that run a command in each. The service is at SERVICE, another address of the run's machine.
    """
    require("ip")
    run, worker = (f"cap-{side}-{os.getpid()}" for side in ("run", "worker"))  # unique: a killed test leaves its namespaces
    if os.geteuid() != 0 or not _ip("netns", "add", run):
        pytest.skip("needs root and the right to make network namespaces")
    try:
        made = [
            _ip("netns", "add", worker),
            _ip("link", "add", "cap-a", "netns", run, "type", "veth", "peer", "name", "cap-b", "netns", worker),
        ]
        for name, end, *addresses in (
            (run, "cap-a", "10.77.0.1/24", f"{SERVICE}/24", "fd77::1/64"),
            (worker, "cap-b", "10.77.0.2/24", "fd77::2/64"),
        ):
            made += [_ip("-n", name, "link", "set", "lo", "up"), _ip("-n", name, "link", "set", end, "up")]
            made += [_ip("-n", name, "addr", "add", each, "dev", end, *(["nodad"] if ":" in each else [])) for each in addresses]
        assert all(made), "a command of ip failed"
        hosts = tmp_path / "hosts"
        hosts.write_text(f"127.0.0.1 localhost\n10.77.0.1 {RUN_NAME}\n")
        with_hosts = ("sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts))
        yield ("ip", "netns", "exec", run, *with_hosts), ("ip", "netns", "exec", worker, *with_hosts)
    finally:
        for name in (run, worker):
            _ip("netns", "del", name)


@dataclass(frozen=True)
class JoinedFromAnotherMachine:
    """A run on one machine, after two attempts of a worker on another machine to join it."""

    events: list[Event]
    exit_code: int
    without_allowed_host: subprocess.CompletedProcess[str]
    with_allowed_host: subprocess.CompletedProcess[str]

    @property
    def cores_of_others(self) -> float:
        """Cores that other processes kept busy, in the busiest second."""
        return max((each.neighbours.cpu_ratio or 0.0 for each in events_of(self.events, Sample) if each.neighbours), default=0.0)

    @property
    def has_settled(self) -> bool:
        """Whether a level has figures: a worker that gets no CPU for 3 s is lost, and with it the level."""
        return any(level.figures.settled for level in events_of(self.events, LevelClosed))


LOADED = ("--host", f"http://{SERVICE}:8123", "--allow-host", SERVICE)


@contextmanager
def service_on(on_run_machine: tuple[str, ...], folder: Path) -> Iterator[None]:
    """A service at SERVICE."""
    command = [*on_run_machine, sys.executable, "-m", "http.server", "8123", "--bind", SERVICE, "--directory", str(folder)]
    service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        service.terminate()
        service.wait()


def join_from_another_machine(
    folder: Path, on_run_machine: tuple[str, ...], on_worker_machine: tuple[str, ...]
) -> JoinedFromAnotherMachine:
    folder.mkdir()
    locustfile = folder / "visits.py"
    locustfile.write_text(LOCUSTFILE.replace('get("/work")', 'get("/")'))
    bind = "10.77.0.1:5557"
    args = ("-f", str(locustfile), *LOADED, "--bind", bind, "--expect-workers", "1", "--headless", "--plan", "3:15s")
    join = ("worker", "--join", bind, "-f", str(locustfile))
    with service_on(on_run_machine, folder), started_run(folder, *args, before=(*on_run_machine, "env", SECRET)) as run:
        refused = run_command(*join, before=(*on_worker_machine, "env", SECRET))
        worker = run_command(*join, "--allow-host", SERVICE, before=(*on_worker_machine, "env", SECRET))
        exit_code = run.exit_code()
        return JoinedFromAnotherMachine(run.events(), exit_code, refused, worker)


def test_a_worker_on_another_machine_must_allow_the_host_itself(
    tmp_path: Path, two_machines: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    joined = repeated_while_disturbed(
        lambda folder: join_from_another_machine(folder, *two_machines),
        lambda joined: joined.has_settled,
        lambda joined: joined.cores_of_others,
        tmp_path,
    )
    assert joined.without_allowed_host.returncode == 2
    assert joined.without_allowed_host.stderr.splitlines()[-1].endswith(f"or add --allow-host {SERVICE}")
    assert joined.with_allowed_host.returncode == 0, joined.with_allowed_host.stderr
    assert joined.exit_code == 0
    assert joined.has_settled
    for sample in events_of(joined.events, Sample):
        if sample.settled:
            assert sample.duration_s == 1.0
            assert sample.ports is not None


@pytest.mark.parametrize(("bind", "join"), [("0.0.0.0", "10.77.0.1"), ("[::]", "[fd77::1]"), (RUN_NAME, RUN_NAME)])
def test_a_worker_joins_at_every_kind_of_address_without_it_being_allowed_as_a_host_for_load(
    tmp_path: Path, two_machines: tuple[tuple[str, ...], tuple[str, ...]], bind: str, join: str
) -> None:
    on_run_machine, on_worker_machine = two_machines
    locustfile = tmp_path / "visits.py"
    locustfile.write_text(LOCUSTFILE.replace('get("/work")', 'get("/")').partition("        if ")[0])
    args = ("-f", str(locustfile), *LOADED, "--bind", f"{bind}:5557", "--expect-workers", "1", "--headless", "--plan", "1:3s")
    with service_on(on_run_machine, tmp_path), started_run(tmp_path, *args, before=(*on_run_machine, "env", SECRET)) as run:
        options = ("--join", f"{join}:5557", "-f", str(locustfile), "--allow-host", SERVICE, "--wait", "60")
        worker = run_command("worker", *options, before=(*on_worker_machine, "env", SECRET))
        run.exit_code()
    assert worker.stderr.splitlines() == [f"joined the run at {join}:5557"]
    assert worker.returncode == 0
    [ended] = events_of(run.events(), Ended)
    assert ended.requests
    assert not ended.failures


def test_an_address_at_which_workers_cannot_join_is_refused_in_one_line() -> None:
    """In new processes, since the refusal needs Locust, which must not be imported into this one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for address, why in (
            (f"127.0.0.1:{taken.getsockname()[1]}", "address already in use"),
            ("192.0.2.1:5557", "cannot assign requested address"),
        ):
            args = ("run", "actor", "--headless", "--plan", "1:1s", "--bind", address)
            done = run_command(*args, before=("env", SECRET))
            assert done.returncode == 2
            assert done.stderr.splitlines() == [
                f"capexplorer: workers cannot join at {address}: {why}; expected an address of this machine and a free port"
            ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--workers", "0"), "--workers: expected 1 to 256, or auto, got '0'"),
        (("--workers", "many"), "--workers: expected 1 to 256, or auto, got 'many'"),
        (("--workers", "²"), "--workers: expected 1 to 256, or auto, got '²'"),
        (("--workers", "200"), "--workers: expected at most guards.max_workers (8), got 200"),
        (("--expect-workers", "2"), "--expect-workers: needs --bind ADDRESS:PORT"),
        (
            ("--plain-workers", "--bind", "127.0.0.1:7999", "--plan", "rate 5/s 3s"),
            "--plan: plain Locust workers cannot be offered a rate: leave out --plain-workers",
        ),
        (("--bind", "here"), "--bind: expected ADDRESS:PORT, got 'here'"),
    ],
)
def test_invalid_options_for_workers_are_refused_in_one_line(args: tuple[str, ...], message: str) -> None:
    done = run_in_process("run", "actor", "--headless", "--plan", "1:1s", *args)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]


def test_binding_an_address_of_the_network_is_refused_without_a_secret() -> None:
    """In a new process, since the refusal needs Locust, which must not be imported into this one."""
    done = run_command("run", "actor", "--headless", "--plan", "1:1s", "--bind", "10.1.2.3:5557")
    assert done.returncode == 2
    assert "--bind: set CAPEXPLORER_SECRET here and for the workers" in done.stderr.splitlines()[-1]
