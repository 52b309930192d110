"""A service that already runs: nothing is started, its process is watched, and it outlives the run."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from capexplorer import cli
from capexplorer.model.events import Header, Sample, Target
from capexplorer.report.formats import FORMATS
from capexplorer.target.free_port import free_port

from .rig import actor_service, answer, ended, export, of, session_path, start
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow


def test_a_service_that_runs_is_watched_and_left_unchanged(tmp_path: Path) -> None:
    port = free_port()
    with actor_service(port) as service:
        url = f"http://127.0.0.1:{port}"
        with start(tmp_path, "actor", "--host", url, "--headless", "--plan", "3:4s") as run:
            run.until(Sample)
            assert not run.marked.pids("actor.py")
            assert run.exit_code() == 0
        assert service.poll() is None
    events = run.events()
    [header] = of(events, Header)
    assert (header.target.url, header.target.command) == (url, ())
    assert [(target.state, target.pid) for target in of(events, Target)] == [("ready", service.pid)]
    samples = of(events, Sample)
    assert all(reading.pid == service.pid for sample in samples for reading in sample.targets)
    assert any(reading.cpu_ratio is not None and reading.cpu_ratio > 0 for sample in samples for reading in sample.targets)
    level = export(run.sessions)["levels"][-1]
    assert level["target_cpu_ratio"] > 0
    assert level["requests"] > 0
    assert level["failures"] == 0


def test_a_port_without_a_listener_is_refused(tmp_path: Path) -> None:
    """It was once said to be ready, and the run ended with 0."""
    port = free_port()
    with start(tmp_path, "actor", "--host", f"http://127.0.0.1:{port}", "--headless", "--plan", "2:60s") as run:
        assert run.exit_code() == 4
    reported = f"cannot reach 127.0.0.1:{port}: connection refused"
    assert run.stderr == f"target failed\ncapexplorer: {reported}\n"
    assert [(target.state, target.reason) for target in of(run.events(), Target)] == [("failed", reported)]
    assert export(run.sessions)["levels"] == []


@needs_tmux
def test_the_screen_waits_for_a_service_that_comes_later(tmp_path: Path) -> None:
    port = free_port()
    with on_screen(tmp_path, "actor", "--host", f"http://127.0.0.1:{port}", size=(80, 24)) as screen:
        screen.shows(f"target failed: cannot reach 127.0.0.1:{port}: connection refused; retrying", "no level yet")
        with actor_service(port):
            screen.shows("ready", "users 2 ", ", settled")
            screen.press("q")
            screen.shows("Quit?")
            screen.press("y")
            assert screen.exit_code() == 0
    assert [target.state for target in of(screen.events(), Target)] == ["failed", "ready"]


@needs_tmux
def test_a_screen_that_saw_no_service_ends_with_4_and_one_line(tmp_path: Path) -> None:
    port = free_port()
    with on_screen(tmp_path, "actor", "--host", f"http://127.0.0.1:{port}", size=(80, 24)) as screen:
        screen.shows("target failed")
        screen.press("q")
        screen.shows("Quit?")
        screen.press("y")
        assert screen.exit_code() == 4
        assert f"capexplorer: cannot reach 127.0.0.1:{port}: connection refused" in screen.text()


def test_another_machine_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    done = answer("run", "actor", "--host", "http://192.0.2.7:8080", "--sessions-dir", str(tmp_path / "sessions"))
    assert done.returncode == 2
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert "--allow-host 192.0.2.7" in done.stderr
    assert not (tmp_path / "sessions").exists()


@contextmanager
def protected_service() -> Iterator[tuple[int, Counter[str]]]:
    """(port, requests by their Authorization header) of a service in this process."""
    seen: Counter[str] = Counter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen[self.headers.get("Authorization", "")] += 1
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], seen
        server.shutdown()


BOTH_CLIENTS = """
from locust import FastHttpUser, HttpUser, constant, task
class Fast(FastHttpUser):
    fixed_count = 1
    wait_time = constant(0.1)
    @task
    def work(self):
        self.client.get("/work")
class Requests(HttpUser):
    fixed_count = 1
    wait_time = constant(0.1)
    @task
    def work(self):
        self.client.get("/work")
"""


def test_credentials_of_the_url_go_to_the_service_and_nowhere_else(tmp_path: Path) -> None:
    """By both clients. A name alone: tests/session/test_redact.py."""
    locustfile = tmp_path / "both.py"
    locustfile.write_text(BOTH_CLIENTS)
    with protected_service() as (port, seen):
        url = f"http://ann:hunter2%2Fxyz%40y@127.0.0.1:{port}"
        run, code = ended(tmp_path, "-f", str(locustfile), "--host", url, "--headless", "--plan", "2:4s")
    assert code in (0, 4), run.stderr  # on a busy machine four seconds may not settle
    assert set(seen) == {"Basic " + b64encode(b"ann:hunter2/xyz@y").decode()}
    assert sum(seen.values()) > 3
    [header] = of(run.events(), Header)
    assert header.clients == ("FastHttpUser", "HttpUser")
    assert (header.target.name, header.target.url) == (f"127.0.0.1:{port}", f"http://***@127.0.0.1:{port}")
    log = session_path(run.sessions)
    assert log is not None
    outputs = [run.stdout, run.stderr, log.read_text()]
    for form in FORMATS:
        for option in ([], ["--redact"]):
            out = tmp_path / f"{form}{len(option)}"
            assert cli.run(["export", str(log), "--format", form, "-o", str(out), *option]) == 0
            outputs += [path.read_text() for path in (out, *out.rglob("*")) if path.is_file()]
    assert [text[:200] for text in outputs if "hunter2" in text] == []


def test_a_wrong_url_is_reported_without_its_password(tmp_path: Path) -> None:
    done = answer("run", "actor", "--host", "http://ann:hunter2/x@127.0.0.1:80", "--sessions-dir", str(tmp_path / "sessions"))
    assert done.returncode == 2 and "--host: expected http://HOST[:PORT]" in done.stderr
    assert "hunter2" not in done.stderr
