"""`--host URL`: a service that already runs is loaded, watched and left running; unreachable services; credentials in the URL."""

from __future__ import annotations

from base64 import b64encode
from contextlib import nullcontext
from pathlib import Path

import pytest
from kit.servers import http_server
from kit.stacks import OF_STACKS

from capexplorer import cli
from capexplorer.model.events import Header, Sample, Target
from capexplorer.report.formats import FORMATS
from capexplorer.target.place import free_port

from .rig import actor_service, events_of, export, run_to_end, session_path, started_run
from .tmux_rig import needs_tmux, on_screen

pytestmark = pytest.mark.slow


def test_a_running_service_is_loaded_watched_and_left_running(tmp_path: Path) -> None:
    port = free_port()
    with actor_service(port) as service:
        url = f"http://127.0.0.1:{port}"
        with started_run(tmp_path, "actor", "--host", url, "--headless", "--plan", "3:4s") as run:
            run.wait_for_events(Sample)
            assert not run.marked.pids("actor.py"), "the run started a service of its own"
            assert run.exit_code() == 0
        assert service.poll() is None, "the service was ended with the run"
    events = run.events()
    [header] = events_of(events, Header)
    assert (header.target.url, header.target.command) == (url, ())
    assert [(target.state, target.pid) for target in events_of(events, Target)] == [("ready", service.pid)]
    samples = events_of(events, Sample)
    assert all(reading.pid == service.pid for sample in samples for reading in sample.targets)
    assert any(reading.cpu_ratio is not None and reading.cpu_ratio > 0 for sample in samples for reading in sample.targets)
    level = export(run.sessions)["levels"][-1]
    assert level["target_cpu_ratio"] > 0
    assert level["requests"] > 0
    assert level["failures"] == 0


def test_a_port_without_a_listener_ends_the_run_with_exit_code_4(tmp_path: Path) -> None:
    """Before, the service was reported as ready, and the exit code was 0."""
    port = free_port()
    with started_run(tmp_path, "actor", "--host", f"http://127.0.0.1:{port}", "--headless", "--plan", "2:60s") as run:
        assert run.exit_code() == 4
    [target] = events_of(run.events(), Target)
    assert target.state == "failed" and run.errors == [f"capexplorer: {target.reason}"]
    assert export(run.sessions)["levels"] == []


@needs_tmux
@pytest.mark.parametrize("starts_later", [True, False])
def test_the_screen_waits_for_a_service_and_exits_with_4_if_it_was_never_reachable(tmp_path: Path, starts_later: bool) -> None:
    port = free_port()
    with on_screen(tmp_path, "actor", "--host", f"http://127.0.0.1:{port}", size=(80, 24)) as screen:
        screen.wait_for_text("target failed", f"127.0.0.1:{port}", "no level yet")
        with actor_service(port) if starts_later else nullcontext():
            if starts_later:
                screen.wait_for_text("ready", "users 2 ", ", settled")
            assert screen.quit() == (0 if starts_later else 4)
            assert ("capexplorer: cannot reach" in screen.text()) != starts_later
    assert [target.state for target in events_of(screen.events(), Target)] == ["failed", *["ready"] * starts_later]


def test_credentials_in_the_url_are_sent_to_the_service_and_not_written_anywhere(tmp_path: Path) -> None:
    """By both clients of Locust. A user name without a password: tests/session/test_redact.py."""
    (locustfile := tmp_path / "both.py").write_text("from locust import FastHttpUser, HttpUser, constant, task\n" + "".join(
        f"class Of{base}({base}):\n    fixed_count, wait_time = 1, constant(0.1)\n"
        "    @task\n    def work(self):\n        self.client.get('/work')\n"
        for base in ("FastHttpUser", "HttpUser")
    ))  # fmt: skip
    with http_server() as service:
        url = f"http://ann:hunter2%2Fxyz%40y@127.0.0.1:{service.port}"
        run, code = run_to_end(tmp_path, "-f", str(locustfile), "--host", url, "--headless", "--plan", "2:4s")
    assert code in (0, 4), run.stderr  # on a busy machine four seconds may not settle
    sent = [request.headers.get("Authorization") for request in service.requests]
    assert set(sent) == {"Basic " + b64encode(b"ann:hunter2/xyz@y").decode()} and len(sent) > 3
    [header] = events_of(run.events(), Header)
    assert header.clients == ("FastHttpUser", "HttpUser")
    assert (header.target.name, header.target.url) == (f"127.0.0.1:{service.port}", f"http://***@127.0.0.1:{service.port}")
    log = session_path(run.sessions)
    assert log is not None
    outputs = [run.stdout, run.stderr, log.read_text()]
    for export_format in (each for each in FORMATS if each not in OF_STACKS):
        for option in ([], ["--redact"]):
            out = tmp_path / f"{export_format}{len(option)}"
            assert cli.run(["export", str(log), "--format", export_format, "-o", str(out), *option]) == 0
            outputs += [path.read_text() for path in (out, *out.rglob("*")) if path.is_file()]
    assert [text[:200] for text in outputs if "hunter2" in text] == [], "outputs with the password"
