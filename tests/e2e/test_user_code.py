"""Locustfiles with faults, and with uncommon code: sys.exit, blocked load threads, child processes, runner.quit(), sockets.

Each run ends in time, reports the reason, and leaves a complete session.
"""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest
from load.servers import server

from capexplorer.model.events import Command, Header, LevelClosed, LevelOpened, Log, Mark, Sample
from capexplorer.model.findings import Cause

from .rig import ROOT, Run, ended, events_of, run_to_end, started_run

pytestmark = pytest.mark.slow

LOCUSTFILE_START = """
import os, sys
from itertools import count
import gevent
from gevent.monkey import get_original
pause_without_gevent = get_original("time", "sleep")
from locust import HttpUser, User, constant, events, task
from locust.exception import StopUser
calls = count()
class Visitor(HttpUser):
    wait_time = constant(0.1)
    visits = 0
    @task
    def visit(self):
        self.client.get("/work")
        self.visits += 1
"""


def run_with(folder: Path, task: str, plan: str = "2:3s", *args: str) -> tuple[Run, int]:
    """A run of a locustfile (`LOCUSTFILE_START`, with further lines of its task), and its exit code."""
    path = folder / "visits.py"
    path.write_text(f"{LOCUSTFILE_START}        {task}\n", encoding="utf-8")
    return run_to_end(folder, "actor", "-f", str(path), "--headless", "--plan", plan, *args)


def examples(run: Run, cause: str) -> set[str]:
    """The example that each mark of a cause gives as its evidence."""
    return {str(mark.finding.figures()["example"]) for mark in events_of(run.events(), Mark) if mark.id == cause}


def settled_goodput(run: Run) -> list[float | None]:
    return [level.figures.goodput_rps for level in events_of(run.events(), LevelClosed)]


@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["in_process", "in_workers"])
def test_levels_of_users_that_stop_after_one_flow_settle_and_the_place_is_named(tmp_path: Path, workers: tuple[str, ...]) -> None:
    run, code = run_with(tmp_path, "gevent.sleep(0.3); raise StopUser", "2:8s,4:8s", *workers)
    assert code == 0, run.stderr
    assert None not in settled_goodput(run)
    assert examples(run, "users_stopped") == {"StopUser (visits.py:17 in visit)"}
    assert examples(run, "user_code_error") == set()
    assert examples(run, "connection_churn") == set()


def test_users_that_stop_in_on_start_are_named_with_their_place(tmp_path: Path) -> None:
    """As those whose test data have run out."""
    run, _ = run_with(tmp_path, "pass\n    def on_start(self): raise StopUser", "2:4s")
    assert settled_goodput(run) == [None]
    assert examples(run, "users_stopped") == {"StopUser (visits.py:18 in on_start)"}


def test_users_that_raise_in_on_start_are_replaced_and_reported(tmp_path: Path) -> None:
    broken = "if next(calls) < 3: raise RuntimeError('no seat \\x1b[2J[bold]left[/bold]')"
    run, code = run_with(tmp_path, f"pass\n    def on_start(self):\n        {broken}", "4:5s")
    assert code == 0, run.stderr
    [*_, mark] = [mark for mark in events_of(run.events(), Mark) if mark.kind == "cause"]
    evidence = mark.finding.figures()
    assert (mark.id, evidence["count"], evidence["users_replaced"]) == ("user_code_error", 3, 3)
    assert "visits.py:19 in on_start" in str(evidence["example"])
    assert events_of(run.events(), Sample)[-1].users == 4
    assert None not in settled_goodput(run)
    assert "\x1b" not in run.stderr


def test_a_request_to_a_host_that_is_not_allowed_fails_without_a_connection(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path, "self.client.get('http://192.0.2.1/away')")
    failures = [failure for sample in events_of(run.events(), Sample) for failure in sample.failures]
    assert failures and all("HostNotAllowed" in failure.signature.types for failure in failures)
    assert len([log for log in events_of(run.events(), Log) if "load to 192.0.2.1" in log.text and "refused" in log.text]) == 1


