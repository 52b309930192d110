"""A run with `--trace-url`: what the service gets, and what is kept, in this process and in workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.servers import http_server

from capexplorer.model.events import Header
from capexplorer.session import beside

from .rig import events_of, run_to_end, session_path

pytestmark = pytest.mark.slow

SHOWN_AT = "http://127.0.0.1:3200/trace/{trace_id}"


@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["here", "in a worker"])
def test_the_service_gets_the_trace_that_a_kept_request_names(workers: tuple[str, ...], tmp_path: Path) -> None:
    options = ("--headless", "--plan", "2:4s", "--trace-url", SHOWN_AT, "--keep-bodies", *workers)
    with http_server() as server:
        run, _ = run_to_end(tmp_path, "--host", server.url, "--request", "/items", *options)
    requests = [each for each in server.requests if each.path == "/items"]
    traces = [{name.lower(): value for name, value in each.headers.items()}.get("traceparent", "") for each in requests]
    assert len(set(traces)) == len(requests) > 2, "each request has a trace of its own"
    path = session_path(run.sessions)
    assert path is not None
    assert events_of(run.events(), Header)[0].trace_url == SHOWN_AT
    file = beside.RequestsFile(beside.kept_path(path))
    kept = [file.request(brief.number) for brief in file.briefs()]
    assert {each.trace_id for each in kept if each is not None} <= {trace.split("-")[1] for trace in traces if trace}
    assert len(kept) > 2
