"""Where Prometheus is answered, by `metrics` or beside a run, and the libraries that it takes."""

from __future__ import annotations

import importlib.util

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


def require_library(option: str, module: str) -> None:
    """Raises InputError, which names the extra, if a library is not installed."""
    if not _is_installed(module):
        raise InputError(f"{option}: needs {module}: pip install 'capexplorer[metrics]'")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