FIGURES_AND_REQUESTS = """
import gevent, time
from urllib.parse import urlsplit
from gevent import socket
from locust import FastHttpUser, HttpUser, User, constant, events, task
from capexplorer.users import LeanHttpUser

def fire(kind, name, response_time, **more):
    events.request.fire(request_type=kind, name=name, response_time=response_time, response_length=0, exception=None, **more)

def asks(user):
    address = urlsplit(user.host)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(b"GET /work HTTP/1.1\\r\\nHost: here\\r\\nConnection: close\\r\\n\\r\\n")
        connection.recv(1000)

class Socket(User):
    abstract = {sockets}
    wait_time = constant(0.1)
    @task
    def call(self):
        asks(self)
        fire("WS", "call", 0, url="ws://here/work", start_time=time.time())
        fire("WS", "push", 0)

class Visitor(User):
    abstract = True
    wait_time = constant(0.1)
    @task
    def visit(self):
        began_s, own = time.time(), type(self).__name__
        with self.client.get("/work", stream=True, name=f"stream {{own}}", catch_response=True) as reply:
            fire("METRIC", f"ttft {{own}}", 1)
            for part in reply.iter_content(100):
                pass
        reply = self.client.get("/work", stream=True, name=f"work {{own}}")
        for part in reply.iter_content(100):
            pass
        fire("METRIC", f"tokens {{own}}", 0)
        fire("METRIC", f"read {{own}}", 1000 * (time.time() - began_s), url="/work", start_time=began_s, response=reply)
        asks(self)
        fire("REDIS", f"get {{own}}", 0)
        gevent.sleep(0.01)
        fire("METRIC", f"bytes {{own}}", 0, url="/work", start_time=time.time())
"""


FIGURES = {("METRIC", "ttft"), ("METRIC", "tokens"), ("METRIC", "read"), ("METRIC", "bytes")}
REQUESTS = {("GET", "stream"), ("GET", "work"), ("REDIS", "get")}


@pytest.mark.parametrize(
    ("clients", "workers"),
    [(("HttpUser", "LeanHttpUser"), ()), (("FastHttpUser",), ("--workers", "2")), ((), ())],
    ids=["here", "in workers", "no client"],
)
def test_events_without_a_request_of_their_own_are_metrics_with_each_client(
    tmp_path: Path, clients: tuple[str, ...], workers: tuple[str, ...]
) -> None:
    visitors = (f"class Of{client}(Visitor, {client}):\n    pass\n" for client in clients)
    code = "\n".join([FIGURES_AND_REQUESTS.format(sockets=bool(clients)), *visitors])
    (path := tmp_path / "visits.py").write_text(code, encoding="utf-8")
    run, _ = run_to_end(tmp_path, "actor", "-f", str(path), "--headless", "--plan", "3:3s", *workers)
    samples = events_of(run.events(), Sample)
    metrics = {(tick.method, tick.name) for sample in samples for tick in sample.metrics}
    requests = {(tick.method, tick.name) for sample in samples for tick in sample.endpoints}
    figures, sent = ({(kind, f"{name} Of{client}") for kind, name in each for client in clients} for each in (FIGURES, REQUESTS))
    assert (metrics, requests) == (figures, sent or {("WS", "call"), ("WS", "push")})
    marks = [mark.finding for mark in events_of(run.events(), Mark) if mark.id == "custom_metrics"]
    named = {name for each in marks if isinstance(each, Cause) for name in each.endpoints}
    assert named == {f"{method} {name}" for method, name in metrics}
    assert not any(mark.id == "user_code_error" for mark in events_of(run.events(), Mark))


def test_a_call_that_blocks_the_event_loop_is_named_and_not_the_generators_cpu(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path, "pause_without_gevent(0.1)", "6:12s")
    assert examples(run, "event_loop_blocked") == {"visits.py:17 in visit"}
    assert not any(mark.id == "generator_cpu_saturated" for mark in events_of(run.events(), Mark))


