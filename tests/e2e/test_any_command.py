"""Targets without a target.toml: `--target-cmd`, the `command` of a profile, and a running process by `--pid` or `--port-of`."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from capexplorer.commands.run.arguments import RunArguments
from capexplorer.commands.run.resolving import resolve
from capexplorer.model.events import Header, Sample
from capexplorer.target.place import free_port

from .rig import Run, actor_service, events_of, export, run_command, run_to_end, started_run, target_states

pytestmark = pytest.mark.slow

HTTP_SERVER_COMMAND = f"{sys.executable} -m http.server {{port}} --bind 127.0.0.1"
HEADLESS_PLAN = ("--headless", "--plan", "3:4s")


def test_a_command_with_a_port_is_started_loaded_and_ended(tmp_path: Path) -> None:
    with started_run(tmp_path, "--target-cmd", HTTP_SERVER_COMMAND, "--request", "/", *HEADLESS_PLAN) as run:
        assert run.exit_code() == 0
        run.marked.assert_no_process_left()
    [header] = events_of(run.events(), Header)
    assert header.target.name == "http.server"
    assert header.target.command[1:3] == ("-m", "http.server")
    assert target_states(run.events()) == ["starting", "ready", "stopping", "stopped"]
    level = export(run.sessions)["levels"][-1]
    assert level["requests"] > 0
    assert level["failures"] == 0
    assert level["target_cpu_ratio"] is not None


SECRET = "hunter2xyzzy"


def assert_secret_is_not_written(run: Run) -> None:
    """Neither to the log, nor in its file name, nor to stdout or stderr."""
    [log] = run.sessions.glob("*.jsonl")
    assert SECRET not in log.read_text() + log.name + run.stdout + run.stderr


def test_a_command_with_a_fixed_port_is_loaded_by_the_users_of_a_profile_and_its_secrets_are_not_written(tmp_path: Path) -> None:
    port = free_port()
    server, ready = HTTP_SERVER_COMMAND.replace("{port}", str(port)), f"http://127.0.0.1:{port}/"
    shell = f"MY_TOKEN={SECRET} DB_PASSW0RD={SECRET} exec {server}"
    command = f'env PASSW0RD={SECRET} sh -c "{shell} # --pw {SECRET} SESSION_SECRET={SECRET} API_KEY={SECRET}"'
    with started_run(tmp_path, "actor", "--target-cmd", command, "--ready", ready, *HEADLESS_PLAN) as run:
        assert run.exit_code() == 4, "the server has none of the profile's paths, so no request succeeds"
    [header] = events_of(run.events(), Header)
    assert header.target.url == f"http://127.0.0.1:{port}"
    assert header.profile["name"] == "actor"
    assert_secret_is_not_written(run)


def test_the_process_given_by_pid_is_watched_although_another_one_listens_at_the_url(tmp_path: Path) -> None:
    """As with a service behind a proxy."""
    proxy_port, service_port = free_port(), free_port()
    with actor_service(proxy_port), actor_service(service_port) as service:
        words = ("--host", f"http://127.0.0.1:{proxy_port}", "--pid", str(service.pid))
        with started_run(tmp_path, "actor", *words, *HEADLESS_PLAN) as run:
            assert run.exit_code() == 0
        assert service.poll() is None, "the service was ended with the run"
    readings = [reading for sample in events_of(run.events(), Sample) for reading in sample.targets]
    assert {reading.pid for reading in readings} == {service.pid}


def test_the_process_to_watch_is_found_by_port_of() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert resolve(RunArguments(host="http://127.0.0.1:7", requests=("/",), port_of=port)).watched_pid == os.getpid()


ECHO = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import quote
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        token = self.headers["X-Tenant"] or ""
        print("denied", token, quote(token), os.environ.get("CAPEXPLORER_SECRET"), flush=True)
        body = ('{"message": "no customer %s"}' % token).encode()
        self.send_response(401 if token else 200, "no " + token)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_the_command_of_a_profile_runs_in_its_folder_and_values_of_variables_that_it_echoes_are_in_nothing_that_is_written(
    tmp_path: Path,
) -> None:
    tenant, secret = "customer quokka/b-hunter", "0123456789abcdef-shared"
    (folder := tmp_path / "echo").mkdir()
    (folder / "echo.py").write_text(ECHO)
    (folder / "echo.toml").write_text(
        f'command = "{sys.executable} echo.py {{port}}"\nready = "/"\n[users]\nwait_s = 0.1\n[[users.task]]\nname = "/mine"\n'
        'headers = { "X-Tenant" = "${TENANT}" }\n'
    )
    before = ("env", f"TENANT={tenant}", f"CAPEXPLORER_SECRET={secret}")
    run, code = run_to_end(tmp_path, str(folder / "echo.toml"), *HEADLESS_PLAN, "--keep-bodies", before=before)
    assert code == 4
    [log] = run.sessions.glob("*.jsonl")
    assert "no customer ***" in log.read_text()
    assert "denied *** *** None" in log.read_text(), "the service does not inherit the secret of workers"
    written = [run.stdout, run.stderr, *(path.read_text("utf-8", "replace") for path in run.sessions.iterdir() if path.is_file())]
    assert not [text for text in written if "quokka" in text or "hunter" in text or secret in text]


def test_a_service_does_not_inherit_the_secrets_of_requests_and_workers_have_them(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ECHO.replace('"CAPEXPLORER_SECRET"', '"X_TENANT"'))
    command, request = f"{sys.executable} {tmp_path}/echo.py {{port}}", "curl -H 'X-Tenant: sid=hunter2xyzzy' /mine"
    given = ("--target-cmd", command, "--ready", "/", "--request", request, "--workers", "1", *HEADLESS_PLAN)
    with started_run(tmp_path, *given) as run:
        assert run.exit_code() == 4, run.stderr
    assert_secret_is_not_written(run)
    [log] = run.sessions.glob("*.jsonl")
    assert "denied *** *** None" in log.read_text()


def test_a_worker_with_another_value_of_a_variable_does_not_report_it(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ECHO.replace("token, quote(token), ", ""))  # the run reads its output
    bind = f"127.0.0.1:{free_port()}"
    (tmp_path / "echo.toml").write_text(
        f'command = "{sys.executable} echo.py {{port}}"\nready = "/"\n[users]\nwait_s = 0.1\n[[users.task]]\nname = "/mine"\n'
        'headers = { "X-Tenant" = "${TENANT}" }\n'
    )
    secret = "CAPEXPLORER_SECRET=0123456789abcdef"
    of_run, of_worker = (("env", secret, f"TENANT={value}") for value in ("customer of run", "customer 12/hunter"))
    given = (str(tmp_path / "echo.toml"), "--bind", bind, "--keep-bodies", *HEADLESS_PLAN)
    with started_run(tmp_path, *given, before=of_run) as run:
        worker = run_command("worker", "--join", bind, "--wait", "60", before=of_worker)
        assert worker.returncode == 0, worker.stderr
        assert run.exit_code() == 4
    written = [path.read_text("utf-8", "replace") for path in run.sessions.iterdir() if path.is_file()]
    assert any("no customer ***" in text for text in written)
    assert not [text for text in (run.stdout, run.stderr, *written) if "hunter" in text]
