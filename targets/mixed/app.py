"""The mixed service, as a Flask application: one endpoint that waits, one that computes, one that does neither."""

from __future__ import annotations

import time
from typing import Any

from flask import Flask


def create_app(cpu_work: int, io_ms: float) -> Flask:
    """The application. `cpu_work`: turns of the loop of /cpu; `io_ms`: time for which /io blocks."""
    app = Flask("mixed")

    @app.get("/")
    def index() -> dict[str, Any]:
        return {"endpoints": ["/health", "/io", "/cpu"], "cpu_work": cpu_work, "io_ms": io_ms}

    @app.get("/health")
    def health() -> dict[str, Any]:
        return {"status": "ok"}

    @app.get("/io")
    def io() -> dict[str, Any]:
        time.sleep(io_ms / 1000)
        return {"slept_ms": io_ms}

    @app.get("/cpu")
    def cpu() -> dict[str, Any]:
        return {"turns": cpu_work, "checksum": compute(cpu_work)}

    return app


def compute(turns: int) -> int:
    """A fixed amount of work, not a timed loop, so that it takes longer if the CPU is contended. Holds the GIL all the time."""
    value = 1
    for _ in range(turns):
        value = (value * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
    return value