TASK_WITH_EXITS_AND_CHILDREN = f"""if self.visits == 3 and next(calls) < 2: sys.exit(3)
        if self.visits > 2: return
        sys.path.insert(0, {str(ROOT)!r})
        from tests.load.under_gevent.children import started
        print(*started().values())
"""


@pytest.fixture(scope="module")
def run_with_exits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    """A run, and its exit code. Users start child processes in their first two tasks; two users call sys.exit in their third."""
    return run_with(tmp_path_factory.mktemp("exits"), TASK_WITH_EXITS_AND_CHILDREN, "2:4s,3:4s")


def test_sys_exit_in_a_task_ends_one_user_only(run_with_exits: tuple[Run, int]) -> None:
    """Before, it ended the load thread, without a mark, and the plan never ended. Other exceptions: tests/load."""
    run, code = run_with_exits
    assert code == 0, run.stderr
    assert examples(run, "user_code_error") == {"SystemExit: 3 (visits.py:17 in visit)"}
    samples = events_of(run.events(), Sample)
    assert samples[-1].users == 3
    assert sum(tick.requests + tick.warmup_requests for sample in samples[-2:] for tick in sample.endpoints) > 0


def test_tasks_can_start_child_processes_and_wait_for_them(run_with_exits: tuple[Run, int]) -> None:
    """Before, waiting for a child process raised an error of gevent; now only the calls of sys.exit are errors."""
    run, _ = run_with_exits
    results_of_children = {log.text for log in events_of(run.events(), Log) if log.source == "stdout"}
    assert results_of_children == {"hi ('through', 0) 5 6 3"}
    assert examples(run, "user_code_error") == {"SystemExit: 3 (visits.py:17 in visit)"}


LISTENERS = """
@events.test_stop.add_listener
def on_test_stop(**_):
    print("test_stop")
@events.quitting.add_listener
def on_quitting(environment, **_):
    print("quitting")
@events.quit.add_listener
def on_quit(exit_code, **_):
    print("quit with", exit_code)
"""


@pytest.mark.parametrize(("call", "set_by_user", "set_by_listener", "code"), [("quit", 7, None, 7), ("stop", 0, 5, 5)])
def test_a_locustfile_ends_the_run_by_the_runner_and_sets_its_exit_code(
    tmp_path: Path, call: str, set_by_user: int, set_by_listener: int | None, code: int
) -> None:
    """The exit code is set by a user, or by a listener of `quitting`, as pipelines do to fail on bad figures."""
    set_by_task = f"self.environment.process_exit_code = {set_by_user}; " if set_by_user else ""
    print_and_set = f'print("quitting"); environment.process_exit_code = {set_by_listener}'
    listeners = LISTENERS if set_by_listener is None else LISTENERS.replace('print("quitting")', print_and_set)
    task = f"if self.visits > 10: {set_by_task}self.environment.runner.{call}()\n{listeners}"
    run, exit_code = run_with(tmp_path, task, "3:60s")
    assert exit_code == code, run.stderr
    assert ended(run.events()).exit_code == code
    assert f"capexplorer: {ended(run.events()).reason}" in run.stderr
    printed = [log.text for log in events_of(run.events(), Log) if log.source == "stdout"]
    assert printed == ["test_stop", "quitting", f"quit with {code}"]
    (by_runner,) = [command for command in events_of(run.events(), Command) if command.name == "runner"]
    assert by_runner.args == {"call": call}
    assert events_of(run.events(), LevelOpened)[-1].by == "guard", "the level of 0 users is no step of the plan"


def test_a_listener_of_quitting_reads_the_requests_of_all_workers(tmp_path: Path) -> None:
    """Before, the first worker to leave began the step again, which cleared the statistics by which pipelines fail."""
    says = "print(type(environment.runner).__name__, environment.stats.total.num_requests > 3)"
    run, code = run_with(
        tmp_path, f"pass\n@events.quitting.add_listener\ndef on_quitting(environment, **_):\n    {says}", "4:4s", "--workers", "2"
    )
    assert code == 0, run.stderr
    assert "Master True" in [log.text for log in events_of(run.events(), Log) if log.source == "stdout"]


