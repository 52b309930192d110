"""The summary of a session: the document that `export --format json` prints, and whose keys are a contract.

Built from the timeline only. A figure that was not measured is None, never 0. Knees, causes and other findings come from marks:
the lists contain the current marks and may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import wording
from ..model.clients import clients_of
from ..model.events import Note, Reanalysed, Verdict
from ..model.readings import Reading
from ..model.timeline import Timeline
from ..model.verdicts import RegimeVerdict
from .summary_levels import endpoint_totals, level_entries
from .summary_marks import mark_entries
from .summary_values import plain, rounded, whole

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
