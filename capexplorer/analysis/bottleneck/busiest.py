"""Where nothing limits: which resource is the busiest, and how far it is from its end."""

from __future__ import annotations

from collections.abc import Iterator

from .found import Found
from .gate import Gate
from .measured_level import FAILURES_MOST, MeasuredLevel

BUSY_MOST = 0.90
"""Of a resource, up to which "not saturated" may be said: a busier one is near its end, though work still grows."""

REQUESTS_LEAST = 30
"""Under which a level is too thin to be called anything."""


def not_saturated(level: MeasuredLevel, gate: Gate) -> Found | None:
    """Where readings were taken, requests succeed, goodput does not stay behind, and every resource has something left."""
    if (
        gate.stalls
        or level.figures.requests < REQUESTS_LEAST
        or level.failure_ratio > FAILURES_MOST
        or not level.target_is_here
        or level.rates.goodput_rps <= 0
    ):
        return None
    found = max(_ratios(level), key=lambda each: each[1], default=None)
    if found is None or found[1] > BUSY_MOST:
        return None
    name, ratio = found
    return Found("not_saturated", {"busiest": f"{name} {ratio:.2f}"})


def _ratios(level: MeasuredLevel) -> Iterator[tuple[str, float]]:
    """(name, share that is used), of what was measured."""
    cpu = level.read("target.cpu_ratio")
    pairs = (
        ("cpu of the service", cpu, 1.0 if level.is_one_python_process else level.cores_allowed),
        ("busiest thread", level.read("target.busiest_thread_ratio"), 1.0),
        ("cpu of the host", level.read("host.cpu_ratio"), level.host.cpus),
        ("disk", level.read("host.disk_busy_ratio"), 1.0),
        ("open files of the service", level.read("target.fds_fullest"), level.read("target.fds_limit")),
        ("accept queue", level.read("target.listen_queue"), level.read("target.listen_backlog")),
    )
    for name, used, most in pairs:
        if used is not None and most:
            yield name, used / most
