"""The supervisor: targets and auxiliary processes start, become ready, are built, limited, stopped and restarted; failures are
reported with their reasons.

Real processes; tests wait for events, and none asserts how long something took.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kit.servers import tcp_server

from capexplorer.errors import TargetError
from capexplorer.load import native
from capexplorer.model.limits import ProcessLimits
from capexplorer.procs.processes import is_alive
from capexplorer.target.place import free_port
from capexplorer.target.ready import answer, wait_until_built
from capexplorer.target.spec import Build, load_spec
from capexplorer.target.supervisor import KEPT_LINES, Exited, Output, Report, Started, Supervisor
from capexplorer.target.supervisor_process import LINE_BYTES, LINES_PER_S, OutputLines

from .target_rig import (
    IGNORES_SIGTERM,
    LEAVES_A_DAEMON,
    MIXED,
    PRINTS_AND_SLEEPS,
    TIMEOUT_S,
    Rig,
    becomes_true,
    below,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the supervisor needs POSIX")
# ---- the shipped target


@pytest.mark.parametrize("server", ["waitress", "flask", "gunicorn"])
def test_each_server_of_mixed_answers_and_stops_without_a_traceback(rig: Rig, server: str) -> None:
    spec, port = load_spec(MIXED), free_port()
    params = spec.resolve({"server": server, "threads": 4, "cpu_work": 1000, "io_ms": 1})
    run = rig.supervisor.start(spec, params, port)
    rig.wait_until_ready(spec, port, run)
    assert {path: answer(port, path, timeout_s=10).status for path in ("/", "/health", "/io", "/cpu")} == dict.fromkeys(
        ("/", "/health", "/io", "/cpu"), 200
    )
    pid = rig.started(run)
    workers = 2 if server == "gunicorn" else 0  # the first one to boot makes it ready
    assert becomes_true(lambda: len(below(pid)) == workers)
    tree = [pid, *below(pid)]
    with socket.create_connection(("127.0.0.1", port)) as kept_alive:
        kept_alive.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept_alive.recv(100).startswith(b"HTTP/1.1 200")
        rig.supervisor.stop()
        exited = rig.exited(run)
    assert exited.stopped
    assert exited.signal != "SIGKILL"
    assert not [each for each in tree if is_alive(each)]
    assert not below(rig.supervisor_pid)


def test_waitress_serves_more_connections_than_it_has_threads_and_prints_nothing(rig: Rig) -> None:
    spec, port = load_spec(MIXED), free_port()
    run = rig.supervisor.start(spec, spec.resolve({"threads": 1, "io_ms": 1}), port)
    rig.wait_until_ready(spec, port, run)
    connections = [socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) for _ in range(150)]
    for each in connections:
        each.sendall(b"GET /io HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert all(each.recv(100).startswith(b"HTTP/1.1 200") for each in connections)
    for each in connections:
        each.close()
    rig.supervisor.stop()
    assert rig.exited(run).output == ()


# ---- start, stop, restart


def test_a_start_ends_the_running_target_first(rig: Rig) -> None:
    spec, port = load_spec(MIXED), free_port()
    first = rig.supervisor.start(spec, spec.resolve({}), port)
    rig.wait_until_ready(spec, port, first)
    second = rig.supervisor.start(spec, spec.resolve({"threads": 2}), port)
    rig.wait_until_ready(spec, port, second)
    order = [(type(each), each.run) for each in rig.reports]
    assert order == [(Started, first), (Exited, first), (Started, second)]
    assert rig.exited(first).stopped
    assert rig.supervisor.exited(second) is None
    assert rig.supervisor.pid == rig.started(second)


def test_of_several_starts_at_once_the_last_one_counts(rig: Rig) -> None:
    runs = [rig.run(PRINTS_AND_SLEEPS) for _ in range(4)]
    rig.started(runs[-1])
    assert [ended for ended in map(rig.exited, runs[:-1]) if not ended.stopped] == []
    assert len(below(rig.supervisor_pid)) == 1


def test_a_stop_cancels_a_start_that_waits(rig: Rig) -> None:
    first = rig.run(IGNORES_SIGTERM)
    assert rig.printed("up")
    second = rig.run(PRINTS_AND_SLEEPS)
    rig.supervisor.stop(grace_s=0.1)
    assert rig.exited(second) == Exited(second, stopped=True, reason="stopped before it began")
    assert rig.exited(first).signal == "SIGKILL"
    assert not any(isinstance(each, Started) and each.run == second for each in rig.reports)


def test_a_target_may_end_by_itself_within_its_grace_period(rig: Rig) -> None:
    run = rig.run(
        "import signal, sys, time\n"
        "def end(*_):\n    time.sleep(0.2); print('saved'); sys.exit(7)\n"
        "signal.signal(signal.SIGTERM, end); print('up'); time.sleep(600)"
    )
    assert rig.printed("up")
    rig.supervisor.stop(grace_s=TIMEOUT_S)
    assert rig.exited(run) == Exited(run, code=7, stopped=True, output=("up", "saved"))


def test_the_target_starts_with_default_signals_in_its_own_session(rig: Rig) -> None:
    run = rig.run(
        "import os, signal\n"
        "print([signal.getsignal(getattr(signal, name)) == signal.SIG_DFL for name in ('SIGTERM', 'SIGHUP', 'SIGCHLD')])\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, os.getsid(0) == os.getpid() == os.getpgid(0))\n"
    )
    assert rig.exited(run).output == ("[True, True, True]", "True True")


def test_close_ends_the_target_and_reports_it_and_may_be_called_twice(rig: Rig) -> None:
    run = rig.run(PRINTS_AND_SLEEPS)
    pid = rig.started(run)
    rig.supervisor.close()
    rig.supervisor.close()
    assert rig.reports[-1] == Exited(run, signal="SIGTERM", stopped=True, output=rig.supervisor.output)
    assert not is_alive(pid)
    with pytest.raises(TargetError, match="the supervisor process is gone"):
        rig.run(PRINTS_AND_SLEEPS)


def test_a_supervisor_whose_reports_are_not_read_closes(tmp_path: Path) -> None:
    supervisor = Supervisor.launch()
    supervisor.close()
    assert not is_alive(supervisor._process.pid)


# ---- targets that fail


def test_a_target_that_exits_at_once_shows_its_code_and_last_lines(rig: Rig) -> None:
    spec, port = rig.target("import sys\nfor n in range(60): print('line', n)\nsys.exit('no license')"), free_port()
    run = rig.supervisor.start(spec, {}, port)
    with pytest.raises(TargetError) as raised:
        rig.wait_until_ready(spec, port, run)
    assert str(raised.value) == "small: ended before it was ready (exit code 1): no license"
    assert raised.value.output == (*(f"line {n}" for n in range(60 - KEPT_LINES + 1, 60)), "no license")
    assert not rig.exited(run).stopped


def test_a_target_that_is_killed_shows_the_signal(rig: Rig) -> None:
    run = rig.run(PRINTS_AND_SLEEPS)
    assert rig.printed("up")
    os.kill(rig.started(run), signal.SIGKILL)
    assert rig.exited(run) == Exited(run, signal="SIGKILL", output=("up",))


def test_a_command_that_does_not_exist_is_named(rig: Rig) -> None:
    folder = rig.folder / "absent"
    folder.mkdir()
    (folder / "target.toml").write_text('title = "x"\ncommand = ["no-such-program-here"]\n', encoding="utf-8")
    spec = load_spec(folder)
    run = rig.supervisor.start(spec, {}, 8000)
    with pytest.raises(TargetError) as raised:
        rig.wait_until_ready(spec, free_port(), run)
    why = "cannot run no-such-program-here: No such file or directory"
    assert str(raised.value) == f"absent: ended before it was ready ({why})"
    after = rig.run(PRINTS_AND_SLEEPS)
    assert rig.started(after)


@pytest.mark.parametrize("server", ["waitress", "flask", pytest.param("gunicorn", marks=pytest.mark.slow)])
def test_a_port_in_use_is_reported_as_such(rig: Rig, server: str) -> None:
    spec = load_spec(MIXED)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        run = rig.supervisor.start(spec, spec.resolve({"server": server}), port)
        with pytest.raises(TargetError) as raised:
            rig.wait_until_ready(spec, port, run)
    message = str(raised.value)
    assert message.startswith(f"mixed: cannot bind 127.0.0.1:{port}: ")
    assert "in use" in message
    assert raised.value.output


def test_a_target_that_never_listens_is_given_up(rig: Rig) -> None:
    spec, port = rig.target(PRINTS_AND_SLEEPS, timeout_s=0.3), free_port()
    run = rig.supervisor.start(spec, {}, port)
    with pytest.raises(TargetError) as raised:
        rig.wait_until_ready(spec, port, run)
    assert str(raised.value) == f"small: not ready after 0.3 s: GET http://127.0.0.1:{port}/health: connection refused"


ANSWERS = """
import socket, sys, time
with socket.create_server(('127.0.0.1', int(sys.argv[1]))) as server:
    print('up', flush=True)
    while True:
        connection, _ = server.accept()
        connection.recv(4096)
        connection.sendall({answer})
        time.sleep({wait_s})
        connection.close()
