"""Services that no target.toml describes: any command as the target, and a process that runs already, named by pid or port."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from capexplorer.commands.adhoc import target_of
from capexplorer.commands.resolving import resolve
from capexplorer.commands.run_arguments import RunArguments
from capexplorer.model.events import Header, Sample, Target
from capexplorer.profile import READY_TIMEOUT_S
from capexplorer.target.free_port import free_port

from .rig import Run, actor_service, answer, export, of, start

pytestmark = pytest.mark.slow

SERVER = f"{sys.executable} -m http.server {{port}} --bind 127.0.0.1"
PLAN = ("--headless", "--plan", "3:4s")


def test_any_command_with_a_port_is_a_target(tmp_path: Path) -> None:
    with start(tmp_path, "--target-cmd", SERVER, "--ready", "/", *PLAN) as run:
        assert run.exit_code() == 0
        run.marked.assert_gone()
    [header] = of(run.events(), Header)
    assert (header.target.name, header.target.command[1:3]) == ("http.server", ("-m", "http.server"))
    assert [target.state for target in of(run.events(), Target)] == ["starting", "ready", "stopping", "stopped"]
    level = export(run.sessions)["levels"][-1]
    assert level["requests"] > 0
    assert level["failures"] == 0
    assert level["target_cpu_ratio"] is not None


SECRET = "hunter2xyzzy"


def assert_secret_is_nowhere(run: Run) -> None:
    [log] = run.sessions.glob("*.jsonl")
    assert SECRET not in log.read_text() + log.name + run.stdout + run.stderr


def test_secrets_of_a_command_reach_neither_the_log_nor_its_name(tmp_path: Path) -> None:
    shell = f"MY_TOKEN={SECRET} DB_PASSW0RD={SECRET} exec {SERVER}"
    command = f'env PASSW0RD={SECRET} sh -c "{shell} # --pw {SECRET} SESSION_SECRET={SECRET}"'
    with start(tmp_path, "--target-cmd", command, "--ready", "/", *PLAN) as run:
        assert run.exit_code() == 0, run.stderr
    assert_secret_is_nowhere(run)


def test_a_command_with_a_fixed_port_and_secrets_in_a_shell_runs_the_users_of_a_profile(tmp_path: Path) -> None:
    port = free_port()
    served, ready = SERVER.replace("{port}", str(port)), f"http://127.0.0.1:{port}/"
    command = f'sh -c "X_TOKEN={SECRET} exec {served} # API_KEY={SECRET}"'
    with start(tmp_path, "actor", "--target-cmd", command, "--ready", ready, *PLAN) as run:
        assert run.exit_code() == 4  # the profile's paths are not there
    [header] = of(run.events(), Header)
    assert (header.target.url, header.profile["name"]) == (f"http://127.0.0.1:{port}", "actor")
    assert_secret_is_nowhere(run)


def test_a_process_is_watched_that_does_not_listen_at_the_url(tmp_path: Path) -> None:
    """As with a proxy in front of the service."""
    front, back = free_port(), free_port()
    with actor_service(front), actor_service(back) as behind:
        with start(tmp_path, "actor", "--host", f"http://127.0.0.1:{front}", "--pid", str(behind.pid), *PLAN) as run:
            assert run.exit_code() == 0
        assert behind.poll() is None
    readings = [reading for sample in of(run.events(), Sample) for reading in sample.targets]
    assert {reading.pid for reading in readings} == {behind.pid}


def test_the_process_to_watch_may_be_named_by_its_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert resolve(RunArguments(host="http://127.0.0.1:7", port_of=port)).watched_pid == os.getpid()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target-cmd", "serve"), "expected {port} in the command, or --ready URL"),
        (("--target-cmd", "serve {prot} {port}"), "unknown placeholder `{prot}`"),
        (("--target-cmd", "serve '{port}"), "no closing quotation"),
        (("--target-cmd", "serve {port}", "--ready", "http://192.0.2.7:{port}/"), "--ready: expected /PATH or http://127.0.0.1:{port}/PATH"),
        (("--target-cmd", "serve {port}", "--ready", "http://127.0.0.1:80/"), "--ready: expected {port} for the port"),
        (("--target-cmd", "serve {port}", "--host", "http://127.0.0.1:80"), "cannot be combined with --host"),
        (("--ready", "/"), "needs --target-cmd"),
        (("--ready-timeout", "5"), "--ready-timeout: needs --target-cmd"),
        (("--pid", "1"), "need --host"),
        (("--host", "http://127.0.0.1:1", "--pid", "4194305"), "no process 4194305 runs here"),
        (("--host", "http://127.0.0.1:1", "--port-of", "1"), "no process listens on port 1 on this machine"),
        (("--host", "http://127.0.0.1:1", "--port-of", "1", "--pid", "1"), "cannot be combined with --port-of"),
    ],
)  # fmt: skip
def test_an_impossible_command_is_refused_in_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = answer("run", *arguments, *PLAN, "--sessions-dir", str(tmp_path / "sessions"))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert message in done.stderr


def test_a_command_has_more_time_than_go_needs_to_compile() -> None:
    spec, _ = target_of("go run . {port}", None)
    assert spec.ready.timeout_s == READY_TIMEOUT_S >= 120


def test_the_command_of_a_profile_is_run_in_its_folder_with_the_environments_secrets(tmp_path: Path) -> None:
    (folder := tmp_path / "shop").mkdir()
    (folder / "shop.py").write_text(
        "import sys\n"
        "from http.server import BaseHTTPRequestHandler, HTTPServer\n"
        "class Handler(BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        is_known = self.path == '/' or self.headers['Authorization'] == 'Bearer hunter2XYZ'\n"
        "        self.send_response(200 if is_known else 401)\n"
        "        self.end_headers()\n"
        "HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()\n"
    )
    (folder / "shop.toml").write_text(
        f'command = "{sys.executable} shop.py {{port}}"\nready = "/"\n[users]\nwait_s = 0.1\n[[users.task]]\nname = "/mine"\n'
        'headers = { Authorization = "Bearer ${SHOP_TOKEN}" }\n'
    )
    with start(tmp_path, str(folder / "shop.toml"), *PLAN, before=("env", "SHOP_TOKEN=hunter2XYZ")) as run:
        assert run.exit_code() == 0, run.stderr
        run.marked.assert_gone()
    [log] = run.sessions.glob("*.jsonl")
    assert "hunter2XYZ" not in log.read_text()
    assert export(run.sessions)["levels"][-1]["failures"] == 0
