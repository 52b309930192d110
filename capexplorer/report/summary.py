"""The summary of a session: the document that `export --format json` prints, and whose keys are a contract.

Built from the timeline only. A figure that was not measured is None, never 0. Knees, causes and other findings come from marks:
the lists contain the current marks and may be empty.
"""

from __future__ import annotations

from typing import Any

from .. import wording
from ..analysis.causes.generator_saturation import others_cpu
from ..model.clients import clients_of
from ..model.events import Header, Mark, Note, Reanalysed, Verdict
from ..model.figures import Latency, LevelEndpoint, LevelFigures
from ..model.level import Level
from ..model.readings import Reading
from ..model.timeline import Timeline
from ..model.verdicts import EndpointDegradation, RegimeVerdict
from .endpoint_levels import first_to_degrade, goodput_rps, leaves_first
from .iterations import offered
from .rows import bin_users, held_levels, recovery_levels

SCHEMA = "capexplorer.summary/1"

_FIGURES = (
    "target_cpu_ratio", "target_rss_bytes", "host_cpu_ratio", "load_average_1m", "generator_cpu_ratio", "loop_lag_p99_ms",
    "received_bytes_per_s", "sent_bytes_per_s", "open_sockets", "disk_busy_ratio", "ports_used", "ports_capacity",
)  # fmt: skip
_WAITS = {
    "target_run_delay_ratio": "target.run_delay_ratio",
    "generator_run_delay_ratio": "generator.run_delay_ratio",
    "cpu_pressure_ratio": "host.cpu_pressure_ratio",
    "steal_ratio": "host.steal_ratio",
}
"""Waiting times for CPU: key to reading."""

_CONVENTIONS = (
    "Names that end in _se_rps hold one standard error. users_low and users_high of a knee or an objective are the ends of a 90% "
    "interval, of other kinds the levels between which it lies. t_s, started_s, settled_s, ended_s, first_s, last_s and at_s are "
    "seconds since the session began. In sentences: " + wording.CONVENTIONS
)
_RECOVERY = ("from_users", "to_users", "recovered", "after_s")
_OBJECTIVE = ("epoch", "name", "limit", "users", "users_low", "users_high", "goodput_rps")
_COUNTS = ("target_rss_bytes", "open_sockets", "ports_used", "ports_capacity")
"""Figures that are integers."""


def summarise(timeline: Timeline) -> dict[str, Any]:
    """The whole document, as plain values."""
    marks = sorted(wording.standing(timeline).values(), key=lambda mark: mark.t_s)
    recovery, verdicts = recovery_levels(timeline), wording.reported(timeline)
    latest = verdicts[max(verdicts)] if verdicts else None
    first = first_to_degrade(timeline)
    levels = [entry for level in timeline.levels for entry in _levels(level, timeline, recovery, first.get(level.opened.epoch))]
    return {
        "schema": SCHEMA,
        "conventions": _CONVENTIONS,
        "session": _session(timeline),
        "levels": levels,
        "endpoints": _endpoints(timeline.levels),
        "first_endpoint": _first_endpoint(latest),
        "knees": [_knee(mark) for mark in marks if mark.kind in ("knee", "at_or_below", "bend", "latency_knee")],
        "no_knee_up_to_users": _no_knee(latest),
        "rates": _rates(latest),
        "causes": [_cause(mark, timeline.header) for mark in marks if mark.kind in ("cause", "leak")],
        "bottlenecks": [_bottleneck(mark, timeline.header) for mark in marks if mark.kind == "bottleneck"],
        "slo": _objectives(latest),
        "recoveries": [_recovery(mark) for mark in marks if mark.kind == "recovery"],
        "shifts": [_shift(mark) for mark in marks if mark.kind == "shift"],
        "regimes": [_regime(epoch, each) for epoch, verdict in verdicts.items() for each in verdict.regimes],
        "stop_rules": [_stop_rule(mark) for mark in marks if mark.kind == "stop_rule"],
        "notes": [{"t_s": _rounded(note.t_s), "text": note.text} for note in timeline.journal if isinstance(note, Note)],
        "verdict": wording.verdict(timeline),
        "verdicts": [
            {"epoch": epoch, "verdict": judged.said, "no_knee_up_to_users": _no_knee(verdicts.get(epoch))}
            for epoch, judged in wording.judgements(timeline).items()
        ],
        **_reanalysed(timeline.reanalysed),
    }


