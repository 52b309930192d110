"""Sessions made from the requests and failures of each second, and the regimes that their epoch is split into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kit.scenario import Scenario

from capexplorer.analysis.epoch.epoch import Epoch, epoch_of
from capexplorer.model.events import EndpointTick, FailureSignature, Verdict
from capexplorer.model.timeline import Timeline

WAIT_S = 0.2

Seconds = list[tuple[int, int]]
"""(requests, failures) of each settled second."""


def session(
    *levels: tuple[int, Seconds],
    response_ms: float = 15.0,
    endpoints: Sequence[str] = ("/",),
    status: int | None = None,
    equal_waits: bool = False,
) -> Timeline:
    """Levels of (users, settled seconds).

    `endpoints`: each has these requests; the failures are of the first. `status`: of the failures; None: it is not known.
    `equal_waits`: users wait equally long; else that is not known.
    """
    scenario = Scenario()
    signature = None if status is None else FailureSignature(types=("HTTPError",), status=status)

    def fields(requests: int, failures: int) -> dict[str, Any]:
        ticks = [
            EndpointTick(
                name=name, requests=requests, failures=failed, latency_sum_ms=response_ms * (requests - failed),
                failure_latency_sum_ms=float(failed),
            )
            for name, failed in zip(endpoints, [failures, *[0] * len(endpoints)], strict=False)
        ]  # fmt: skip
        total = requests * len(endpoints)
        return {
            "rps": total, "failed": failures, "signature": signature, "name": endpoints[0], "endpoints": tuple(ticks),
            "waits": total, "wait_sum_s": WAIT_S * total, "sleep_sum_s": 0.0 if equal_waits else None,
        }  # fmt: skip

    for users, settled in levels:
        scenario.open(users).seconds([fields(*each) for each in settled]).close()
    return scenario.timeline


def clean(rate: int, seconds: int = 9) -> Seconds:
    """Seconds without failures at about this rate."""
    return [(rate + (-1) ** second, 0) for second in range(seconds)]


def failing(rate: int, seconds: int = 9) -> Seconds:
    """Seconds in which all requests fail."""
    return [(rate, rate)] * seconds


FALLEN: dict[str, Seconds] = {"failing": failing(160), "slow": clean(60)}
"""Levels at 32 users, beyond CLIMB, whose goodput falls: to nothing, or to less than half."""

CLIMB = [(8, clean(40)), (16, clean(80)), (24, clean(120))]
"""Levels of (users, seconds) that scale linearly: 5/s per user."""


def regimes(epoch: Epoch) -> list[tuple[str | None, list[int]]]:
    """(what began it, users of its levels) of each regime."""
    return [(regime.began, [round(level.users) for level in regime.levels]) for regime in epoch.regimes]


def verdict_of(timeline: Timeline) -> Verdict:
    found = epoch_of(timeline, 0).verdict
    assert found is not None
    return found
