"""The corpus: ladders of simulated services with their true knees, second by second, for other knee finders.

One JSON object per line: `service`, `seed`, `knees` (every N* that the service had; empty: none), `changes_at_s`,
`changes_until_s`, and `levels`, each with `users`, `started_s` and, for each of its seconds, `goodput`, `failures` and `mean_ms`
(of successes; null without any).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lab.trials.record import RESULTS

from .simulated import Service, services, started

PATH = RESULTS / "knees-corpus.jsonl"
SEEDS = 6
RUNGS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.1, 1.3, 1.6, 2.0, 2.2)
"""User counts of the levels as multiples of N*, or of WITHOUT_KNEE_USERS for services without a knee."""
WITHOUT_KNEE_USERS = 40.0
LEVEL_S = 15


def write() -> Path:
    """Replace the corpus; returns its path."""
    PATH.write_text("".join(json.dumps(ladder(each)) + "\n" for each in services(SEEDS)), encoding="utf-8")
    return PATH


def ladder(service: Service) -> dict[str, Any]:
    """One service under all levels, from low to high load."""
    trouble = service.system.trouble
    return {
        "service": service.name,
        "seed": service.seed,
        "knees": [round(knee, 3) for knee in service.knees],
        "changes_at_s": _or_null(trouble.at_s),
        "changes_until_s": _or_null(trouble.until_s),
        "levels": list(_levels(service)),
    }


def _or_null(seconds: float) -> float | None:
    return round(seconds, 3) if math.isfinite(seconds) else None


def _levels(service: Service) -> Iterator[dict[str, Any]]:
    run, top = started(service), service.knees[0] if service.knees else WITHOUT_KNEE_USERS
    for rung in RUNGS:
        users, started_s, first = max(1, round(rung * top)), run.now_s, len(run.ended_s)
        run.to(users)
        run.until(started_s + LEVEL_S)
        second = np.array(run.ended_s[first:]).astype(int) - int(started_s)
        inside = (second >= 0) & (second < LEVEL_S)
        ok = np.array(run.ok[first:], bool)
        took_ms = np.array(run.response_s[first:]) * 1000
        good, bad = (np.bincount(second[inside & each], minlength=LEVEL_S) for each in (ok, ~ok))
        sums_ms = np.bincount(second[inside & ok], weights=took_ms[inside & ok], minlength=LEVEL_S)
        yield {
            "users": users,
            "started_s": round(started_s),
            "goodput": good.tolist(),
            "failures": bad.tolist(),
            "mean_ms": [round(total / count, 1) if count else None for total, count in zip(sums_ms, good, strict=True)],
        }
