"""The summary of a session: the document that `export --format json` prints, and whose keys are a contract.

Built from the timeline only. A figure that was not measured is None, never 0. Knees, causes and other findings come from marks:
the lists contain the current marks and may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from .. import wording
from ..analysis.causes.generator_saturation import others_cpu
from ..analysis.recommended import recommended
from ..model.columns import READINGS
from ..model.events import Header, LevelOpened, Mark, Note, Reanalysed, Verdict, clients_of
from ..model.figures import LevelEndpoint, LevelFigures
from ..model.findings import MarkKind
from ..model.intervals import Latency
from ..model.level_use import LevelUse, level_uses
from ..model.load import Drops, OfferedFigures, Users
from ..model.reading_means import readings_of_parts
from ..model.readings import Reading
from ..model.recommended import Estimate, Recommended
from ..model.requirements import Answer
from ..model.timeline import Timeline
from ..model.verdicts import RegimeVerdict
from . import stacks
from .rows import Degradations, EndpointAtLevel, ReportedLevel, endpoints_of, first_to_degrade, level_rows, value_of
from .sweep.findings import entries, findings
from .sweep.texts import sentence
from .values import fields, rounded, whole

# -- iterations ----------------------------------------------------------------------------------------------------------------
# The values of a level's key `offered` in the JSON summary, and their columns in levels.csv.


_ITERATION_COUNTS = ("planned", "started", "finished", "failed", "in_flight_before", "in_flight")
_RATES = ("finished_per_s", "finished_se_per_s", "in_flight_mean", "queued_mean", "late_p99_ms", "late_max_ms")
_PERCENTILES = tuple(f"from_plan_{name}_ms" for name in Latency.__struct_fields__)
_DROPS = tuple(f"dropped_{name}" for name in Drops.__struct_fields__)
_OF_ITERATIONS = ("planned", "started", "finished", "failed", "dropped", *_DROPS)
COLUMNS = (
    "offered_per_s", "arrivals", *(f"iterations_{name}" for name in _OF_ITERATIONS), "in_flight_before", "in_flight", *_RATES,
    *_PERCENTILES,
)  # fmt: skip


def offered(opened: LevelOpened, found: OfferedFigures | None) -> dict[str, Any] | None:
    """The iterations of a rate level over its settled seconds; only its rate if it has none. None: a level of users."""
    if isinstance(opened.load, Users):
        return None
    per_s = found.offered_per_s if found is not None else opened.load.per_s
    shown = {"offered_per_s": rounded(per_s), "arrivals": opened.arrivals}
    if found is None:
        return shown
    return {
        **shown,
        **fields(found, (*_ITERATION_COUNTS, *_RATES)),
        "dropped": {"total": found.dropped.total, **msgspec.structs.asdict(found.dropped)},
        "from_plan_ms": fields(found.from_plan_ms, Latency.__struct_fields__),
    }


def columns(shown: dict[str, Any] | None) -> dict[str, Any]:
    """The same values as flat columns; None in each for a level of users."""
    if shown is None:
        return dict.fromkeys(COLUMNS)
    dropped, from_plan = shown.get("dropped") or {}, shown.get("from_plan_ms") or {}
    flat = {
        **shown,
        "dropped": dropped.get("total"),
        **{f"dropped_{name}": count for name, count in dropped.items()},
        **{f"from_plan_{name}_ms": value for name, value in from_plan.items()},
    }
    return {name: flat.get(name.removeprefix("iterations_")) for name in COLUMNS}


# -- summary levels ------------------------------------------------------------------------------------------------------------
# The summary's levels, with an entry for each level or bin of a ramp, and the totals of each endpoint.


_STATES = {"other_service": "other", "changed": "changed"}

_WAITS = {
    "target_run_delay_ratio": "target.run_delay_ratio",
    "generator_run_delay_ratio": "generator.run_delay_ratio",
    "cpu_pressure_ratio": "host.cpu_pressure_ratio",
    "steal_ratio": "host.steal_ratio",
}
"""Readings of time spent waiting for CPU, by their key in the summary."""

_COUNTED = ("requests", "failures", "failures_while_unsettled")
"""Figures that an imported table of levels does not have."""
_OF_REQUESTS = (
    "warm_ratio", "requests", "failures", "failure_ratio", "failures_while_unsettled", "throughput_rps", "goodput_rps",
    "goodput_se_rps", "think_s", "requests_per_task", "task_s",
)  # fmt: skip
_MEANS = tuple(name for name in READINGS if name not in _WAITS)
"""Figures that are means over a level's seconds."""
_DIGITS = {"failure_ratio": 6, "goodput_se_rps": 4}
_WHOLE = ("target_rss_bytes", "open_sockets", "ports_used", "ports_capacity")
"""Figures that are integers."""