"""


@pytest.mark.parametrize(
    ("answer", "wait_s", "message"),
    [(b"HTTP/1.1 503 Busy\r\n\r\n", 0, "status 503"), (b"hello\r\n", 0, "not an HTTP"), (b"HTTP/1.1 200", 600, "no answer")],
)
def test_an_answer_that_is_not_ready_is_reported(rig: Rig, answer: bytes, wait_s: int, message: str) -> None:
    spec, port = rig.target(ANSWERS.format(answer=answer, wait_s=wait_s), timeout_s=1.0), free_port()
    run = rig.supervisor.start(spec, {}, port)
    assert rig.printed("up")
    with pytest.raises(TargetError, match=message):
        rig.wait_until_ready(spec, port, run)


def test_a_port_that_is_open_is_enough_for_a_service_that_does_not_speak_http(rig: Rig) -> None:
    spec, port = rig.target(ANSWERS.format(answer=b"", wait_s=600), timeout_s=60.0), free_port()
    spec = msgspec.structs.replace(spec, ready=msgspec.structs.replace(spec.ready, tcp=True))
    rig.wait_until_ready(spec, port, rig.supervisor.start(spec, {}, port))
    closed = msgspec.structs.replace(spec, ready=msgspec.structs.replace(spec.ready, timeout_s=0.3))
    elsewhere = free_port()
    with pytest.raises(TargetError) as raised:
        rig.wait_until_ready(closed, elsewhere, rig.supervisor.start(spec, {}, port))
    assert str(raised.value) == f"small: not ready after 0.3 s: tcp 127.0.0.1:{elsewhere}: connection refused"


OK = b"HTTP/1.1 200 OK\r\n"


def json_answer(body: bytes, length: int) -> bytes:
    return OK + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (length, body)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(OK + b"Server: streams\r\n\r\nfirst", (200, None), id="by its headers, although the body never ends"),
        (OK + b"X-Version: 1.4.2\r\nContent-Length: 0\r\n\r\n", (200, "1.4.2")),
        (json_answer(b'{"version": "2.0"}', 18), (200, "2.0")),
        (json_answer(b'{"version": 7}', 14), (200, "7")),
        (json_answer(b'["version", "1"]', 16), (200, None)),
        (json_answer(b'{"version": null}', 17), (200, None)),
        (OK + b'Content-Type: application/json\r\n\r\n{"version": "without a length"}', (200, None)),
    ],
)
def test_an_answer_has_a_status_and_may_name_a_version(sent: bytes, expected: tuple[int | None, str | None]) -> None:
    def respond(connection: socket.socket, _: bytes) -> None:
        connection.sendall(sent)
        connection.recv(1)  # until the client closes

    with tcp_server(respond) as port:
        assert answer(port, "/health", timeout_s=TIMEOUT_S) == expected


@pytest.mark.parametrize(
    ("sent", "expected"), [(json_answer(b'{"version": "cut"}', 90), (200, None)), (b"hello\r\n", (None, None))]
)
def test_an_answer_that_is_cut_off_names_no_version(sent: bytes, expected: tuple[int | None, str | None]) -> None:
    with tcp_server(lambda connection, _: connection.sendall(sent)) as port:
        assert answer(port, "/health", timeout_s=TIMEOUT_S) == expected


# ---- output


def test_output_of_both_streams_arrives_as_text(rig: Rig) -> None:
    program = "import os\nos.write(1, b'out \\xff\\n')\nos.write(2, b'\\x1b[31merr [b]\\n')\nos.write(1, b'no newline')"
    run = rig.run(program)
    assert rig.exited(run).output == ("out \ufffd", "\x1b[31merr [b]", "no newline")


def test_a_flood_of_output_blocks_nothing_and_its_last_lines_are_kept(rig: Rig) -> None:
    run = rig.run("for n in range(100_000): print('line', n)")
    exited = rig.exited(run)
    assert exited.code == 0
    assert exited.output == tuple(f"line {n}" for n in range(100_000 - KEPT_LINES, 100_000))
    kept = [line for each in rig.reports if isinstance(each, Output) for line in each.lines]
    dropped = sum(each.dropped for each in rig.reports if isinstance(each, Output))
    assert len(kept) + dropped == 100_000
    assert dropped > 0


SLEEPS = "import time; print('here', flush=True); time.sleep(600)"


class Auxiliary:
    """One auxiliary process, and the reports on it."""

    def __init__(self, rig: Rig, program: str = SLEEPS) -> None:
        self.reports: list[Report] = []
        self.run = rig.supervisor.start_auxiliary([sys.executable, "-c", program], {}, self.reports.append)
        assert becomes_true(lambda: self.of(Started))
        self.pid = self.of(Started)[0].pid

    def of(self, kind: type) -> list:  # type: ignore[type-arg]
        return [report for report in self.reports if isinstance(report, kind)]

    def exited(self) -> Exited:
        assert becomes_true(lambda: self.of(Exited))
        found = self.of(Exited)[0]
        assert isinstance(found, Exited)
        return found


def test_auxiliary_processes_survive_a_restart_of_the_target(rig: Rig) -> None:
    one, two = Auxiliary(rig), Auxiliary(rig)
    first = rig.run(PRINTS_AND_SLEEPS)
    pid = rig.started(first)
    second = rig.run(PRINTS_AND_SLEEPS)
    assert rig.exited(first).stopped
    assert not is_alive(pid)
    rig.started(second)
    rig.supervisor.stop()
    rig.exited(second)
    assert is_alive(one.pid)
    assert is_alive(two.pid)


def test_an_auxiliary_process_is_stopped_alone_and_has_its_own_reports(rig: Rig) -> None:
    one, two = Auxiliary(rig), Auxiliary(rig)
    target = rig.run(PRINTS_AND_SLEEPS)
    rig.started(target)
    assert becomes_true(lambda: any(report.lines == ("here",) for report in one.of(Output)))
    rig.supervisor.stop_auxiliary(one.run)
    ended = one.exited()
    assert (ended.stopped, ended.signal) == (True, "SIGTERM")
    assert is_alive(two.pid)
    assert rig.supervisor.runs(target)
    assert not any(report.run in (one.run, two.run) for report in rig.reports)


def test_the_children_of_a_killed_auxiliary_process_are_ended(rig: Rig) -> None:
    forks = "import subprocess, sys; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); c.wait()"
    one = Auxiliary(rig, forks)
    assert becomes_true(lambda: one.of(Output))
    child = int(one.of(Output)[0].lines[0])
    os.kill(one.pid, signal.SIGKILL)
    ended = one.exited()
    assert (ended.stopped, ended.signal) == (False, "SIGKILL")
    assert not is_alive(child)


def test_a_stopped_process_is_killed_after_the_grace(rig: Rig) -> None:
    one = Auxiliary(rig)
    os.kill(one.pid, signal.SIGSTOP)
    rig.supervisor.stop_auxiliary(one.run, grace_s=0.0)
    assert one.exited().signal == "SIGKILL"


def test_a_daemon_of_the_target_belongs_to_the_target(rig: Rig) -> None:
    one = Auxiliary(rig)
    run = rig.run(LEAVES_A_DAEMON)
    assert rig.printed("daemon")
    daemon = int(rig.supervisor.output[0].split()[1])
    rig.supervisor.stop()
    rig.exited(run)
    assert not is_alive(daemon)
    assert is_alive(one.pid)


def test_no_auxiliary_process_outlives_the_supervisor_and_the_app_gets_a_report(rig: Rig) -> None:
    one = Auxiliary(rig)
    os.kill(rig.supervisor_pid, signal.SIGKILL)
    assert one.exited().reason == "the supervisor process ended"
    assert becomes_true(lambda: not is_alive(one.pid))


def test_no_auxiliary_process_outlives_a_close(rig: Rig) -> None:
    one = Auxiliary(rig)
    rig.supervisor.close()
    assert not is_alive(one.pid)


def test_a_run_keeps_its_number_when_another_thread_starts_one_meanwhile(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that got the number of the target could not be stopped."""
    supervisor, sent, other = rig.supervisor, list[int](), list[int]()

    def send(command: dict[str, Any]) -> bool:
        sent.append(command["run"])
        if len(sent) == 1:
            other.append(supervisor.start_auxiliary(["true"], {}, lambda report: None))
        return True

    monkeypatch.setattr(supervisor, "_send", send)
    assert supervisor.start_auxiliary(["true"], {}, lambda report: None) == sent[0]
    assert other == [sent[1]] != [sent[0]]


