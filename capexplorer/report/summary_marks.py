"""The summary's marks, with an entry for each knee, cause, bottleneck, recovery, shift and triggered stop rule."""

from __future__ import annotations

from typing import Any

from .. import wording
from ..model.events import Header, Mark
from .summary_values import plain, rounded

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