def level_entries(timeline: Timeline) -> list[dict[str, Any]]:
    """One entry for each level or bin of a ramp, in the order in which the levels ran.

    `held`: other processes disturbed the level. `service_state`: "changed" if the service changed during the level, "other" if it
    was in another state than the one that the verdict is about, else None.
    """
    uses, first = level_uses(timeline), first_to_degrade(timeline)
    return [
        _entry(row, uses[row.opened.index], first.get(row.opened.epoch, ()), has_streams=bool(timeline.stages))
        | _parts(row.figures)
        | _limits(row.figures)
        | _metrics(row)
        for row in level_rows(timeline)
    ]


def _limits(figures: LevelFigures) -> dict[str, Any]:
    """The key `limits`, only of a level under limits on a single request, whose goodput is what is within them."""
    if figures.served_rps is None:
        return {}
    beyond = {name: rounded(share, 6) for name, share in figures.beyond_limits.items()}
    return {
        "limits": {
            "served_rps": rounded(figures.served_rps),
            "beyond": beyond,
            "goodput_tokens_per_s": rounded(figures.goodput_tokens_per_s),
        }
    }


def _parts(figures: LevelFigures) -> dict[str, Any]:
    """The mean readings of watched parts by name, as the key `parts`; empty without parts."""
    parts = readings_of_parts(figures.readings)
    return {"parts": {name: {key: rounded(value) for key, value in own.items()} for name, own in parts.items()}} if parts else {}


def _metrics(row: ReportedLevel) -> dict[str, Any]:
    """What a locustfile fired beside its requests, as the key `metrics`; empty without such events."""
    return {"metrics": [_metric(each) for each in row.metrics]} if row.metrics else {}


def _metric(each: LevelEndpoint) -> dict[str, Any]:
    return {
        **fields(each, ("name", "method")),
        "events": each.requests,
        "failures": each.failures,
        "mean_length": rounded(each.mean_bytes),
        "value": fields(value_of(each), Latency.__struct_fields__),
    }


def _entry(row: ReportedLevel, use: LevelUse, degraded: Degradations, *, has_streams: bool) -> dict[str, Any]:
    figures, is_ramp = row.figures, row.opened.ramp
    of_load = "rate" if row.kind == "rate" else "recovery" if "recovery" in use.whys else "step"
    kind = "ramp" if is_ramp else use.why if use.why in ("stacks", "experiment") else of_load
    times = ("started_s", "settled_s", "ended_s")  # an imported table of levels has neither times nor counts
    return {
        **fields(row.opened, ("index", "epoch")),
        "users": whole(row.users),
        "by": row.opened.by,
        "kind": kind,
        **(fields(row, times) if figures.counted else dict.fromkeys(times)),
        "settled": figures.settled,
        "void": row.void,
        **{name: _figure(figures, name) for name in _OF_REQUESTS},
        "latency_ms": fields(figures.latency_ms, Latency.__struct_fields__),
        **({"tokens_per_s": rounded(figures.tokens_per_s), **_stages(figures)} if has_streams else {}),
        "endpoints": [_endpoint(each, has_streams=has_streams) for each in endpoints_of(row, degraded)],
        **{name: _figure(figures, name) for name in _MEANS},
        "others_cpu_ratio": rounded(others_cpu(figures)),
        "other_processes": {name: rounded(ratio) for name, ratio in figures.other_processes.items()} or None,
        **{name: rounded(figures.readings.get(reading)) for name, reading in _WAITS.items()},
        "offered": offered(row.opened, figures.offered),
        "held": use.is_disturbed,
        "service_state": _STATES.get(use.why or ""),
    }