Built = Callable[..., int]


@pytest.fixture
def built(rig: Rig) -> Built:
    """Runs a program as the build of a target; returns the number of its run."""

    def build(program: str, timeout_s: float = TIMEOUT_S) -> int:
        build = Build(command=("{python}", "-c", program), timeout_s=timeout_s)
        spec = msgspec.structs.replace(rig.target("never started"), build=build)
        assert spec.build_step is not None
        run = rig.supervisor.start(spec.build_step, {}, free_port())
        wait_until_built(rig.supervisor, run, spec, sleep=native.sleep)
        return run

    return build


def test_the_build_has_ended_when_the_target_is_started(rig: Rig, built: Built) -> None:
    end = rig.exited(built("print('compiled')"))
    assert (end.code, end.output) == (0, ("compiled",))


def test_a_build_that_fails_shows_its_last_line(built: Built) -> None:
    with pytest.raises(TargetError, match=r"^small: the build failed \(exit code 3\): undefined: x$") as raised:
        built("import sys; print('undefined: x'); sys.exit(3)")
    assert raised.value.output == ("undefined: x",)


def test_a_build_that_cannot_be_run_shows_why(rig: Rig) -> None:
    spec = msgspec.structs.replace(rig.target(""), build=Build(command=("/nowhere/make",)))
    assert spec.build is not None and spec.build_step is not None
    run = rig.supervisor.start(spec.build_step, {}, free_port())
    with pytest.raises(TargetError, match="the build failed .*cannot run /nowhere/make: No such file or directory"):
        wait_until_built(rig.supervisor, run, spec, sleep=native.sleep)


