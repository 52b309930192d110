"""Iterations dropped because all users are busy: whether the maximum number of users is the cause, or the service."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.analysis.causes.conditions import UsualTimes, users_at_cap
from capexplorer.model.events import EndpointTick
from capexplorer.model.load import Drops, OfferedTick

from ..seconds import cause_marks, latest_by_id, second

USUAL_MS = 10.0


def seconds_with_drops(first: int, last: int, service_ms: float, **dropped: int) -> list[Any]:
    """Seconds with 200 arrivals each, of which 100 end."""
    served = EndpointTick(name="/a", requests=100, latency_sum_ms=100 * service_ms)
    offered = OfferedTick(offered_per_s=200.0, planned=200, finished=100, queued=50, running=10, dropped=Drops(**dropped))
    return [second(float(t_s), offered=offered, endpoints=(served,)) for t_s in range(first, last + 1)]


@pytest.mark.parametrize(
    ("why", "seconds", "usual_ms", "blamed"),
    [
        ("latency is flat: the pool of users is too small", seconds_with_drops(2, 6, 11.0, max_users=50), USUAL_MS, True),
        (
            "latency is flat, and the load thread counted the drops as the target's",
            seconds_with_drops(2, 6, 11.0, target=50),
            USUAL_MS,
            True,
        ),
        ("the service slowed down, and all users wait for it", seconds_with_drops(2, 6, 40.0, max_users=50), USUAL_MS, False),
        ("six users on four workers that are all busy", seconds_with_drops(2, 6, 14.5, max_users=50), USUAL_MS, False),
        ("the first level, whose rate needs more users", seconds_with_drops(2, 6, 11.0, max_users=50), None, True),
        ("the first level, whose rate needs fewer users", seconds_with_drops(2, 6, 11.0, target=50), None, False),
        ("drops in two seconds only", seconds_with_drops(2, 3, 11.0, max_users=50), USUAL_MS, False),
        ("users are still starting", seconds_with_drops(2, 6, 11.0, starting=50), USUAL_MS, False),
        ("no rate is offered", [second(float(t_s)) for t_s in range(2, 7)], USUAL_MS, False),
    ],
)
def test_drops_are_caused_by_the_maximum_of_users_while_latency_is_flat(
    why: str, seconds: list[Any], usual_ms: float | None, blamed: bool
) -> None:
    found = users_at_cap(seconds, UsualTimes(usual_ms))
    assert (found is not None and found.holds) == blamed, why


HUNG = OfferedTick(offered_per_s=300.0, planned=300, queued=300, running=200, dropped=Drops(target=300))
NEARLY_HUNG = OfferedTick(offered_per_s=300.0, planned=300, finished=4, queued=300, running=200, dropped=Drops(target=296))


@pytest.mark.parametrize("offered", [HUNG, NEARLY_HUNG])
def test_a_service_that_hangs_is_not_quick_by_what_it_completed_before(offered: OfferedTick) -> None:
    """Two seconds at 200/s, then it completes next to nothing."""
    before = OfferedTick(offered_per_s=200.0, planned=200, finished=200, running=2)
    served = EndpointTick(name="/a", requests=200, latency_sum_ms=200 * USUAL_MS)
    last = EndpointTick(name="/a", requests=offered.finished, latency_sum_ms=offered.finished * USUAL_MS)
    quick = [second(float(t_s), offered=before, endpoints=(served,)) for t_s in (2, 3)]
    hung = [second(float(t_s), offered=offered, endpoints=(last,)) for t_s in (4, 5, 6)]
    found = users_at_cap([*quick, *hung], UsualTimes(service_ms=USUAL_MS, task_ms=USUAL_MS))
    assert found is not None
    assert not found.holds


def test_a_pool_that_is_too_small_is_one_mark() -> None:
    marks = latest_by_id(cause_marks(seconds_with_drops(2, 9, 11.0, max_users=50)))
    assert {id_: mark.severity for id_, mark in marks.items()} == {"users_at_cap": "warning"}