def _figure(figures: LevelFigures, name: str) -> float | int | None:
    value: float | None = getattr(figures, name)
    if value is None or (name in _COUNTED and not figures.counted):
        return None
    return round(value) if name in _WHOLE else rounded(value, _DIGITS.get(name, 3))


def _stages(found: LevelFigures | LevelEndpoint) -> dict[str, Any]:
    """The key `stages`, only of a session with streams."""
    return {"stages": {stage: fields(each.ms, Latency.__struct_fields__) for stage, each in found.stages.items()}}


def _endpoint(row: EndpointAtLevel, *, has_streams: bool) -> dict[str, Any]:
    return {
        **fields(row.endpoint, ("name", "method", "requests", "failures")),
        "goodput_rps": rounded(row.goodput_rps),
        "leaves_first": row.degrades_first,
        "mean_bytes": rounded(row.endpoint.mean_bytes),
        "latency_ms": fields(row.latency_ms, Latency.__struct_fields__),
        **({"tokens_per_s": rounded(row.tokens_per_s), **_stages(row.endpoint)} if has_streams else {}),
    }


def endpoint_totals(timeline: Timeline) -> list[dict[str, Any]]:
    """Requests and failures of each endpoint in the settled seconds of all levels and bins of ramps."""
    sums: dict[tuple[str, str], list[int]] = {}
    for each in (each for row in level_rows(timeline) for each in row.endpoints):
        counts = sums.setdefault((each.name, each.method), [0, 0])
        counts[0] += each.requests
        counts[1] += each.failures
    return [{"name": name, "method": method, "requests": n, "failures": bad} for (name, method), (n, bad) in sums.items()]


# -- summary marks -------------------------------------------------------------------------------------------------------------
# The summary's marks, with an entry for each knee, cause, bottleneck, recovery, shift and triggered stop rule.


_OF_KNEE = ("users_low", "users_high", "capacity_rps", "limit")
_RECOVERY = ("from_users", "to_users", "recovered", "after_s")


def mark_entries(marks: list[Mark], header: Header | None) -> dict[str, list[dict[str, Any]]]:
    """The lists of entries by their keys in the summary."""

    def of(*kinds: MarkKind) -> list[tuple[Mark, dict[str, Any]]]:
        return [(mark, mark.finding.figures()) for mark in marks if mark.kind in kinds]

    def advice(mark: Mark) -> str:
        return wording.advice(mark.finding, header)

    return {
        "knees": [_knee(mark, evidence) for mark, evidence in of("knee", "at_or_below", "bend", "latency_knee")],
        "causes": [_cause(mark, evidence) | {"advice": advice(mark)} for mark, evidence in of("cause", "leak")],
        "bottlenecks": [
            {"id": mark.id, **_load(mark), "confidence": mark.confidence, "evidence": evidence, "advice": advice(mark)}
            for mark, evidence in of("bottleneck")
        ],
        "recoveries": [{"epoch": mark.epoch, **{name: known.get(name) for name in _RECOVERY}} for mark, known in of("recovery")],
        "shifts": [{**_load(mark), **figures} for mark, figures in of("shift")],
        "stop_rules": [{"t_s": rounded(mark.t_s), **_load(mark), **figures} for mark, figures in of("stop_rule")],
    }


def _load(mark: Mark) -> dict[str, Any]:
    return {"epoch": mark.epoch, "users": mark.users, "offered_per_s": mark.offered_per_s}


def _knee(mark: Mark, evidence: dict[str, Any]) -> dict[str, Any]:
    known = {name: rounded(evidence.pop(name, None), 6) for name in _OF_KNEE}
    return {**fields(mark, ("kind", "epoch", "users"), 6), **known, "confidence": mark.confidence, "evidence": evidence}


def _cause(mark: Mark, evidence: dict[str, Any]) -> dict[str, Any]:
    counted = {name: rounded(evidence.pop(name, None), 6) for name in ("count", "first_s", "last_s")}
    load = {"users": mark.users, "offered_per_s": mark.offered_per_s}
    return {**fields(mark, ("id", "epoch", "severity")), **counted, **load, "evidence": evidence}


