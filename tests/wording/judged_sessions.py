"""Events of sessions with a few levels, marks and a verdict about their knee, and the sentence of the verdict line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from kit.scenario import Scenario, header, second
from marked import marked

from capexplorer import wording
from capexplorer.analysis.bottleneck.bottlenecks import IDS as BOTTLENECK_IDS
from capexplorer.model.catalogue import ENTRIES
from capexplorer.model.events import (
    Event,
    LevelClosed,
    Mark,
    Verdict,
)
from capexplorer.model.figures import LevelFigures
from capexplorer.model.findings import MarkKind
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeKind, KneeVerdict, Limit

STARTED_AT = "2026-01-01T12:00:00.000+01:00"
LEVEL_S = 60.0
"""Duration of each level."""

CURVE = CurveFit(low_load_rps_per_user=2.6, low_load_se=0.1, baseline_users=(10.0,))

LEAKS = ("memory_leak", "fd_leak")


def levels(*users: int, epoch: int = 0, since_s: float = 0.0) -> list[Event]:
    """Levels of a minute each, whose first 10 s are not settled. Users think for 1 s and make 0.996 requests a second each."""
    scenario = Scenario(None, at_s=since_s)
    for count in users:
        rate = 0.996 * count
        figures = LevelFigures(settled=True, throughput_rps=rate, goodput_rps=rate, wait_s=1.0, users_mean=float(count))
        scenario.measured(count, figures, epoch=epoch, settled_s=scenario.t_s + 10.0)
    return scenario.events


def mark(id_: str, users: float = 82, at_s: float = 180.0, *, state: str = "open", epoch: int = 0, **changes: Any) -> Mark:
    """A mark of this id, with the kind and the severity of the catalogue. `changes` are evidence, except `confidence`, `revision`
    and `severity`, which are fields of the mark.
    """
    fields = {name: changes.pop(name) for name in ("confidence", "revision", "severity") if name in changes}
    kind: MarkKind = "leak" if id_ in LEAKS else "bottleneck" if id_ in BOTTLENECK_IDS else "cause"
    evidence = {**({"first_s": at_s} if kind == "cause" else {}), **changes}
    return marked(
        t_s=at_s, key=f"{kind}:{id_}:epoch{epoch}", state=state, kind=kind, id=id_, epoch=epoch, users=users,
        severity=fields.pop("severity", ENTRIES[id_].severity), evidence=evidence, **fields,
    )  # fmt: skip


def levels_beside_others(last_users: int, cores: float, processes: dict[str, float]) -> list[Event]:
    """Levels of 10, 14 and `last_users` users; at the last one other processes use so many cores."""
    return with_readings(levels(10, 14, last_users), {"neighbours.cpu_ratio": cores}, other_processes=processes)


def with_readings(events: Sequence[Event], readings: dict[str, float], **figures: Any) -> list[Event]:
    """The events, of which the last one closes a level, with these readings and other figures of that level."""
    *others, closed = events
    assert isinstance(closed, LevelClosed)
    changed = msgspec.structs.replace(closed.figures, readings=readings, **figures)
    return [*others, msgspec.structs.replace(closed, figures=changed)]


def unsettled_levels(*users_and_warm: tuple[int, float | None], **times: float) -> list[Event]:
    """Levels of (users, share of warm users) that ended before they had settled."""
    scenario = Scenario(None)
    for users, warm in users_and_warm:
        scenario.measured(users, LevelFigures(settled=False, warm_ratio=warm), **{"lasts_s": 20.0, **times})
    return scenario.events


def knee_verdict(
    kind: KneeKind,
    users: float,
    limit: Limit = "queueing",
    *,
    t_s: float = 200.0,
    disturbed_levels: tuple[int, ...] = (),
    left_out_levels: tuple[int, ...] = (),
    **changes: Any,
) -> Verdict:
    """A verified verdict with high confidence about a knee at these users. `changes` are other fields of its KneeVerdict."""
    knee = KneeVerdict(
        kind=kind, users=users, users_low=users - 4, users_high=users + 5, capacity_rps=122.0, limit=limit, confidence="high",
        provisional=False, **changes,
    )  # fmt: skip
    capacity = CapacityVerdict(knee=knee, curve=CURVE)
    return Verdict(t_s=t_s, capacity=capacity, disturbed_levels=disturbed_levels, left_out_levels=left_out_levels)


def verdict_sentence(*events: Event, started_at: str = STARTED_AT) -> str:
    """The verdict line of a session with these events."""
    return wording.verdict(Scenario(header(started_at=started_at), *events).timeline)


def samples(count: int, *, users: int = 10, requests: int = 20) -> list[Event]:
    """The samples of so many seconds from the begin of the session, with this number of requests in each."""
    return [second(float(t_s), users=users, rps=requests, work=None) for t_s in range(1, count + 1)]


def failing_levels(*users_and_ratios: tuple[int, float], requests: int = 0) -> list[Event]:
    """Levels of (users, share of the requests that failed). `requests` is the number of each level; 0: not counted."""
    events: list[Event] = []
    for event in levels(*(users for users, _ in users_and_ratios)):
        if isinstance(event, LevelClosed):
            _, ratio = users_and_ratios[event.index]
            figures = msgspec.structs.replace(event.figures, failure_ratio=ratio, requests=requests)
            event = msgspec.structs.replace(event, figures=figures)
        events.append(event)
    return events


UP_TO_82 = levels(10, 40, 74, 82)
"""Levels up to 82 users, which begin at 03:00."""
