"""What locustfiles do to the process that runs them: each run ends in time, says why, and leaves a whole log."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from load.servers import server

from capexplorer.model.events import Command, Ended, Header, LevelOpened, Log, Mark, Sample

from .rig import ROOT, Run, answer, ended, of, start
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow

HEAD = """
import os, sys
from itertools import count
import gevent
from gevent.monkey import get_original
pause_without_gevent = get_original("time", "sleep")
from locust import HttpUser, User, constant, events, task
deaths = count()
class Visitor(HttpUser):
    wait_time = constant(0.1)
    visits = 0
    @task
    def visit(self):
        self.client.get("/work")
        self.visits += 1
"""


def run_with(folder: Path, task: str, plan: str = "2:3s", *args: str) -> tuple[Run, int]:
    """A plan with a locustfile whose task goes on like this."""
    path = folder / "visits.py"
    path.write_text(f"{HEAD}        {task}\n", encoding="utf-8")
    return ended(folder, "actor", "-f", str(path), "--headless", "--plan", plan, *args)


def last(run: Run) -> Ended:
    """The log's last line: it is whole."""
    found = run.events()[-1]
    assert isinstance(found, Ended), found
    return found


def examples(run: Run, cause: str) -> set[str]:
    """What the marks of a cause show."""
    return {str(mark.finding.figures()["example"]) for mark in of(run.events(), Mark) if mark.id == cause}


EXITS = f"""if self.visits == 3 and next(deaths) < 2: sys.exit(3)
        if self.visits > 2: return
        sys.path.insert(0, {str(ROOT)!r})
        from tests.load.scenes.children import started
        print(*started().values())
"""


@pytest.fixture(scope="module")
def exits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    """Users start processes in their first two tasks; two of them exit in their third one."""
    return run_with(tmp_path_factory.mktemp("exits"), EXITS, "2:4s,3:4s")


def test_an_exception_that_would_end_a_process_ends_one_user(exits: tuple[Run, int]) -> None:
    """The load thread once ended unseen: 0/s without a mark, and a plan that waited for ever. Others: tests/load."""
    run, code = exits
    assert code == 0, run.stderr
    assert last(run).reason == "plan finished"
    assert examples(run, "user_code_error") == {"SystemExit: 3 (visits.py:16 in visit)"}
    samples = of(run.events(), Sample)
    assert samples[-1].users == 3
    assert sum(tick.requests + tick.warmup_requests for sample in samples[-2:] for tick in sample.endpoints) > 0


def test_tasks_may_start_processes(exits: tuple[Run, int]) -> None:
    """The children once ran, and whoever waited for them got an error of gevent's: here only the exits are errors."""
    run, _ = exits
    assert {log.text for log in of(run.events(), Log) if log.source == "stdout"} == {"hi ['through', 0] 5 6 3"}
    assert examples(run, "user_code_error") == {"SystemExit: 3 (visits.py:16 in visit)"}


def assert_clients_are_named(run: Run, classes: tuple[str, ...], client_name: str, locustfile: str) -> None:
    (header,) = of(run.events(), Header)
    assert header.clients == classes
    assert "client" not in header.profile["users"]  # the profile's own setting had no part in it
    markdown = answer("export", "last", "--format", "md", "--sessions-dir", str(run.sessions)).stdout
    assert f"| client | `{client_name}` |" in markdown
    assert f"| locustfile | `{locustfile}` |" in markdown


def test_the_session_names_the_client_class_of_the_users(exits: tuple[Run, int]) -> None:
    """Several classes: test_locustfiles.py; a profile's: test_headless.py."""
    assert_clients_are_named(exits[0], ("HttpUser",), "requests (HttpUser)", "visits.py")