def test_a_build_that_takes_too_long_is_ended_with_its_children(rig: Rig, built: Built) -> None:
    with pytest.raises(TargetError, match=r"^small: not built after 0.5 s \(build.timeout_s in .*target.toml\)$"):
        built(PRINTS_AND_SLEEPS, timeout_s=0.5)
    assert rig.exited(1).stopped
    assert not below(rig.supervisor_pid)


PRINTS_ITS_LIMITS = """
import os, resource, subprocess, sys, time
print(sys.argv[0][-8:], resource.getrlimit(resource.RLIMIT_NOFILE), sorted(os.sched_getaffinity(0)), flush=True)
if len(sys.argv) > 1:
    subprocess.run([sys.executable, sys.argv[0]])
    time.sleep(600)
"""


def reported(rig: Rig, limits: ProcessLimits) -> list[str]:
    """The lines that the target and its child process print about their limits."""
    run = rig.supervisor.start(rig.target(PRINTS_ITS_LIMITS), {}, free_port(), limits, grace_s=0.5)
    rig.started(run)
    assert becomes_true(lambda: len(rig.supervisor.output) == 2)
    return list(rig.supervisor.output)


def test_open_files_and_cores_hold_for_a_target_and_its_children_through_restarts(rig: Rig) -> None:
    last = max(os.sched_getaffinity(0))
    limits = ProcessLimits(open_files=77, cpus=(last,))
    expected = [f"small.py (77, 77) [{last}]"] * 2
    assert reported(rig, limits) == expected
    assert reported(rig, limits) == expected
    own = f"small.py {resource.getrlimit(resource.RLIMIT_NOFILE)} {sorted(os.sched_getaffinity(0))}"
    assert reported(rig, ProcessLimits()) == [own] * 2, "without limits those that the app was started with"


