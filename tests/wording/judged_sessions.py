"""Sessions of a few levels with marks and a verdict, and the sentence that is reported of them."""

from __future__ import annotations

from typing import Any

import msgspec

from capexplorer import wording
from capexplorer.analysis.causes.catalogue import ENTRIES
from capexplorer.model.events import (
    EndpointTick,
    Event,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Mark,
    Sample,
    TargetFacts,
    Verdict,
)
from capexplorer.model.figures import LevelFigures
from capexplorer.model.findings import MarkKind
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeKind, KneeVerdict, Limit
from trials.marked import marked

STARTED_AT = "2026-01-01T12:00:00.000+01:00"
LEVEL_S = 60.0

CURVE = CurveFit(low_load_rps_per_user=2.6, low_load_se=0.1, baseline_users=(10.0,))


def levels(*users: int, epoch: int = 0, since_s: float = 0.0) -> list[Event]:
    """A minute each, the first 10 s of it unsettled; 1 s waits, 2.5 requests a second a user."""
    events: list[Event] = []
    for index, count in enumerate(users):
        begin_s = since_s + LEVEL_S * index
        figures = LevelFigures(
            settled=True, throughput_rps=0.996 * count, goodput_rps=0.996 * count, wait_s=1.0, users_mean=float(count)
        )
        events.append(LevelOpened(t_s=begin_s, index=index, users=count, spawn_rate=10.0, by="plan", epoch=epoch))
        closed = LevelClosed(
            t_s=begin_s + LEVEL_S, index=index, users=count, started_s=begin_s, settled_s=begin_s + 10.0, figures=figures
        )
        events.append(closed)
    return events


def mark(id_: str, users: float = 82, at_s: float = 180.0, *, state: str = "open", epoch: int = 0, **changes: Any) -> Mark:
    """Severity and kind as in the catalogue; `changes` are evidence, but for those of the mark's own fields."""
    own = {name: changes.pop(name) for name in ("confidence", "revision", "severity") if name in changes}
    kinds: dict[str, MarkKind] = {"memory_leak": "leak", "fd_leak": "leak"}
    bottleneck = list(ENTRIES).index(id_) >= list(ENTRIES).index("think_time_limited")
    kind = kinds.get(id_, "bottleneck" if bottleneck else "cause")
    evidence = {**({"first_s": at_s} if kind == "cause" else {}), **changes}
    return marked(
        t_s=at_s, key=f"{kind}:{id_}:epoch{epoch}", state=state, kind=kind, id=id_, epoch=epoch, users=users,
        severity=own.pop("severity", ENTRIES[id_].severity), evidence=evidence, **own,
    )  # fmt: skip


def held(users: int, others: float, processes: dict[str, float]) -> list[Event]:
    """Three levels; at the last one other processes used that many cores."""
    *_, closed = events = levels(10, 14, users)
    assert isinstance(closed, LevelClosed)
    figures = msgspec.structs.replace(closed.figures, readings={"neighbours.cpu_ratio": others}, other_processes=processes)
    return [*events[:-1], msgspec.structs.replace(closed, figures=figures)]


def curve(
    kind: KneeKind,
    users: float,
    limit: Limit = "queueing",
    *,
    t_s: float = 200.0,
    disturbed_levels: tuple[int, ...] = (),
    left_out_levels: tuple[int, ...] = (),
    **changes: Any,
) -> Verdict:
    knee = KneeVerdict(
        kind=kind, users=users, users_low=users - 4, users_high=users + 5, capacity_rps=122.0, limit=limit, confidence="high",
        provisional=False, **changes,
    )  # fmt: skip
    capacity = CapacityVerdict(knee=knee, curve=CURVE)
    return Verdict(t_s=t_s, capacity=capacity, disturbed_levels=disturbed_levels, left_out_levels=left_out_levels)


def reported(*events: Event, started_at: str = STARTED_AT) -> str:
    header = Header(
        t_s=0.0,
        schema=1,
        id="x",
        started_at=started_at,
        target=TargetFacts(name="x", url="http://127.0.0.1:1"),
        host=HostFacts(cpus=2),
    )
    return wording.verdict(Timeline([header, *events]))


def seconds(count: int, *, users: int = 10, requests: int = 20) -> list[Event]:
    """One after the other from the session's begin, so many requests in each."""
    tick = EndpointTick(name="/", requests=requests)
    return [
        Sample(t_s=s, duration_s=1.0, level=0, users=users, wanted=users, phase="settled", settled=True, endpoints=(tick,))
        for s in map(float, range(1, count + 1))
    ]


def failing_levels(*pairs: tuple[int, float], requests: int = 0) -> list[Event]:
    """Users, and the share of their requests that failed. `requests`: of each level; 0: not counted."""
    events: list[Event] = []
    for event in levels(*(users for users, _ in pairs)):
        if isinstance(event, LevelClosed):
            figures = msgspec.structs.replace(event.figures, failure_ratio=pairs[event.index][1], requests=requests)
            event = msgspec.structs.replace(event, figures=figures)
        events.append(event)
    return events


UP = levels(10, 40, 74, 82)
"""82 users from 03:00 on."""