SCHEMA = "capexplorer.summary/1"

_CONVENTIONS = (
    "Names that end in _se_rps hold one standard error. users_low and users_high of a knee or an objective are the ends of a 90% "
    "interval, of other kinds the levels between which it lies. t_s, started_s, settled_s, ended_s, first_s, last_s and at_s are "
    "seconds since the session began. In sentences: " + wording.CONVENTIONS
)
_OBJECTIVE = ("epoch", "name", "limit", "users", "users_low", "users_high", "goodput_rps")


def summarise(timeline: Timeline) -> dict[str, Any]:
    """The whole document, as plain values."""
    marks = sorted(wording.current_marks(timeline).values(), key=lambda mark: mark.t_s)
    entries = mark_entries(marks, timeline.header)
    verdicts = wording.reported(timeline)
    latest = verdicts[max(verdicts)] if verdicts else None
    return {
        "schema": SCHEMA,
        "conventions": _CONVENTIONS,
        "session": _session(timeline),
        "levels": level_entries(timeline),
        "endpoints": endpoint_totals(timeline),
        "first_endpoint": _first_endpoint(latest),
        "knees": entries["knees"],
        "no_knee_up_to_users": _no_knee(latest),
        "rates": None if latest is None or latest.rates is None else _fields(latest.rates),
        "recommended": [_recommended(each) for epoch in verdicts for each in recommended(timeline, epoch)],
        "causes": entries["causes"],
        "bottlenecks": entries["bottlenecks"],
        "requirements": [_requirement(each) for each in timeline.answers],
        "slo": [fields(each, _OBJECTIVE, 6) for each in (latest.slo if latest is not None else ())],
        "recoveries": entries["recoveries"],
        "shifts": entries["shifts"],
        "regimes": [_regime(epoch, each) for epoch, verdict in verdicts.items() for each in _regimes(verdict)],
        "stop_rules": entries["stop_rules"],
        "notes": [{"t_s": rounded(note.t_s), "text": note.text} for note in timeline.journal if isinstance(note, Note)],
        "verdict": wording.verdict(timeline),
        "verdicts": [
            {"epoch": epoch, "verdict": judged.sentence, "no_knee_up_to_users": _no_knee(verdicts.get(epoch))}
            for epoch, judged in wording.judgements(timeline).items()
        ],
        **({"stacks": stacks.entries(timeline)} if timeline.stacks else {}),
        **_experiments(timeline),
        **_telemetry(timeline),
        **_swept(timeline),
        **_reanalysed(timeline.reanalysed),
    }


def _experiments(timeline: Timeline) -> dict[str, Any]:
    """The key `experiments`, only of a session that made some."""
    known = [(epoch, each.explanation) for epoch, each in timeline.explained.items() if each.explanation.outcomes]
    entries = [{"epoch": epoch, "said": wording.explanation(each), "found": _fields(each)} for epoch, each in known]
    return {"experiments": entries} if entries else {}


def _telemetry(timeline: Timeline) -> dict[str, Any]:
    """The key `telemetry`, only of a session whose service had log lines or metrics that could be compared."""
    changes = [(event.epoch, event.changes) for event in timeline.telemetry.values() if event.changes.bend is not None]
    return {"telemetry": [{"epoch": epoch, **_fields(each)} for epoch, each in changes]} if changes else {}


def _swept(timeline: Timeline) -> dict[str, Any]:
    """The key `sweep`, only of a session that is one."""
    found = findings(timeline)
    return {} if found is None else {"sweep": {"sentence": sentence(found), **entries(found)}}


def _reanalysed(event: Reanalysed | None) -> dict[str, Any]:
    """The key `reanalysis`, only with `--reanalyse`: the version that made the marks, and how they differ from the recorded
    ones.
    """
    if event is None:
        return {}
    changes = [
        {
            **fields(each, ("kind", "key")),
            "said": wording.change(each),
            "figures": [{"name": one.name, "recorded": one.recorded, "found": one.found} for one in each.figures],
        }
        for each in event.changes
    ]
    return {"reanalysis": {**fields(event, ("version", "recorded", "found")), "changes": changes}}


