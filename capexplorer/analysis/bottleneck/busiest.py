"""The finding that no resource is near its limit, with the resource that is used most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .found import Found
from .gate import Gate
from .measured_level import FAILURES_MOST, MeasuredLevel

BUSY_MOST = 0.90
"""A level is not saturated if no resource is used above this share of its limit."""

REQUESTS_LEAST = 30
SECONDS_LEAST = 3.0
"""A level with fewer requests or settled seconds is not judged. One second at the whole capacity of a service, whose accept queue
was empty by chance, was taken for no limit (measured)."""


def not_saturated(level: MeasuredLevel, gate: Gate, parts: Sequence[MeasuredLevel] = ()) -> Found | None:
    """ "Not saturated": requests succeed, goodput grows with users, readings were taken, and none is near its limit."""
    if (
        gate.stalls
        or level.figures.requests < REQUESTS_LEAST
        or level.figures.settled_seconds < SECONDS_LEAST
        or level.failure_ratio > FAILURES_MOST
        or not (level.target_is_here or parts)
        or level.rates.goodput_rps <= 0
    ):
        return None
    found = max((ratio for each in (level, *parts) for ratio in _ratios(each)), key=lambda each: each[1], default=None)
    if found is None or found[1] > BUSY_MOST:
        return None
    name, ratio = found
    return Found("not_saturated", {"busiest": f"{name} {ratio:.2f}"})


def _ratios(level: MeasuredLevel) -> Iterator[tuple[str, float]]:
    """(name, share of its limit that is used) of each measured resource."""
    cpu = level.read("target.cpu_ratio")
    pairs = (
        ("cpu of the service", cpu, 1.0 if level.is_one_python_process else level.cores_allowed),
        ("busiest thread", level.read("target.busiest_thread_ratio"), 1.0),
        ("cpu of the host", level.read("host.cpu_ratio"), level.host.cpus),
        ("disk", level.read("host.disk_busy_ratio"), 1.0),
        ("open files of the service", level.read("target.fds_fullest"), level.read("target.fds_limit")),
        ("accept queue", level.read("target.listen_queue"), level.read("target.listen_backlog")),
    )
    of = f" of {level.part}" if level.part is not None else ""
    for name, used, most in pairs:
        if used is not None and most:
            yield f"{name.removesuffix(' of the service').removesuffix(' of the host')}{of}" if of else name, used / most
