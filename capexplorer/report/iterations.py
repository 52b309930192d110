"""The values of a level's key `offered` in the JSON summary, and their columns in levels.csv."""

from __future__ import annotations

from typing import Any

import msgspec

from ..model.events import Drops, LevelOpened
from ..model.load import Users
from ..model.offered import OfferedFigures
from ..model.percentiles import Latency

_COUNTS = ("planned", "started", "finished", "failed", "in_flight_before", "in_flight")
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
    numbers = {name: getattr(found, name) for name in (*_COUNTS, *_RATES)}
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
