"""Marks for tests, written briefly: kind, id and evidence as one flat mapping become the typed finding of the product."""

from __future__ import annotations

from typing import Any

import msgspec

from capexplorer.model.events import Mark
from capexplorer.model.verdicts import KneeEvidence

Plain = dict[str, Any]

_OF_VERDICT = ("users_low", "users_high", "capacity_rps", "limit", "soft", "provisional", "peak")
_FIGURES: dict[str, tuple[str, ...]] = {
    "cause": ("count", "episodes", "first_s", "last_s", "since_s", "rate_per_s", "example", "check", "endpoints", "statuses",
              "symptoms"),
    "bottleneck": ("users_before", "users_at", "goodput_growth_ratio", "latency_growth_ratio", "levels"),
    "leak": ("unit", "growth_per_hour", "growth_per_hour_low", "growth_per_hour_high", "growth_per_request", "held_s", "now",
             "limit", "limit_in_s", "explained_by"),
}  # fmt: skip
"""Fields of what is blamed, by kind; all other evidence are readings."""
_COUNTED = ("failures", "retried", "seconds", "deaths")
_DEFAULTS: dict[str, Plain] = {
    "bottleneck": {"users_at": 0.0, "levels": 1},
    "leak": {"unit": "bytes", "growth_per_hour": 0.0, "held_s": 0.0, "now": 0.0},
    "shift": {"at_s": 0.0, "level": 0},
    "stop_rule": {"limit": 0.0, "measured": 0.0, "level": 0},
}


def marked(*, kind: str, id: str = "", evidence: Plain | None = None, **fields: Any) -> Mark:  # noqa: A002
    """The mark of a finding of this kind and id with this evidence; `fields` are those of the mark itself."""
    finding = {"kind": kind, **_DEFAULTS.get(kind, {}), **_finding(kind, id, evidence or {}, fields)}
    return msgspec.convert({**fields, "finding": finding}, Mark)


def _finding(kind: str, name: str, evidence: Plain, fields: Plain) -> Plain:
    match kind:
        case "knee" | "at_or_below" | "bend" | "latency_knee":
            seen = {key: value for key, value in evidence.items() if key in KneeEvidence.__struct_fields__}
            own = {key: evidence[key] for key in _OF_VERDICT if key in evidence}
            about = {key: value for key, value in fields.items() if key in ("users", "confidence", "epoch")}
            verdict: Plain = {"kind": kind, "provisional": True, **about, **own, "evidence": seen}
            return {"verdict": verdict, "capacity_se_rps": evidence.get("capacity_se_rps")}
        case "shift":
            return {"column": "latency" if name.startswith("latency") else "goodput", **evidence}
        case "recovery":
            return {"recovery": {"from_users": 0.0, "to_users": 0.0, **evidence, "recovered": name == "recovered"}}
        case "stop_rule":
            return {"rule": name, **evidence}
    own = {key: value for key, value in evidence.items() if key in (*_FIGURES[kind], "unavailable", "competing")}
    counted = {key: evidence[key] for key in _COUNTED if key in evidence and kind == "cause"}
    readings = {key: value for key, value in evidence.items() if key not in own and key not in counted}
    unit = {"unit": "fds"} if name == "fd_leak" else {}
    return {"name": name, **unit, **own, "counted": counted, "readings": readings}