def _reanalysed(event: Reanalysed | None) -> dict[str, Any]:
    """Only with `--reanalyse`: the version that made the marks, and how they differ from the recorded ones."""
    if event is None:
        return {}
    changes = [
        {
            "kind": each.kind,
            "key": each.key,
            "said": wording.change(each),
            "figures": [{"name": one.name, "recorded": one.recorded, "found": one.found} for one in each.figures],
        }
        for each in event.changes
    ]
    document = {"version": event.version, "recorded": event.recorded, "found": event.found, "changes": changes}
    return {"reanalysis": document}


def _rates(latest: Verdict | None) -> dict[str, Any] | None:
    """The verdict of the latest epoch on levels of offered rates; null without any."""
    return _fields(latest.rates) if latest is not None and latest.rates is not None else None


def _fields(found: Reading) -> dict[str, Any]:
    """All fields by name, those that are not known as null."""
    return {name: _value(getattr(found, name)) for name in found.__struct_fields__}


def _value(value: Any) -> Any:
    if isinstance(value, Reading):
        return _fields(value)
    return [_fields(each) for each in value] if isinstance(value, tuple) else _plain(value)


def _no_knee(verdict: Verdict | None) -> float | int | None:
    """Upper bound without a knee; if the generator failed in some levels, only the other levels count."""
    knee = verdict.capacity.knee if verdict is not None else None
    return _whole(knee.users) if knee is not None and knee.kind == "no_knee" else None


def _objectives(latest: Verdict | None) -> list[dict[str, Any]]:
    """Of the latest epoch. `users` is null where the objective is kept at no level, and a lower bound where it is at all."""
    found = latest.slo if latest is not None else ()
    return [{name: _plain(getattr(each, name)) for name in _OBJECTIVE} for each in found]


def _plain(value: Any) -> Any:
    return _rounded(value, 6) if isinstance(value, float) else value


def _whole(users: float | None) -> float | int | None:
    return int(users) if users is not None and users == int(users) else _rounded(users)


def _session(timeline: Timeline) -> dict[str, Any]:
    header = timeline.header
    if header is None:
        raise ValueError("a session has a header")
    return {
        "id": header.id,
        "label": header.label,
        "started_at": header.started_at or None,
        "duration_s": _rounded(timeline.last_s) if header.started_at else None,
        "profile": header.profile.get("name"),
        "target": header.target.name,
        "complete": timeline.ended is not None,
        "clients": list(clients_of(header)),
        "engine": {"mode": header.engine.mode, "workers": header.engine.workers},
        "client_floor_ms": {
            name: {"p50": _rounded(each.p50_ms), "p99": _rounded(each.p99_ms)} for name, each in header.client_floor_ms.items()
        },
    }


def _levels(
    level: Level, timeline: Timeline, recovery: frozenset[int], first: EndpointDegradation | None
) -> list[dict[str, Any]]:
    """One entry a level; a ramp has one a bin."""
    if not level.opened.ramp:
        kind = "recovery" if level.opened.index in recovery else "step" if level.offered_per_s is None else "rate"
        return [_level(level, timeline, level.users, level.figures, level.endpoints, kind, first)]
    return [_level(level, timeline, bin_users(level, each), each.figures, each.endpoints, "ramp", first) for each in level.bins]


def _level(
    level: Level,
    timeline: Timeline,
    users: float,
    figures: LevelFigures,
    endpoints: tuple[LevelEndpoint, ...],
    kind: str,
    first: EndpointDegradation | None,
) -> dict[str, Any]:
    opened, counted = level.opened, figures.counted  # a table of levels holds neither times nor counts
    return {
        "index": opened.index,
        "epoch": opened.epoch,
        "users": _whole(users),
        "by": opened.by,
        "kind": kind,
        "started_s": _rounded(level.started_s) if counted else None,
        "settled_s": _rounded(level.settled_s) if counted else None,
        "ended_s": _rounded(level.ended_s if level.ended_s is not None else timeline.last_s) if counted else None,
        "settled": figures.settled,
        "void": level.void,
        "warm_ratio": _rounded(figures.warm_ratio),
        "requests": figures.requests if counted else None,
        "failures": figures.failures if counted else None,
        "failure_ratio": _rounded(figures.failure_ratio, 6),
        "failures_while_unsettled": figures.failures_while_unsettled if counted else None,
        "throughput_rps": _rounded(figures.throughput_rps),
        "goodput_rps": _rounded(figures.goodput_rps),
        "goodput_se_rps": _rounded(figures.goodput_se_rps, 4),
        "think_s": _rounded(figures.think_s),
        "requests_per_task": _rounded(figures.requests_per_task),
        "task_s": _rounded(figures.task_s),
        "latency_ms": _latency(figures.latency_ms),
        "endpoints": [_endpoint(each, users, figures.settled_seconds, first) for each in endpoints],
        **{name: _figure(name, getattr(figures, name)) for name in _FIGURES},
        "others_cpu_ratio": _rounded(others_cpu(figures)),
        "other_processes": {name: _rounded(ratio) for name, ratio in figures.other_processes.items()} or None,
        **{name: _rounded(figures.readings.get(reading)) for name, reading in _WAITS.items()},
        "held": opened.index in held_levels(timeline),
        "offered": offered(opened, figures.offered),
    }


