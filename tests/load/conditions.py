"""Conditions in which requests fail, with real servers and all clients, and the cause of each: data for tests and a recording."""

from __future__ import annotations

import subprocess
from typing import Any

from .patched import Played, play
from .servers import closed_port, full_backlog, self_signed, server

CLIENTS = ("http_user", "fast_http_user", "lean_http_user")

CAUSES: dict[str, str | None] = {
    "half": "incomplete_response",
    "half-chunk": "incomplete_response",
    "half-chunks": "incomplete_response",
    "half-headers": "incomplete_response",
    "half-header": "incomplete_response",
    "garbage": "malformed_response",
    "garbage-chunk": "malformed_response",
    "garbage-gzip": "malformed_response",
    "reset": "connection_reset",
    "reset-post": "connection_reset",
    "silence": "connection_reset",
    "closed-when-reused": "keepalive_race",
    "closed-after-503": "keepalive_race",
    "hang": "read_timeout",
    "refused": "connection_refused",
    "connect-timeout": "connect_timeout",
    "no-name": "dns_failure",
    "untrusted": "tls_certificate_error",
    "tls-to-plain": "tls_handshake_failure",
    "status-404": "client_error",
    "status-429": "rate_limited",
    "status-500": "server_error",
    "status-502": "bad_gateway",
    "status-503": "load_shedding",
    "status-504": "gateway_timeout",
    "status-507": "server_error",
    "check": "failed_check",
    "task-failed": "task_failed_result",
    "check-of-status": "load_shedding",
    "check-of-nothing": "connection_refused",
    "check-that-forgives": None,
}
"""By condition: the cause that the failure points at; None for a success."""

STARVED_CAUSES = {
    "no-network": "network_unreachable",
    "no-route": "host_unreachable",
    "no-ports": "ephemeral_port_exhaustion",
    "no-descriptors": "fd_exhaustion_generator",
    "no-descriptors-by-name": "fd_exhaustion_generator",
}

NAMESPACE = ("unshare", "-Urn")


def play_reported() -> Played:
    """What the clients report against real servers on loopback."""
    with server() as running, full_backlog() as full, server(self_signed()) as with_tls:
        return play(
            "load.scenes.reported", url=running.url, refused=f"http://127.0.0.1:{closed_port()}", full=full, tls=with_tls.url
        )


def play_starved() -> Played:
    """What the clients report in a network namespace without ports, routes or descriptors."""
    return play("load.scenes.starved", within=NAMESPACE)


def has_namespaces() -> bool:
    """Whether this machine lets us make one."""
    return subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True, timeout=10).returncode == 0


def rows(seen: Played) -> list[tuple[str, str, dict[str, Any] | None]]:
    """(client, condition, what `scenes.reported` reported of it)."""
    return [(client, condition, reported) for client in CLIENTS for condition, reported in seen[client].items()]