def test_a_task_that_never_yields_ends_the_run_with_its_place(tmp_path: Path) -> None:
    """The plan once never went on, and the process crashed at its end: 139. Every 50th turn computes, the others only wait."""
    endless = "while self.visits > 3: sum(range(10_000)) if next(deaths) % 50 == 0 else pause_without_gevent(0.01)"
    run, code = run_with(tmp_path, endless, "2:4s,4:4s")
    assert code == 4, run.stderr
    assert examples(run, "load_thread_blocked") == {"visits.py:16 in visit"}
    assert last(run).exit_code == 4
    text = "the load thread has not run for 15 s: user code computes or blocks without gevent in visits.py:16 in visit"
    assert last(run).reason == text and f"capexplorer: {text}" in run.stderr
    assert "Limited by user code that blocks the load thread" in run.stderr


def test_a_load_thread_that_ends_is_reported_and_ends_the_run(tmp_path: Path) -> None:
    run, code = run_with(tmp_path, "if self.visits > 20: gevent.get_hub().destroy(destroy_loop=True)", "2:60s")
    assert code == 4, run.stderr
    assert len(examples(run, "load_thread_ended")) == 1
    assert "the load thread has ended, and with it all users" in last(run).reason
    assert of(run.events(), Sample)[-1].users == 0


LISTENERS = """
@events.test_stop.add_listener
def stopped(**_):
    print("test_stop heard")
@events.quitting.add_listener
def quits(environment, **_):
    print("quitting heard")
@events.quit.add_listener
def quit(exit_code, **_):
    print("quit heard with", exit_code)
"""


@pytest.mark.parametrize(("call", "set_by_user", "set_by_listener", "code"), [("quit", 7, None, 7), ("stop", 0, 5, 5)])
def test_a_locustfile_may_end_the_run_as_in_locust(
    tmp_path: Path, call: str, set_by_user: int, set_by_listener: int | None, code: int
) -> None:
    """With the exit code that users set, or a listener as the run ends: how a pipeline learns that a run was not good enough."""
    exit_code = f"self.environment.process_exit_code = {set_by_user}; " if set_by_user else ""
    sets = f'print("quitting heard"); environment.process_exit_code = {set_by_listener}'
    listeners = LISTENERS if set_by_listener is None else LISTENERS.replace('print("quitting heard")', sets)
    run, found = run_with(tmp_path, f"if self.visits > 10: {exit_code}self.environment.runner.{call}()\n{listeners}", "3:60s")
    assert found == code, run.stderr
    assert last(run).reason == f"the locustfile ended the load: runner.{call}()" and last(run).exit_code == code
    assert f"capexplorer: the locustfile ended the load: runner.{call}()" in run.stderr
    printed = [log.text for log in of(run.events(), Log) if log.source == "stdout"]
    assert printed == ["test_stop heard", "quitting heard", f"quit heard with {code}"]
    (ended,) = [command for command in of(run.events(), Command) if command.name == "runner"]
    assert ended.args == {"call": call}
    assert of(run.events(), LevelOpened)[-1].by == "guard", "nobody stepped"


@needs_tmux
def test_the_screen_says_that_the_locustfile_ended_the_load_and_one_may_step_again(tmp_path: Path) -> None:
    path = tmp_path / "visits.py"
    path.write_text(
        f"{HEAD}        if self.visits == 10 and next(deaths) == 0: self.environment.runner.stop()\n", encoding="utf-8"
    )
    with on_screen(tmp_path, "actor", "-f", str(path), size=(120, 40)) as screen:
        screen.shows("the locustfile ended the load: runner.stop()", "users 0")
        screen.press("+")
        screen.shows("users 1")
        screen.press("q")
        screen.shows("Quit?")
        screen.press("Enter")
        screen.exit_code()
        assert "capexplorer: the locustfile" not in screen.text()


def test_an_invalid_wait_time_is_a_user_error(tmp_path: Path) -> None:
    """It once ended the pump, and with it the run, as a defect of ours."""
    run, code = run_with(tmp_path, 'pass\n    wait_time = lambda self: "soon"')
    assert code == 4, run.stderr  # no user lives long enough for a level to settle
    assert examples(run, "user_code_error") == {
        "WaitTimeError: wait_time of Visitor returned 'soon': expected seconds, a number from 0 up"
    }


