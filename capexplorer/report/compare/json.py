"""`compare --format json`: the comparison as a document, whose keys are a contract. The same logs give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ... import wording as verdicts
from ...model.events import Mark
from ...model.findings import Cause
from ...model.load import Users
from ...wording import units
from . import sentences
from .across_levels import OverallChange
from .comparison import Comparison, Curve, MatchedLoad, Pair
from .difference import Difference
from .environment import Differing
from .estimates import Estimate

SCHEMA = "capexplorer.compare/1"


@units.fixed()
def render(comparison: Comparison) -> bytes:
    """The comparison as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document(comparison)), indent=2) + b"\n"


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values. Ratios: 0.05 is 5%; rates: per second; latencies: ms; null: not measured."""
    return {
        "schema": SCHEMA,
        "conventions": f"`se` is one standard error. In sentences: {verdicts.CONVENTIONS}",
        "sessions": [_curve(curve) for curve in comparison.curves],
        "conditions": _rows(comparison.conditions, comparison.curves),
        "subject": _rows(comparison.subject, comparison.curves),
        "warnings": sentences.warnings(comparison),
        "comparisons": [_pair(pair) for pair in comparison.pairs],
        "verdict": sentences.verdict(comparison),
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "letter": curve.letter,
        "id": curve.id,
        "epoch": curve.epoch,
        "title": curve.title,
        "label": curve.label,
        "started_at": curve.started_at,
        "complete": curve.complete,
        "client_floor_ms": {name: {"p50": each.p50_ms, "p99": each.p99_ms} for name, each in sorted(curve.overheads.items())},
        "knee": _estimates(curve.knee) or None,
        "levels": [{"users": each.load.users, "pooled": each.levels, **_estimates(each.figures)} for each in curve.points],
        "unsettled_users": list(curve.unsettled),
        "rates": [{"per_s": each.load.per_s, **_estimates(each.figures)} for each in curve.rate_points],
        "rate_capacity": None if curve.rate_capacity is None else _estimate(curve.rate_capacity),
        "marks": [_mark(mark) for mark in curve.marks],
        "verdict": curve.judged.sentence,
    }


def _mark(mark: Mark) -> dict[str, Any]:
    cause = mark.finding if isinstance(mark.finding, Cause) else Cause(name=mark.id)
    return {
        "kind": mark.kind,
        "id": mark.id,
        "severity": mark.severity,
        "users": mark.users,
        "offered_per_s": mark.offered_per_s,
        "count": cause.count or None,
        "first_s": cause.first_s,
        "last_s": cause.last_s,
    }


def _rows(rows: Sequence[Differing], curves: Sequence[Curve]) -> list[dict[str, Any]]:
    return [{"name": row.name, "values": dict(zip((c.letter for c in curves), row.values, strict=True))} for row in rows]


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "before": pair.before.letter,
        "after": pair.after.letter,
        "clients": list(pair.clients) if pair.clients else None,
        "levels": list(map(_load, pair.levels)),
        "rates": list(map(_load, pair.rates)),
        "rate_capacity": None if pair.rate_capacity is None else _difference(pair.rate_capacity),
        "users_only_before": [each.users for each in pair.only_before if isinstance(each, Users)],
        "users_only_after": [each.users for each in pair.only_after if isinstance(each, Users)],
        **{one.figure: _difference(one) for one in pair.knee},
        "overall": {one.figure: _overall(one) for one in pair.overall},
    }


def _load(load: MatchedLoad) -> dict[str, Any]:
    is_users = isinstance(load.load, Users)
    named = {"users": load.load.users, "held_by_others": load.disturbed} if is_users else {"per_s": load.load.per_s}
    return {**named, **{one.figure: _difference(one) for one in load.differences}}


def _overall(one: OverallChange) -> dict[str, Any]:
    return {
        "levels": one.levels,
        "beyond_knee": one.beyond == one.levels,
        "ratio": _rounded(one.ratio),
        "noise": _rounded(one.noise),
        "detectable": _rounded(one.detectable),
        "sure": one.claimed,
    }


def _difference(one: Difference) -> dict[str, Any]:
    return {
        "before": _estimate(one.before),
        "after": _estimate(one.after),
        "change": _rounded(one.change),
        "ratio": _rounded(one.ratio),
        "noise": _rounded(one.noise),
        "judgement": one.judgement,
        "sure": one.claimed,
        "alone": one.isolated,
        "better": one.better,
        "floor_change_ms": _rounded(one.overhead_change_ms),
    }


def _estimates(figures: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: _estimate(each) for name, each in figures.items()}


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    return {"value": _rounded(estimate.value), "se": _rounded(estimate.se)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
