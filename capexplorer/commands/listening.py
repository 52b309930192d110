"""Where Prometheus is answered, by `metrics` or beside a run, and the library that it takes."""

from __future__ import annotations

from ..addresses import host_and_port
from ..errors import InputError
from ..toml import shown

LISTEN = "127.0.0.1:9464"
"""The port that OpenTelemetry's exporters for Prometheus have."""

PROMETHEUS = "prometheus_client"


def listening_address(text: str | None, option: str) -> tuple[str, int]:
    """ADDRESS and PORT. Raises InputError."""
    address = host_and_port(text or LISTEN)
    if address is None:
        raise InputError(f"{option}: expected ADDRESS:PORT, such as {LISTEN}, got {shown(text)}")
    return address
