"""The summary's levels, with an entry for each level or bin of a ramp, and the totals of each endpoint."""

from __future__ import annotations

from typing import Any

from ..analysis.causes.generator_saturation import others_cpu
from ..model.figures import Latency, LevelBin, LevelEndpoint, LevelFigures
from ..model.level import Level
from ..model.reading_means import readings_of_parts
from ..model.second_columns import READINGS
from ..model.timeline import Timeline
from .endpoint_levels import Degradations, degrades_first, first_to_degrade, goodput_rps
from .iterations import offered
from .rows import disturbed_levels, offered_rate, recovery_levels, service_states
from .summary_values import rounded, whole

_STATES = {"other_service": "other", "changed": "changed"}

_WAITS = {
    "target_run_delay_ratio": "target.run_delay_ratio",
    "generator_run_delay_ratio": "generator.run_delay_ratio",
    "cpu_pressure_ratio": "host.cpu_pressure_ratio",
    "steal_ratio": "host.steal_ratio",
}
"""Readings of time spent waiting for CPU, by their key in the summary."""

_FIGURES = tuple(name for name in READINGS if name not in _WAITS)
"""Names of figures that are means over a level's seconds."""

_COUNTS = ("target_rss_bytes", "open_sockets", "ports_used", "ports_capacity")
"""Figures that are integers."""


def level_entries(timeline: Timeline) -> list[dict[str, Any]]:
    """One entry for each level or bin of a ramp, in the order in which the levels ran.

    `held`: other processes disturbed the level. `service_state`: "changed" if the service changed during the level, "other" if it
    was in another state than the one that the verdict is about, else None.
    """
    recovery, disturbed, first = recovery_levels(timeline), disturbed_levels(timeline), first_to_degrade(timeline)
    states = service_states(timeline)
    entries = []
    for level in timeline.levels:
        index, degraded = level.opened.index, first.get(level.opened.epoch, ())
        kind = "ramp" if level.opened.ramp else "recovery" if index in recovery else "step"
        kind = "rate" if kind != "ramp" and level.offered_per_s is not None else kind
        for part in level.bins if level.opened.ramp else (level,):
            judged = {"held": index in disturbed, "service_state": _STATES[states[index]] if index in states else None}
            entries.append(_entry(level, part, timeline.last_s, kind, degraded) | judged | _parts(part.figures))
    return entries


def _parts(figures: LevelFigures) -> dict[str, Any]:
    """The mean readings of watched parts by name, as the key `parts`; empty without parts."""
    parts = readings_of_parts(figures.readings)
    return {"parts": {name: {key: rounded(value) for key, value in own.items()} for name, own in parts.items()}} if parts else {}


def _entry(level: Level, part: Level | LevelBin, last_s: float, kind: str, degraded: Degradations) -> dict[str, Any]:
    """One entry. `part`: the level itself or one of its bins, whichever has the figures."""
    users, figures = part.users if level.offered_per_s is None else 0.0, part.figures
    opened, counted = level.opened, figures.counted  # an imported table of levels has neither times nor counts
    return {
        "index": opened.index,
        "epoch": opened.epoch,
        "users": whole(users),
        "by": opened.by,
        "kind": kind,
        "started_s": rounded(level.started_s) if counted else None,
        "settled_s": rounded(level.settled_s) if counted else None,
        "ended_s": rounded(level.ended_s if level.ended_s is not None else last_s) if counted else None,
        "settled": figures.settled,
        "void": level.void,
        "warm_ratio": rounded(figures.warm_ratio),
        "requests": figures.requests if counted else None,
        "failures": figures.failures if counted else None,
        "failure_ratio": rounded(figures.failure_ratio, 6),
        "failures_while_unsettled": figures.failures_while_unsettled if counted else None,
        "throughput_rps": rounded(figures.throughput_rps),
        "goodput_rps": rounded(figures.goodput_rps),
        "goodput_se_rps": rounded(figures.goodput_se_rps, 4),
        "think_s": rounded(figures.think_s),
        "requests_per_task": rounded(figures.requests_per_task),
        "task_s": rounded(figures.task_s),
        "latency_ms": _latency(figures.latency_ms),
        "endpoints": [
            _endpoint(each, figures.settled_seconds, (users, offered_rate(opened, figures)), degraded) for each in part.endpoints
        ],
        **{name: _figure(name, getattr(figures, name)) for name in _FIGURES},
        "others_cpu_ratio": rounded(others_cpu(figures)),
        "other_processes": {name: rounded(ratio) for name, ratio in figures.other_processes.items()} or None,
        **{name: rounded(figures.readings.get(reading)) for name, reading in _WAITS.items()},
        "offered": offered(opened, figures.offered),
    }


def _endpoint(endpoint: LevelEndpoint, settled_s: float, load: tuple[float, float | None], first: Degradations) -> dict[str, Any]:
    """`load`: users, and the offered rate if the level has one."""
    return {
        "name": endpoint.name,
        "method": endpoint.method,
        "requests": endpoint.requests,
        "failures": endpoint.failures,
        "goodput_rps": rounded(goodput_rps(endpoint, settled_s)),
        "leaves_first": degrades_first(endpoint, *load, first),
        "mean_bytes": rounded(endpoint.mean_bytes),
        "latency_ms": _latency(endpoint.latency_ms),
    }


def endpoint_totals(levels: list[Level]) -> list[dict[str, Any]]:
    """Requests and failures of each endpoint in the settled seconds of all levels and bins of ramps."""
    sums: dict[tuple[str, str], list[int]] = {}
    for level in levels:
        for each in (*level.endpoints, *(each for part in level.bins for each in part.endpoints)):
            counts = sums.setdefault((each.name, each.method), [0, 0])
            counts[0] += each.requests
            counts[1] += each.failures
    return [{"name": name, "method": method, "requests": n, "failures": bad} for (name, method), (n, bad) in sums.items()]


def _latency(latency: Latency) -> dict[str, float | None]:
    return {name: rounded(getattr(latency, name)) for name in latency.__struct_fields__}


def _figure(name: str, value: float | None) -> float | int | None:
    return round(value) if name in _COUNTS and value is not None else rounded(value)
