"""What `run` refuses: exit code 2, one line on stderr that names what is wrong, nothing on stdout, and nothing started.

Profiles: tests/test_profile.py. Options that need no target: tests/test_cli.py.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .rig import command_on_terminal, run_command, run_in_process, run_to_end, started_run
from .tmux_rig import needs_tmux, on_screen

HERE = "http://127.0.0.1:1"


def assert_refused(done: subprocess.CompletedProcess[str], named: str, sessions: Path) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("capexplorer: ") and named in line
    assert "\x1b" not in line
    assert not sessions.exists() or not list(sessions.iterdir()), "a session was started"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--target-cmd", "serve"), "{port}"),
        (("--target-cmd", "serve {prot} {port}"), "{prot}"),
        (("--target-cmd", "serve '{port}"), "quotation"),
        (("--target-cmd", "serve {port}", "--ready", "http://192.0.2.7:{port}/"), "--ready"),
        (("--target-cmd", "serve {port}", "--ready", "http://127.0.0.1:80/"), "--ready"),
        (("--target-cmd", "serve {port}", "--host", "http://127.0.0.1:80"), "--host"),
        (("--ready", "/"), "--target-cmd"),
        (("--ready-timeout", "5"), "--ready-timeout"),
        (("--pid", "1"), "--host"),
        (("--host", HERE, "--pid", "4194305"), "4194305"),
        (("--host", HERE, "--port-of", "1"), "port 1"),
        (("--host", HERE, "--port-of", "1", "--pid", "1"), "--port-of"),
        (("--host", "http://ann:hunter2/x@127.0.0.1:80"), "--host"),
        (("--host", "http://192.0.2.7:8080"), "--allow-host 192.0.2.7"),
        (("--limit", f"target.open_files={'9' * 5000}"), "--limit"),
        (("--workers", "0"), "--workers"),
        (("--workers", "many"), "--workers"),
        (("--workers", "²"), "--workers"),
        (("--workers", "200"), "guards.max_workers"),
        (("--expect-workers", "2"), "--bind"),
        (("--plain-workers", "--bind", "127.0.0.1:7999", "--plan", "rate 5/s 3s"), "--plain-workers"),
        (("--bind", "here"), "--bind"),
    ],
    ids=lambda given: str(given)[:60],
)
def test_an_invalid_option_of_target_or_workers(tmp_path: Path, arguments: tuple[str, ...], named: str) -> None:
    given = ("run", "actor", "--headless", "--plan", "1:1s", *arguments, "--sessions-dir", str(tmp_path / "sessions"))
    done = run_in_process(*given)
    assert_refused(done, named, tmp_path / "sessions")
    assert "hunter2" not in done.stderr


USERS = "from locust import {kind}, events, task\nclass Visitor({kind}):\n    @task\n    def visit(self): pass\n"
ENDS = "@events.init.add_listener\ndef end(**_):\n    raise SystemExit('no licence')\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "arguments", "named"),
    [
        ("import sys\nsys.exit('no')\n", ("actor",), "users.py:2: SystemExit"),
        ("raise ValueError('\\x1b[2J\\x1b[31m[bold]red')\n", ("actor",), "\\x1b[2J\\x1b[31m[bold]red"),
        (None, ("actor",), "users.py"),
        (USERS.format(kind="HttpUser"), (), "Visitor has no host"),
        (USERS.format(kind="User"), ("--host", "ws://192.0.2.1:1"), "192.0.2.1"),
        (USERS.format(kind="User"), ("--host", "ws:/127.0.0.1:1"), "ws:/127.0.0.1:1"),
        (USERS.format(kind="User") + ENDS, ("--host", "ws://127.0.0.1:9"), "no licence"),
    ],
    ids=["exit", "escapes", "missing", "no host", "not allowed", "one slash", "init"],
)
def test_a_locustfile_that_cannot_run(tmp_path: Path, code: str | None, arguments: tuple[str, ...], named: str) -> None:
    """Further exceptions of locustfiles: tests/load/test_users.py. Further hosts: tests/test_cli.py."""
    path, sessions = tmp_path / "users.py", tmp_path / "sessions"
    if code is not None:
        path.write_text(code, encoding="utf-8")
    given = ("run", *arguments, "-f", str(path), "--headless", "--plan", "1:1s", "--sessions-dir", str(sessions))
    assert_refused(run_command(*given), named, sessions)


@pytest.mark.slow
@pytest.mark.parametrize("secret", ["", "0123456789abcdef"])
def test_an_address_at_which_workers_cannot_join(tmp_path: Path, secret: str) -> None:
    """Without a secret no address of the network; with one none that is taken, or another machine's."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        of_taken = f"127.0.0.1:{taken.getsockname()[1]}"
        for address, named in (
            [(of_taken, of_taken), ("192.0.2.1:5557", "192.0.2.1")] if secret else [("10.1.2.3:5557", "SECRET")]
        ):
            given = ("run", "actor", "--headless", "--plan", "1:1s", "--bind", address, "--sessions-dir", str(tmp_path / "s"))
            done = run_command(*given, before=("env", f"CAPEXPLORER_SECRET={secret}") if secret else ())
            assert_refused(done, named, tmp_path / "s")


