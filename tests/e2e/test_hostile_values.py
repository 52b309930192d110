"""A service, its metrics, a part's datagrams and a locustfile that say what no event can have: each costs that value alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from capexplorer.model.events import Ended, Event, Log, Mark, Sample
from capexplorer.model.findings import Cause
from capexplorer.target.place import free_port

from .rig import events_of, started_run

pytestmark = pytest.mark.slow

SERVICE = r"""
import http.server, itertools, json, socket, sys
pages = itertools.count()
statsd = socket.socket(type=socket.SOCK_DGRAM)
with open("/proc/self/comm", "wb") as name:
    name.write(b"\x1b[2J\xff evil")
sys.stdout.buffer.write(b"half \x83 of a line\n")
sys.stdout.flush()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
    def do_GET(self):
        status, kind, body = 200, "text/plain", b"ok"
        if self.path == "/metrics":
            page, kind = next(pages), "application/json"
            statsd.sendto(b"size:" + b"9" * 400 + b"|g\nserved:1|c", ("127.0.0.1", int(sys.argv[2])))
            body = b'{"served": %d, "huge": %s}' % (page, b"9" * 400)
            if page == 4:
                body = b'{"a":' * 100000 + b"1" + b"}" * 100000
        elif self.path == "/half":
            status, body = 500, json.dumps({"error": "caf\xe9 \ud83d"}).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

TARGET = """
title = "A service that says anything"
command = ["{{python}}", "service.py", "{{port}}", "{statsd}"]
[ready]
path = "/health"
timeout_s = 60
[metrics]
path = "/metrics"
"""

PROFILE = """
target = "hostile"
[users]
wait_s = 0.2
[[users.task]]
name = "/health"
[[watch]]
name = "counters"
statsd = "udp://127.0.0.1:{statsd}"
"""

LOCUSTFILE = r"""
import logging
from locust import FastHttpUser, constant, task
class Visitor(FastHttpUser):
    wait_time = constant(0.2)
    @task
    def visit(self):
        self.client.get("/health")
        with self.client.get("/half", name="/half/\ud83d", catch_response=True) as response:
            response.failure(response.json()["error"])
        logging.getLogger("visits").warning("half \ud83d")
        logging.getLogger("visits").warning("%d of them", "none")
        fire = self.environment.events.request.fire
        fire(request_type="GET", name="huge", response_time=10**400, response_length=0, exception=None, context={})
        fire(request_type="GET", name="long", response_time=1.0, response_length=2**70, exception=None, context={})
        raise ValueError("half \ud83d")
"""


def test_values_that_no_event_can_have_are_left_out_and_marked_and_the_run_goes_on(tmp_path: Path) -> None:
    folder, port = tmp_path / "targets" / "hostile", free_port()
    folder.mkdir(parents=True)
    (tmp_path / "profiles").mkdir()
    (folder / "service.py").write_text(SERVICE)
    (folder / "target.toml").write_text(TARGET.format(statsd=port))
    (tmp_path / "profiles" / "hostile.toml").write_text(PROFILE.format(statsd=port))
    (tmp_path / "visits.py").write_text(LOCUSTFILE)
    args = ("hostile", "-f", str(tmp_path / "visits.py"), "--headless", "--plan", "2:30s")
    with started_run(tmp_path, *args, cwd=tmp_path) as run:
        run.wait_for_events(Sample, lambda sample: sample.app.get("served", 0) > 4)
        run.wait_for_events(Sample, lambda sample: any("served_per_s" in part.server for part in sample.parts))
        run.wait_for_events(Mark, lambda mark: mark.id == "unusable_values")
        run.process.terminate()
        assert run.exit_code() == 128 + 15
    events = run.events()
    assert isinstance(events[-1], Ended)
    samples = events_of(events, Sample)
    assert not any({"huge", "a.a"} & set(sample.app) for sample in samples)
    assert not any("size" in part.server for sample in samples for part in sample.parts)
    [name] = {each.name for sample in samples for each in sample.endpoints if "half" in each.name}
    assert name == "/half/?"
    assert "café ?" in {each.signature.text for sample in samples for each in sample.failures}
    assert any("half ?" in log.text for log in events_of(events, Log) if log.source != "target")
    assert any("half \N{REPLACEMENT CHARACTER} of a line" in log.text for log in events_of(events, Log) if log.source == "target")
    assert any("'%d of them' (not formatted: TypeError)" in log.text for log in events_of(events, Log))
    assert examples(events, "unusable_values") in ({"the target's metrics: huge"}, {"part counters: size"})
    assert examples(events, "user_code_error")


def examples(events: list[Event], cause: str) -> set[str]:
    """The example that each mark of a cause gives."""
    return {mark.finding.example for mark in events_of(events, Mark) if isinstance(mark.finding, Cause) and mark.id == cause}
