"""The sentences with which a report begins, beside the verdict: what a user is, how the objectives were met, and at which load to
operate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .. import wording
from ..model.clients import clients_of
from ..model.events import Header
from ..model.timeline import Timeline
from ..model.verdicts import KneeVerdict, SloVerdict
from ..wording import numbers, quantities
from .rows import user_rows

OPERATING_SHARE = 0.8
"""Share of the lower end of the knee's interval that is proposed as the operating load: waits grow steeply above it."""


def opening(timeline: Timeline) -> list[str]:
    """The sentences, without those that are not known. May contain untrusted text."""
    header = timeline.header
    user = [] if header is None else [_user(header)]
    verdicts = wording.reported(timeline)
    objectives = [sentence for found in verdicts.values() for slo in found.slo for sentence in [_objective(slo)]]
    operating = [sentence for epoch, found in verdicts.items() for sentence in _operating(found.capacity.knee, epoch, timeline)]
    return [each for each in [*user, *(objectives or ["No objective is set."]), *operating] if each]


def _user(header: Header) -> str:
    """`A user sends a request, waits 0.1 to 0.5 s after the reply, and sends the next one (FastHttpUser).`"""
    users: Mapping[str, Any] = header.profile.get("users") or {}
    clients = " and ".join(clients_of(header))
    by = f" ({clients})" if clients else ""
    if users.get("locustfile"):
        return f"A user is what {users['locustfile']} says{by}."
    waits = _waits(users.get("wait_s"))
    return f"A user sends a request, {waits}, and sends the next one{by}." if waits else ""


def _waits(wait: Any) -> str:
    """`waits 0.1 to 0.5 s after the reply`; empty if it is not known."""
    given = wait if isinstance(wait, Mapping) else {"constant": wait} if isinstance(wait, int | float) else {}
    kind, value = next(((kind, value) for kind, value in given.items() if value is not None), ("", None))
    match kind, value:
        case "between", [low, high]:
            return f"waits {numbers.number(low)} to {numbers.number(high)} s after the reply"
        case "constant", seconds:
            return f"waits {numbers.number(seconds)} s after the reply" if seconds else "does not wait after the reply"
        case "poisson", seconds:
            return f"waits {numbers.number(seconds)} s after the reply on average (exponential)"
        case "constant_pacing", seconds:
            return f"waits until {numbers.number(seconds)} s after it was sent"
        case "constant_throughput", per_s:
            return f"waits so that it makes {quantities.rate(per_s)}"
        case _:
            return ""


def _objective(slo: SloVerdict) -> str:
    """`Objective p95 below 200 ms: met up to 23 users.`"""
    name, few = wording.objective_name(slo), ", from few values" if slo.thin else ""
    if slo.state == "broken":
        return f"Objective {name}: not met at any load{few}."
    load = numbers.counted(slo.users)
    return f"Objective {name}: met {'up to' if slo.state == 'crossed' else 'at all loads, up to'} {load}{few}."


def _operating(knee: KneeVerdict | None, epoch: int, timeline: Timeline) -> Iterator[str]:
    """`Operate at 18 users or fewer: 80% of the knee's lower end; at 18 users p95 was 67.3 ms.`"""
    if knee is None or knee.kind != "knee" or knee.users_low is None:
        return
    most = int(OPERATING_SHARE * knee.users_low)
    measured = [
        row
        for row in user_rows(timeline)
        if row.opened.epoch == epoch and row.kind in ("step", "recovery") and row.figures.settled and 0 < row.users <= most
    ]
    if most < 1:
        return
    sentence = f"Operate at {numbers.counted(most)} or fewer: {OPERATING_SHARE:.0%} of the knee's lower end"
    nearest = max(measured, key=lambda row: (row.users, row.figures.settled_seconds), default=None)
    if nearest is not None and nearest.figures.latency_ms.p95 is not None:
        few = " (few values)" if nearest.few_for_p95 else ""
        sentence += f"; at {numbers.counted(nearest.users)} p95 was {quantities.latency(nearest.figures.latency_ms.p95)}{few}"
    yield f"{sentence}."
