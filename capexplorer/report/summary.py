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
from ..model.columns import READINGS
from ..model.events import Header, LevelOpened, Mark, Note, Reanalysed, Verdict, clients_of
from ..model.figures import LevelBin, LevelEndpoint, LevelFigures
from ..model.intervals import Latency
from ..model.level import Level
from ..model.level_use import level_uses
from ..model.load import Drops, OfferedFigures, Rate, Users
from ..model.reading_means import readings_of_parts
from ..model.readings import Reading
from ..model.timeline import Timeline
from ..model.verdicts import RegimeVerdict
from .rows import Degradations, degrades_first, first_to_degrade, goodput_rps, offered_rate

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
    shown: dict[str, Any] = {
        "offered_per_s": _rounded(found.offered_per_s if found is not None else opened.load.per_s),
        "arrivals": opened.arrivals,
    }
    if found is None:
        return shown
    numbers = {name: getattr(found, name) for name in (*_ITERATION_COUNTS, *_RATES)}
    return {
        **shown,
        **{name: _rounded(value) for name, value in numbers.items()},
        "dropped": {"total": found.dropped.total, **msgspec.structs.asdict(found.dropped)},
        "from_plan_ms": {name: _rounded(value) for name, value in msgspec.structs.asdict(found.from_plan_ms).items()},
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


def _rounded(value: float | None) -> float | None:
    return round(value, 3) if isinstance(value, float) else value


# -- summary values ------------------------------------------------------------------------------------------------------------
# Converts values for the JSON of the summary: rounded, and whole numbers of users as integers.


def rounded(value: float | None, digits: int = 3) -> float | None:
    """The value to this many decimals; None stays None."""
    return None if value is None else round(value, digits)


def plain(value: Any) -> Any:
    """A float to six decimals, anything else unchanged."""
    return rounded(value, 6) if isinstance(value, float) else value


def whole(users: float | None) -> float | int | None:
    """A number of users as an integer, unless it has a fraction, as means and ends of intervals have."""
    return int(users) if users is not None and users == int(users) else rounded(users)


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

_FIGURES = tuple(name for name in READINGS if name not in _WAITS)
"""Names of figures that are means over a level's seconds."""

_COUNTS = ("target_rss_bytes", "open_sockets", "ports_used", "ports_capacity")
"""Figures that are integers."""


def level_entries(timeline: Timeline) -> list[dict[str, Any]]:
    """One entry for each level or bin of a ramp, in the order in which the levels ran.

    `held`: other processes disturbed the level. `service_state`: "changed" if the service changed during the level, "other" if it
    was in another state than the one that the verdict is about, else None.
    """
    uses, first = level_uses(timeline), first_to_degrade(timeline)
    entries = []
    for level in timeline.levels:
        use, degraded = uses[level.opened.index], first.get(level.opened.epoch, ())
        kind = "ramp" if level.opened.ramp else "recovery" if "recovery" in use.whys else "step"
        kind = "rate" if kind != "ramp" and isinstance(level.load, Rate) else kind
        for part in level.bins if level.opened.ramp else (level,):
            judged = {"held": use.is_disturbed, "service_state": _STATES.get(use.why or "")}
            entries.append(_entry(level, part, timeline.last_s, kind, degraded) | judged | _parts(part.figures))
    return entries


def _parts(figures: LevelFigures) -> dict[str, Any]:
    """The mean readings of watched parts by name, as the key `parts`; empty without parts."""
    parts = readings_of_parts(figures.readings)
    return {"parts": {name: {key: rounded(value) for key, value in own.items()} for name, own in parts.items()}} if parts else {}


def _entry(level: Level, part: Level | LevelBin, last_s: float, kind: str, degraded: Degradations) -> dict[str, Any]:
    """One entry. `part`: the level itself or one of its bins, whichever has the figures."""
    users, figures = part.users if isinstance(level.load, Users) else 0.0, part.figures
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


# -- summary marks -------------------------------------------------------------------------------------------------------------
# The summary's marks, with an entry for each knee, cause, bottleneck, recovery, shift and triggered stop rule.


_RECOVERY = ("from_users", "to_users", "recovered", "after_s")


def mark_entries(marks: list[Mark], header: Header | None) -> dict[str, list[dict[str, Any]]]:
    """The lists of entries by their keys in the summary."""
    return {
        "knees": [_knee(mark) for mark in marks if mark.kind in ("knee", "at_or_below", "bend", "latency_knee")],
        "causes": [_cause(mark, header) for mark in marks if mark.kind in ("cause", "leak")],
        "bottlenecks": [_bottleneck(mark, header) for mark in marks if mark.kind == "bottleneck"],
        "recoveries": [_recovery(mark) for mark in marks if mark.kind == "recovery"],
        "shifts": [_shift(mark) for mark in marks if mark.kind == "shift"],
        "stop_rules": [_stop_rule(mark) for mark in marks if mark.kind == "stop_rule"],
    }


def _knee(mark: Mark) -> dict[str, Any]:
    names = ("users_low", "users_high", "capacity_rps", "limit")
    evidence = mark.finding.figures()
    return {
        "kind": mark.kind,
        "epoch": mark.epoch,
        "users": plain(mark.users),
        **{name: plain(evidence.pop(name, None)) for name in names},
        "confidence": mark.confidence,
        "evidence": evidence,
    }


def _cause(mark: Mark, header: Header | None) -> dict[str, Any]:
    evidence = mark.finding.figures()
    count, first_s, last_s = (plain(evidence.pop(name, None)) for name in ("count", "first_s", "last_s"))
    return {
        "id": mark.id,
        "epoch": mark.epoch,
        "severity": mark.severity,
        "count": count,
        "first_s": first_s,
        "last_s": last_s,
        "users": mark.users,
        "offered_per_s": mark.offered_per_s,
        "evidence": evidence,
        "advice": wording.advice(mark.finding, header),
    }


def _bottleneck(mark: Mark, header: Header | None) -> dict[str, Any]:
    return {
        "id": mark.id,
        "epoch": mark.epoch,
        "users": mark.users,
        "offered_per_s": mark.offered_per_s,
        "confidence": mark.confidence,
        "evidence": mark.finding.figures(),
        "advice": wording.advice(mark.finding, header),
    }


def _recovery(mark: Mark) -> dict[str, Any]:
    known = mark.finding.figures()
    return {"epoch": mark.epoch, **{name: known.get(name) for name in _RECOVERY}}


def _shift(mark: Mark) -> dict[str, Any]:
    return {"epoch": mark.epoch, "users": mark.users, "offered_per_s": mark.offered_per_s, **mark.finding.figures()}


def _stop_rule(mark: Mark) -> dict[str, Any]:
    return {
        "t_s": rounded(mark.t_s),
        "epoch": mark.epoch,
        "users": mark.users,
        "offered_per_s": mark.offered_per_s,
        **mark.finding.figures(),
    }


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
        "endpoints": endpoint_totals(timeline.levels),
        "first_endpoint": _first_endpoint(latest),
        "knees": entries["knees"],
        "no_knee_up_to_users": _no_knee(latest),
        "rates": _rates(latest),
        "causes": entries["causes"],
        "bottlenecks": entries["bottlenecks"],
        "slo": _objectives(latest),
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
        **_reanalysed(timeline.reanalysed),
    }


