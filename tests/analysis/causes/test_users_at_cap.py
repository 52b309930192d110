"""Iterations dropped because all users are busy: seconds in, whose they are out."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer import wording
from capexplorer.analysis.causes.users_at_cap import users_at_cap
from capexplorer.model.events import Drops, EndpointTick, OfferedTick

from ..seconds import second, standing, watched

USUAL_MS = 10.0


def spike(first: int, last: int, service_ms: float, **dropped: int) -> list[Any]:
    """Seconds at 200/s, of which 100 end."""
    served = EndpointTick(name="/a", requests=100, latency_sum_ms=100 * service_ms)
    offered = OfferedTick(offered_per_s=200.0, planned=200, finished=100, queued=50, running=10, dropped=Drops(**dropped))
    return [second(float(t_s), offered=offered, endpoints=(served,)) for t_s in range(first, last + 1)]


@pytest.mark.parametrize(
    ("why", "seconds", "usual_ms", "blamed"),
    [
        ("latency is flat, as a pool that is too small has it", spike(2, 6, 11.0, max_users=50), USUAL_MS, True),
        ("latency is flat, and the load thread blamed the target", spike(2, 6, 11.0, target=50), USUAL_MS, True),
        ("the service slowed down and holds the users", spike(2, 6, 40.0, max_users=50), USUAL_MS, False),
        ("six users on four workers that are all busy", spike(2, 6, 14.5, max_users=50), USUAL_MS, False),
        ("the first level, whose rate needs more users", spike(2, 6, 11.0, max_users=50), None, True),
        ("the first level, whose rate needs fewer users", spike(2, 6, 11.0, target=50), None, False),
        ("two seconds of drops", spike(2, 3, 11.0, max_users=50), USUAL_MS, False),
        ("users that start", spike(2, 6, 11.0, starting=50), USUAL_MS, False),
        ("levels of users", [second(float(t_s)) for t_s in range(2, 7)], USUAL_MS, False),
    ],
)
def test_drops_at_the_cap_are_the_generators_while_the_service_is_quick(
    why: str, seconds: list[Any], usual_ms: float | None, blamed: bool
) -> None:
    found = users_at_cap(seconds, usual_ms)
    assert (found is not None and found.holds) == blamed, why


def test_the_mark_names_the_setting() -> None:
    marks = standing(watched(spike(2, 9, 11.0, max_users=50)))
    mark = marks["users_at_cap"]
    assert (len(marks), mark.severity) == (1, "warning")
    assert "[guards] max_users" in wording.advice(mark.finding)