def _endpoint(endpoint: LevelEndpoint, users: float, settled_s: float, first: EndpointDegradation | None) -> dict[str, Any]:
    return {
        "name": endpoint.name,
        "method": endpoint.method,
        "requests": endpoint.requests,
        "failures": endpoint.failures,
        "goodput_rps": _rounded(goodput_rps(endpoint, settled_s)),
        "leaves_first": leaves_first(endpoint, users, first),
        "mean_bytes": _rounded(endpoint.mean_bytes),
        "latency_ms": _latency(endpoint.latency_ms),
    }


def _endpoints(levels: list[Level]) -> list[dict[str, Any]]:
    """Settled seconds of all levels and the bins of ramps together."""
    sums: dict[tuple[str, str], list[int]] = {}
    for level in levels:
        for each in (*level.endpoints, *(each for part in level.bins for each in part.endpoints)):
            counts = sums.setdefault((each.name, each.method), [0, 0])
            counts[0] += each.requests
            counts[1] += each.failures
    return [{"name": name, "method": method, "requests": n, "failures": bad} for (name, method), (n, bad) in sums.items()]


def _first_endpoint(latest: Verdict | None) -> dict[str, Any] | None:
    """The endpoint that degrades first, in the latest epoch."""
    found = latest.first_endpoint if latest is not None else None
    if found is None:
        return None
    return {name: _plain(getattr(found, name)) for name in found.__struct_fields__} | {"users": _whole(found.users)}


def _latency(latency: Latency) -> dict[str, float | None]:
    return {name: _rounded(getattr(latency, name)) for name in latency.__struct_fields__}


def _knee(mark: Mark) -> dict[str, Any]:
    names = ("users_low", "users_high", "capacity_rps", "limit")
    evidence = mark.finding.figures()
    return {
        "kind": mark.kind,
        "epoch": mark.epoch,
        "users": _plain(mark.users),
        **{name: _plain(evidence.pop(name, None)) for name in names},
        "confidence": mark.confidence,
        "evidence": evidence,
    }


def _cause(mark: Mark, header: Header | None) -> dict[str, Any]:
    evidence = mark.finding.figures()
    count, first_s, last_s = (_plain(evidence.pop(name, None)) for name in ("count", "first_s", "last_s"))
    return {
        "id": mark.id,
        "epoch": mark.epoch,
        "severity": mark.severity,
        "count": count,
        "first_s": first_s,
        "last_s": last_s,
        "users": mark.users,
        "evidence": evidence,
        "advice": wording.advice(mark.finding, header),
    }


def _recovery(mark: Mark) -> dict[str, Any]:
    known = mark.finding.figures()
    return {"epoch": mark.epoch, **{name: known.get(name) for name in _RECOVERY}}


def _shift(mark: Mark) -> dict[str, Any]:
    return {"epoch": mark.epoch, "users": mark.users, **mark.finding.figures()}


def _regime(epoch: int, found: RegimeVerdict) -> dict[str, Any]:
    knee = found.knee
    return {
        "epoch": epoch,
        "began_s": _rounded(found.began_s),
        "began": found.began,
        "inside": found.inside,
        "after_step_s": _rounded(found.after_step_s),
        "users": found.users,
        "before_rps": _rounded(found.before_rps),
        "after_rps": _rounded(found.after_rps),
        "failure_ratio": _rounded(found.failure_ratio),
        "most_users": _rounded(found.most_users),
        "most_rps": _rounded(found.most_rps),
        "knee_users": _rounded(knee.users) if knee is not None and knee.kind == "knee" else None,
        "judged": found.judged,
    }


def _stop_rule(mark: Mark) -> dict[str, Any]:
    return {"t_s": _rounded(mark.t_s), "epoch": mark.epoch, "users": mark.users, **mark.finding.figures()}


def _bottleneck(mark: Mark, header: Header | None) -> dict[str, Any]:
    return {
        "id": mark.id,
        "epoch": mark.epoch,
        "users": mark.users,
        "confidence": mark.confidence,
        "evidence": mark.finding.figures(),
        "advice": wording.advice(mark.finding, header),
    }


def _figure(name: str, value: float | None) -> float | int | None:
    return round(value) if name in _COUNTS and value is not None else _rounded(value)


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)
