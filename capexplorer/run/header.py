"""The start of a session: measures client overhead, creates the log, and records the run's conditions in its header."""

from __future__ import annotations

import platform
from datetime import datetime, timedelta
from importlib import metadata

from msgspec.structs import replace

from ..load import client_overhead
from ..load.load_thread import LoadThread
from ..load.workload import Workload
from ..model.events import SCHEMA, ClientOverhead, Engine, Header
from ..probe.facts import host_facts
from ..profile import plain
from ..session.names import new_path
from ..session.writer import SessionWriter
from .options import RunOptions
from .pump import INTERVAL_S
from .service import Service

VERSIONED = ("capexplorer", "locust", "gevent", "geventhttpclient", "requests", "textual", "hdrhistogram")


def build_header(
    options: RunOptions, load_thread: LoadThread, workload: Workload, service: Service, now_s: float
) -> tuple[Header, SessionWriter]:
    """The header, and the log it is to be written to. `now_s`: the session's time. Raises LogWriteError."""
    began = datetime.now().astimezone() - timedelta(seconds=now_s)  # the wall time at which `t_s` is 0
    session_id, path = new_path(options.sessions_dir, options.name, began)
    writer = SessionWriter(path)
    overheads: dict[str, ClientOverhead] = {}

    def measure(url: str) -> None:
        for name, kind in workload.http_clients.items():
            found = load_thread.call(lambda kind=kind: client_overhead.measure(kind, url))  # type: ignore[misc]
            if found is not None:
                overheads[name] = found

    service.measure_client_overhead(measure)
    header = Header(
        t_s=0.0,
        schema=SCHEMA,
        id=session_id,
        started_at=began.isoformat(timespec="milliseconds"),
        label=options.label,
        versions=versions(),
        clients=workload.clients,
        client_overhead_ms=overheads,
        pacing_s=workload.pacing_s,
        profile=plain(options.profile, options.name, options.locustfile),
        target=replace(service.facts, version=options.version),
        host=host_facts(),
        engine=Engine(mode="workers", workers=options.workers.count) if options.workers else Engine(),
        interval_s=INTERVAL_S,
    )
    return header, writer


def versions() -> dict[str, str]:
    """Versions of the software that influence the figures."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