@pytest.mark.slow
def test_stop_and_attach_of_a_session_that_does_not_run(tmp_path: Path) -> None:
    assert_refused(run_command("stop", "nothing"), "nothing", tmp_path / "sessions")
    with command_on_terminal(tmp_path, "attach", "nothing") as refused:
        assert refused.exit_code() == 2
        assert refused.written.startswith("capexplorer: ") and refused.written.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "named"), [("-n 16", "ulimit -Hn"), ("-n 40", "ulimit -Hn"), ("-v 400000", "ulimit -v")])
def test_limits_of_the_shell_below_what_a_run_needs(tmp_path: Path, limit: str, named: str) -> None:
    before = ("sh", "-c", f'ulimit {limit}; exec "$@"', "sh")
    with started_run(tmp_path, "actor", "--headless", "--plan", "1:2s", before=before) as run:
        code = run.exit_code()
    assert_refused(subprocess.CompletedProcess((), code, run.stdout, run.stderr), named, run.sessions)


@pytest.mark.slow
def test_the_live_screen_without_a_terminal(tmp_path: Path) -> None:
    run, code = run_to_end(tmp_path, "actor")
    assert_refused(subprocess.CompletedProcess((), code, run.stdout, run.stderr), "--headless", run.sessions)


@pytest.mark.slow
@needs_tmux
@pytest.mark.parametrize(
    ("term", "words"),
    [("dumb", "run mixed"), ("", "replay sample"), ("dumb", ""), ("dumb", "compare sample sample")],
)
def test_a_screen_on_a_terminal_without_cursor_addressing(tmp_path: Path, term: str, words: str) -> None:
    before = ["sh", "-c", f'export TERM="{term}"; exec "$1" {words}', "sh"]  # in place of the words that `on_screen` adds
    with on_screen(tmp_path, size=(160, 24), before=before) as screen:
        assert screen.exit_code() == 2
        first, second = screen.text().split("\n")[:2]
    assert first.startswith("capexplorer: ") and "TERM is" in first
    assert second.startswith("exit code: 2")
    assert not (tmp_path / "sessions").exists(), "something was started"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_detaching_a_run_to_which_nothing_could_be_attached(tmp_path: Path, mounted: Callable[[str], list[str]]) -> None:
    """Another user has made the folder in /tmp first, and there is no runtime folder."""
    (foreign := tmp_path / "foreign").mkdir()
    own = Path(f"/tmp/capexplorer-{os.geteuid()}")
    own.mkdir(0o700, exist_ok=True)
    before = (*mounted(f"mount --bind {foreign} {own} && chown 1234 {own}"), "env", "XDG_RUNTIME_DIR=/nowhere")
    with started_run(tmp_path, "actor", "--detach", "--plan", "2:60s", before=before) as run:
        code = run.exit_code()
    assert_refused(subprocess.CompletedProcess((), code, run.stdout, run.stderr), "1234", run.sessions)
