"""The supervisor: targets start, become ready, are stopped and restarted, and failures are reported with their reasons.

All tests use real processes and wait for events; none asserts how long something took.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from capexplorer.errors import TargetError
from capexplorer.target.place import free_port
from capexplorer.target.ready import answer
from capexplorer.target.spec import load_spec
from capexplorer.target.supervisor import KEPT_LINES, Exited, Output, Started, Supervisor

from .target_rig import (
    IGNORES_SIGTERM,
    MIXED,
    PRINTS_AND_SLEEPS,
    TIMEOUT_S,
    Rig,
    becomes_true,
    below,
    is_alive,
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


def test_a_target_that_ignores_sigterm_is_killed_after_the_grace(rig: Rig) -> None:
    run = rig.run(IGNORES_SIGTERM)
    assert rig.printed("up")
    rig.supervisor.stop(grace_s=0.2)
    assert (rig.exited(run).signal, rig.exited(run).stopped) == ("SIGKILL", True)


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
    [
        (b"HTTP/1.1 503 Busy\r\n\r\n", 0, "status 503"),
        (b"hello\r\n", 0, "not an HTTP answer"),
        (b"HTTP/1.1 200", 600, "no answer"),
    ],
)
def test_an_answer_that_is_not_ready_is_reported(rig: Rig, answer: bytes, wait_s: int, message: str) -> None:
    spec, port = rig.target(ANSWERS.format(answer=answer, wait_s=wait_s), timeout_s=1.0), free_port()
    run = rig.supervisor.start(spec, {}, port)
    assert rig.printed("up")
    with pytest.raises(TargetError, match=message):
        rig.wait_until_ready(spec, port, run)


def test_a_target_is_ready_by_its_headers_even_if_the_body_never_ends(rig: Rig) -> None:
    spec, port = rig.target(ANSWERS.format(answer=b"HTTP/1.1 200 OK\r\nserver: streams\r\n\r\nfirst", wait_s=600)), free_port()
    rig.wait_until_ready(spec, port, rig.supervisor.start(spec, {}, port))


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


REPLIES = """
import socket, sys
with socket.create_server(('127.0.0.1', int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        connection.recv(1000)
        connection.sendall(b'HTTP/1.1 200 OK\\r\\n%s')
        connection.close()
"""

JSON = r"Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}"


@pytest.mark.parametrize(
    ("reply", "version"),
    [
        (r"X-Version: 1.4.2\r\nContent-Length: 0\r\n\r\n", "1.4.2"),
        (JSON.format(18, '{"version": "2.0"}'), "2.0"),
        (JSON.format(14, '{"version": 7}'), "7"),
        (JSON.format(90, '{"version": "cut"}'), None),
        (JSON.format(15, '["version", "1"]'), None),
        (JSON.format(17, '{"version": null}'), None),
        (r"Content-Type: application/json\r\n\r\n{\"version\": \"without a length\"}", None),
    ],
)
def test_the_answer_of_a_ready_target_may_name_its_version(rig: Rig, reply: str, version: str | None) -> None:
    spec, port = rig.target(REPLIES % reply), free_port()
    assert rig.wait_until_ready(spec, port, rig.supervisor.start(spec, {}, port)) == version