def _reanalysed(event: Reanalysed | None) -> dict[str, Any]:
    """The key `reanalysis`, only with `--reanalyse`: the version that made the marks, and how they differ from the recorded
    ones.
    """
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
    """All fields by name; unknown ones are None."""
    return {name: _value(getattr(found, name)) for name in found.__struct_fields__}


def _value(value: Any) -> Any:
    if isinstance(value, Reading):
        return _fields(value)
    return [_value(each) for each in value] if isinstance(value, tuple) else plain(value)


def _no_knee(verdict: Verdict | None) -> float | int | None:
    """The users up to which there is no knee; None if there is a knee or no verdict. Levels in which the generator failed do not
    count.
    """
    knee = verdict.capacity.knee if verdict is not None else None
    return whole(knee.users) if knee is not None and knee.kind == "no_knee" else None


def _objectives(latest: Verdict | None) -> list[dict[str, Any]]:
    """The objectives of the latest epoch. `users` is null if no level keeps the objective, and a lower bound if all levels do."""
    found = latest.slo if latest is not None else ()
    return [{name: plain(getattr(each, name)) for name in _OBJECTIVE} for each in found]


def _session(timeline: Timeline) -> dict[str, Any]:
    header = timeline.header
    if header is None:
        raise ValueError("a session has a header")
    return {
        "id": header.id,
        "label": header.label,
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
    return {name: plain(getattr(found, name)) for name in found.__struct_fields__} | {"users": whole(found.users)}


def _regimes(verdict: Verdict) -> Iterator[RegimeVerdict]:
    """The regimes of levels of users, then those of offered rates."""
    yield from verdict.regimes
    yield from verdict.rates.regimes if verdict.rates is not None else ()


def _latency_change(found: RegimeVerdict) -> dict[str, Any]:
    """Mean time from plan of one offered rate, and when the level before the change ended."""
    return {
        "before_ms": rounded(found.before_ms),
        "after_ms": rounded(found.after_ms),
        "unchanged_until_s": rounded(found.unchanged_until_s),
    }


def _regime(epoch: int, found: RegimeVerdict) -> dict[str, Any]:
    knee = found.knee
    return {
        "epoch": epoch,
        "began_s": rounded(found.began_s),
        "began": found.began,
        "inside": found.inside,
        "after_step_s": rounded(found.after_step_s),
        "users": None if found.at_rates else found.users,
        "offered_per_s": found.users if found.at_rates else None,
        "before_rps": rounded(found.before_rps),
        "after_rps": rounded(found.after_rps),
        **(_latency_change(found) if found.began == "latency" else {}),
        "failure_ratio": rounded(found.failure_ratio),
        "most_users": None if found.at_rates else rounded(found.most_users),
        "most_offered_per_s": rounded(found.most_users) if found.at_rates else None,
        "most_rps": rounded(found.most_rps),
        "knee_users": rounded(knee.users) if knee is not None and knee.kind == "knee" else None,
        "levels": list(found.levels),
        "judged": found.judged,
    }