ENDLESS = "while self.visits > 3: sum(range(10_000)) if next(calls) % 50 == 0 else pause_without_gevent(0.01)"
"""Every 50th iteration computes, and the others wait without gevent, so that the test needs little CPU."""


@pytest.mark.parametrize(
    ("task", "plan", "cause"),
    [
        (ENDLESS, "2:4s,4:4s", "load_thread_blocked"),
        ("if self.visits > 20: gevent.get_hub().destroy(destroy_loop=True)", "2:60s", "load_thread_ended"),
    ],
)
def test_a_load_thread_that_does_not_go_on_ends_the_run_with_exit_code_4_and_its_line(
    tmp_path: Path, task: str, plan: str, cause: str
) -> None:
    """Before, the plan never continued, and the process crashed at its end (exit code 139)."""
    run, code = run_with(tmp_path, task, plan)
    assert code == ended(run.events()).exit_code == 4, run.stderr
    assert len(examples(run, cause)) == 1
    assert f"capexplorer: {ended(run.events()).reason}" in run.stderr
    if cause == "load_thread_blocked":
        assert examples(run, cause) == {"visits.py:17 in visit"}
    else:
        assert events_of(run.events(), Sample)[-1].users == 0


PROFILE_WITH_LARGE_REPLIES = """
url = "{url}"
[users]
client = "requests"
start = 2
max_body_mb = 8
wait_s = 0.1
[[users.task]]
name = "/bomb"
[[users.task]]
name = "/endless"
"""


def test_replies_beyond_max_body_mb_are_a_cause_and_are_not_kept_in_memory(tmp_path: Path) -> None:
    """With one client; the limit of each client: tests/load/test_bodies.py."""
    path = tmp_path / "large.toml"
    with server() as running:
        path.write_text(PROFILE_WITH_LARGE_REPLIES.format(url=running.url), encoding="utf-8")
        with started_run(tmp_path, str(path), "--headless", "--plan", "2:60s") as run:
            run.wait_for_events(Mark, lambda mark: mark.id == "body_too_large")
            run.process.send_signal(signal.SIGINT)
            run.exit_code()
    samples = events_of(run.events(), Sample)
    assert {failure.example for sample in samples for failure in sample.failures} >= {"body larger than 8 MB"}
    rss_bytes = [each.rss_bytes for sample in samples if (each := sample.generator) and each.rss_bytes]
    assert max(rss_bytes) - min(rss_bytes) < 100_000_000, f"memory of the generator: {rss_bytes}"


TENANT_LOCUSTFILE = """
from locust import User, constant, events, task
class Named(User):
    wait_time = constant(0.2)
    @task
    def name(self):
        name = f"{self.host} {self.environment.parsed_options.tenant}"
        self.environment.events.request.fire(request_type="WS", name=name, response_time=1, response_length=0)
@events.init_command_line_parser.add_listener
def add(parser):
    parser.add_argument("--tenant", required=True)
"""


@pytest.mark.parametrize(
    ("host", "workers"),
    [
        ("localhost:{port}", ()),
        ("ws://127.0.0.1:{port}/feed", ()),
        ("redis://127.0.0.1:{port}", ("--workers", "1")),
    ],
    ids=["no scheme", "in_process", "in_workers"],
)
def test_users_without_an_http_client_get_any_host_as_it_was_given_and_arguments_after_two_dashes(
    tmp_path: Path, host: str, workers: tuple[str, ...]
) -> None:
    (path := tmp_path / "tenants.py").write_text(TENANT_LOCUSTFILE, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as service:
        url = host.format(port=service.getsockname()[1])
        given = ("-f", str(path), "--host", url, "--headless", "--plan", "2:5s", *workers, "--", "--tenant", "blue")
        run, code = run_to_end(tmp_path, *given)
    assert code == 0, run.stderr
    assert events_of(run.events(), Header)[0].clients == ("User",)
    assert {tick.name for sample in events_of(run.events(), Sample) for tick in sample.endpoints} == {f"{url} blue"}
    assert not examples(run, "user_code_error")
