"""Marks for tests, written briefly: kind, id, and evidence as one flat mapping. The result has the typed finding of the product.

A figure whose type does not fit its name is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from capexplorer.model.events import Mark

Plain = dict[str, Any]

_CURVE_KINDS = ("knee", "at_or_below", "bend", "latency_knee")
_COUNTED = ("failures", "retried", "seconds", "deaths")
_LEAK = (
    "growth_per_hour", "growth_per_hour_low", "growth_per_hour_high", "growth_per_request", "held_s", "now", "limit",
    "limit_in_s",
)  # fmt: skip


def marked(*, kind: str, id: str = "", evidence: Plain | None = None, **fields: Any) -> Mark:  # noqa: A002
    """The mark of a finding of this kind and id with this evidence; `fields` are those of the mark itself."""
    line = {"kind": kind, "id": id, **fields}
    return msgspec.convert({**fields, "finding": _finding(line, evidence or {})}, Mark)


def _finding(line: Plain, evidence: Plain) -> Plain:
    kind, name = line.get("kind"), line.get("id")
    if kind in _CURVE_KINDS:
        return _curve(line, evidence)
    makers: Mapping[object, Callable[[object, Plain], Plain]] = {
        "shift": _shift, "recovery": _recovery, "stop_rule": _stop_rule, "bottleneck": _bottleneck, "leak": _leak,
    }  # fmt: skip
    return {"kind": kind, **makers.get(kind, _cause)(name, evidence)}


def _curve(line: Plain, evidence: Plain) -> Plain:
    kind = line["kind"]
    peak = _numbers(evidence, "peak_users", "peak_rps", "peak_fall_ratio")
    whole_peak = len(peak) == 3 and evidence.get("peak_shape") in ("retrograde", "collapse")
    own = ("users_low", "users_high", "capacity_rps", "capacity_se_rps", "peak_users", "peak_rps", "peak_fall_ratio")
    verdict: Plain = {
        "kind": kind,
        "epoch": line.get("epoch", 0),
        **_numbers(line, "users"),
        **_numbers(evidence, "users_low", "users_high", "capacity_rps"),
        **_known("limit", evidence.get("limit"), ("generator", "queue_growth", "errors", "queueing", "unknown")),
        **_known("confidence", line.get("confidence"), ("high", "medium", "low")),
        "soft": evidence.get("soft") is True,
        "provisional": evidence.get("provisional") is not False,
        "evidence": {name: value for name, value in evidence.items() if name not in own and _is_figure(value)},
    }
    if whole_peak:
        verdict["peak"] = {
            "users": peak["peak_users"],
            "goodput_rps": peak["peak_rps"],
            "shape": evidence["peak_shape"],
            "fall_ratio": peak["peak_fall_ratio"],
        }
    return {"kind": kind, "verdict": verdict, **_numbers(evidence, "capacity_se_rps")}


def _shift(name: object, evidence: Plain) -> Plain:
    column = "latency" if evidence.get("column") == "latency" or str(name).startswith("latency") else "goodput"
    level = evidence.get("level")
    return {
        "at_s": _numbers(evidence, "at_s").get("at_s", 0.0),
        "level": level if _is_count(level) else 0,
        "column": column,
        **_numbers(evidence, "before", "after"),
    }


def _recovery(name: object, evidence: Plain) -> Plain:
    named = _numbers(evidence, "from_users", "to_users", "after_s", "goodput_ratio", "latency_ratio")
    return {"recovery": {"from_users": 0.0, "to_users": 0.0, **named, "recovered": name == "recovered"}}


def _stop_rule(name: object, evidence: Plain) -> Plain:
    level = evidence.get("level")
    return {
        "rule": str(evidence.get("rule") or name),
        "limit": 0.0,
        "measured": 0.0,
        **_numbers(evidence, "limit", "measured"),
        "level": level if _is_count(level) else 0,
        **_known("ended", evidence.get("ended"), ("plan", "autopilot")),
    }


def _cause(name: object, evidence: Plain) -> Plain:
    times = _numbers(evidence, "first_s", "last_s", "since_s", "rate_per_s")
    counts = {key: evidence[key] for key in ("count", "episodes") if _is_count(evidence.get(key))}
    counted = {key: evidence[key] for key in _COUNTED if _is_count(evidence.get(key))}
    texts = {key: evidence[key] for key in ("example", "check") if isinstance(evidence.get(key), str)}
    maps = {key: _counts(evidence.get(key)) for key in ("endpoints", "statuses", "symptoms")}
    own = {*times, *counts, *counted, "example", "check", *maps}
    return {**_blamed(name, evidence, own), **times, **counts, "counted": counted, **texts, **maps}


def _bottleneck(name: object, evidence: Plain) -> Plain:
    gate = _numbers(evidence, "users_before", "goodput_growth_ratio", "latency_growth_ratio")
    users = _numbers(evidence, "users_at").get("users_at", 0.0)
    levels = evidence["levels"] if _is_count(evidence.get("levels")) else 1
    return {**_blamed(name, evidence, {*gate, "users_at", "levels"}), **gate, "users_at": users, "levels": levels}


def _leak(name: object, evidence: Plain) -> Plain:
    figures = _numbers(evidence, *_LEAK)
    return {
        **_blamed(name, evidence, {*_LEAK, "unit", "explained_by"}),
        "unit": "fds" if evidence.get("unit", "fds" if name == "fd_leak" else "") == "fds" else "bytes",
        "growth_per_hour": 0.0,
        "held_s": 0.0,
        "now": 0.0,
        **figures,
        **_known("explained_by", evidence.get("explained_by"), ("requests", "time")),
    }


def _blamed(name: object, evidence: Plain, own: set[str]) -> Plain:
    lists = {key: _texts(evidence.get(key)) for key in ("unavailable", "competing")}
    rest = {key: value for key, value in evidence.items() if key not in own and key not in lists}
    readings = {key: value for key, value in rest.items() if _is_figure(value) or isinstance(value, str)}
    mappings = {key: _counts(value) for key, value in rest.items() if isinstance(value, dict)}
    return {"name": str(name), "readings": {**readings, **mappings}, **lists}


def _numbers(values: Plain, *names: str) -> Plain:
    return {name: values[name] for name in names if _is_number(values.get(name))}


def _known(name: str, value: object, allowed: tuple[str, ...]) -> Plain:
    return {name: value} if value in allowed else {}


def _counts(value: object) -> dict[str, int]:
    return {key: count for key, count in value.items() if _is_count(count)} if isinstance(value, dict) else {}


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_figure(value: object) -> bool:
    return isinstance(value, bool) or _is_number(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