def test_a_limit_that_the_kernel_refuses_is_why_the_target_did_not_start(rig: Rig) -> None:
    beyond = int(Path("/proc/sys/fs/nr_open").read_text()) + 1
    run = rig.supervisor.start(rig.target(PRINTS_ITS_LIMITS), {}, free_port(), ProcessLimits(open_files=beyond))
    assert rig.exited(run).reason == f"cannot run {sys.executable}: the kernel refuses its limits (open_files = {beyond})"


def test_lines_are_the_same_however_the_output_was_split_into_chunks() -> None:
    lines = OutputLines()
    for chunk in (b"on", b"e\ntw", b"o\r\nthr", b"ee"):
        lines.feed(chunk)
    assert lines.take(0.0) == (["one", "two"], 0)
    assert lines.take(0.1) is None
    assert lines.finish() == (["three"], 0)


def test_long_lines_are_cut() -> None:
    lines = OutputLines()
    for _ in range(50):
        lines.feed(b"x" * LINE_BYTES)
    lines.feed(b"\n" + b"y" * LINE_BYTES + b"\n")
    assert lines.take(0.0) == (["x" * LINE_BYTES + " [cut]", "y" * LINE_BYTES], 0)


def test_no_more_than_the_limit_passes_in_a_second() -> None:
    lines = OutputLines()
    lines.feed(b"first\n")
    assert lines.take(0.0) == (["first"], 0)
    lines.feed(b"line\n" * LINES_PER_S)
    assert lines.take(0.5) is None
    assert lines.has_lines
    assert lines.take(1.0) == (["line"] * LINES_PER_S, 0)
    lines.feed(b"more\n")
    assert lines.take(1.5) is None
    assert lines.finish() == (["more"], 0)