def _fields(found: Reading) -> dict[str, Any]:
    """All fields by name; unknown ones are None."""
    return {name: _value(getattr(found, name)) for name in found.__struct_fields__}


def _value(value: Any) -> Any:
    if isinstance(value, Reading):
        return _fields(value)
    return [_value(each) for each in value] if isinstance(value, tuple) else rounded(value, 6)


def _no_knee(verdict: Verdict | None) -> float | int | None:
    """The users up to which there is no knee; None if there is a knee or no verdict. Levels in which the generator failed do not
    count.
    """
    knee = verdict.capacity.knee if verdict is not None else None
    return whole(knee.users) if knee is not None and knee.kind == "no_knee" else None


def _session(timeline: Timeline) -> dict[str, Any]:
    header = timeline.header
    if header is None:
        raise ValueError("a session has a header")
    return {
        **fields(header, ("id", "label")),
        "started_at": header.started_at or None,
        "duration_s": rounded(timeline.last_s) if header.started_at else None,
        "profile": header.profile.get("name"),
        "target": header.target.name,
        "complete": timeline.ended is not None,
        "requests_file": timeline.ended.requests_file if timeline.ended is not None else None,
        "clients": list(clients_of(header)),
        "engine": {"mode": header.engine.mode, "workers": header.engine.workers},
        "client_floor_ms": {
            name: {"p50": rounded(each.p50_ms), "p99": rounded(each.p99_ms)} for name, each in header.client_overhead_ms.items()
        },
    }


def _first_endpoint(latest: Verdict | None) -> dict[str, Any] | None:
    """The endpoint that degrades first in the latest epoch."""
    found = latest.first_endpoint if latest is not None else None
    if found is None:
        return None
    return fields(found, found.__struct_fields__, 6) | {"users": whole(found.users)}


def _regimes(verdict: Verdict) -> Iterator[RegimeVerdict]:
    """The regimes of levels of users, then those of offered rates."""
    yield from verdict.regimes
    yield from verdict.rates.regimes if verdict.rates is not None else ()


def _requirement(given: Answer) -> dict[str, Any]:
    """Its figures have names with units, which the kind decides."""
    required = {"required": wording.text_of(given.required), "kind": given.__struct_config__.tag}
    return required | fields(given, given.__struct_fields__[1:], 6)


def _recommended(found: Recommended) -> dict[str, Any]:
    """Estimates with their intervals; None: not derived."""
    at, settings = found.operating, [name for name in found.__struct_fields__ if name not in ("epoch", "operating")]
    return {
        "epoch": found.epoch,
        **at.load.named,
        "sentence": wording.operating_in_full(at),
        "objective": None if at.objective is None else at.objective.name,
        **{name: _estimated(getattr(at, name)) for name in at.__struct_fields__ if name not in ("load", "objective")},
        **{name: _estimated(getattr(found, name)) for name in settings},
    }


def _estimated(value: Any) -> Any:
    return _fields(value) if isinstance(value, Estimate) else rounded(value, 6)


def _regime(epoch: int, found: RegimeVerdict) -> dict[str, Any]:
    """With the mean times from plan of one offered rate if these show the change, and when the level before it ended."""
    knee, is_by_users = found.knee, not found.at_rates
    return {
        "epoch": epoch,
        **fields(found, ("began_s", "began", "inside", "after_step_s")),
        "users": found.users if is_by_users else None,
        "offered_per_s": None if is_by_users else found.users,
        **fields(found, ("before_rps", "after_rps")),
        **(fields(found, ("before_ms", "after_ms", "unchanged_until_s")) if found.began == "latency" else {}),
        "failure_ratio": rounded(found.failure_ratio),
        "most_users": rounded(found.most_users) if is_by_users else None,
        "most_offered_per_s": None if is_by_users else rounded(found.most_users),
        "most_rps": rounded(found.most_rps),
        "knee_users": rounded(knee.users) if knee is not None and knee.kind == "knee" else None,
        "levels": list(found.levels),
        "judged": found.judged,
    }