PROFILE = """
title = "Large replies"
url = "{url}"
[users]
client = "{client}"
start = 2
max_body_mb = 8
wait_s = 0.1
[[users.task]]
name = "/bomb"
[[users.task]]
name = "/endless"
"""


def test_large_replies_are_a_cause_and_cost_no_memory(tmp_path: Path) -> None:
    """With one client; tests/load/test_bodies.py has the bound of each."""
    with server() as running:
        path = tmp_path / "large.toml"
        path.write_text(PROFILE.format(url=running.url, client="requests"), encoding="utf-8")
        with start(tmp_path, str(path), "--headless", "--plan", "2:60s") as run:
            run.until(Mark, lambda mark: mark.id == "body_too_large")
            run.process.send_signal(signal.SIGINT)
            code = run.exit_code()
    events = run.events()
    assert {mark.id for mark in of(events, Mark) if mark.kind == "cause"} >= {"body_too_large"}, (code, run.stderr)
    assert "Request less, or raise `max_body_mb`" in run.stderr
    assert {failure.example for sample in of(events, Sample) for failure in sample.failures} >= {"body larger than 8 MB"}
    resident = [sample.generator.rss_bytes for sample in of(events, Sample) if sample.generator and sample.generator.rss_bytes]
    assert max(resident) - min(resident) < 100_000_000, resident


@contextmanager
def echo_service() -> Iterator[int]:
    """Says `pong` over plain TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.sendall(b"pong")

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


RAW = """
import socket, time
from locust import User, constant, task
class Raw(User):
    wait_time = constant(0.1)
    @task
    def ping(self):
        host, port = self.host.split(":")
        began = time.perf_counter()
        with socket.create_connection((host, int(port))) as connection:
            said = connection.recv(4)
        took_ms = (time.perf_counter() - began) * 1000
        self.environment.events.request.fire(request_type="TCP", name="ping", response_time=took_ms, response_length=len(said))
"""


@pytest.fixture(scope="module")
def sockets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    folder = tmp_path_factory.mktemp("sockets")
    path = folder / "raw.py"
    path.write_text(RAW, encoding="utf-8")
    with echo_service() as port:
        return ended(folder, "-f", str(path), "--host", f"localhost:{port}", "--headless", "--plan", "2:6s")


def test_users_that_open_sockets_themselves_take_a_host_and_a_port(sockets: tuple[Run, int]) -> None:
    run, code = sockets
    assert code == 0, run.stderr
    samples = of(run.events(), Sample)
    assert sum(tick.requests for sample in samples for tick in sample.endpoints if tick.name == "ping") > 0
    assert not examples(run, "user_code_error")


def test_the_session_names_users_without_an_http_client(sockets: tuple[Run, int]) -> None:
    assert_clients_are_named(sockets[0], ("User",), "other (User)", "raw.py")


def test_users_that_speak_http_need_a_url(tmp_path: Path) -> None:
    path = tmp_path / "visits.py"
    path.write_text(f"{HEAD}        pass\n", encoding="utf-8")
    run, code = ended(tmp_path, "-f", str(path), "--host", "localhost:8080", "--headless", "--plan", "2:7s")
    assert code == 2
    assert run.stderr == (
        f"capexplorer: --host: Visitor of {path} speaks HTTP: expected http://localhost:8080, got localhost:8080\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no ulimit")
@pytest.mark.parametrize("limit", [16, 40])
def test_too_few_open_files_at_the_start_are_one_line_at_once(tmp_path: Path, limit: int) -> None:
    before = ("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh")
    with start(tmp_path, "actor", "--headless", "--plan", "1:2s", before=before) as run:
        assert run.exit_code() == 2
    assert run.stderr == (
        f"capexplorer: open files: the hard limit here is {limit} (ulimit -Hn),"
        " a run needs 64, plus one for each user's connection\n"
    )
    assert not run.sessions.exists()
