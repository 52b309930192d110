"""Sessions made from the requests and failures of each second, and the regimes that their epoch is split into."""

from __future__ import annotations

from collections.abc import Sequence

from kit.scenario import HEADER

from capexplorer.analysis.epoch.epoch import Epoch, epoch_of
from capexplorer.model.events import EndpointTick, Event, FailureSignature, FailureTick, LevelOpened, Sample, Verdict
from capexplorer.model.timeline import Timeline

WAIT_S = 0.2

Seconds = list[tuple[int, int]]
"""(requests, failures) of each settled second."""


def session(
    *levels: tuple[int, Seconds],
    settling: Sequence[tuple[int, int]] = (),
    failed_after_ms: float = 1.0,
    response_ms: float = 15.0,
    endpoints: Sequence[str] = ("/",),
    status: int | None = None,
) -> Timeline:
    """Levels of (users, settled seconds). `settling`: (requests, failures) of the seconds in which the last level settles.
    `endpoints`: each has these requests; the failures are of the first. `status`: of the failures; None: it is not known.
    """
    events: list[Event] = [HEADER]
    t_s = 1.0
    for index, (users, settled) in enumerate(levels):
        events.append(LevelOpened(t_s=t_s, index=index, users=users, spawn_rate=10.0, by="plan"))
        before = settling if index == len(levels) - 1 else ()
        for second, (requests, failures) in enumerate([*before, *settled]):
            t_s += 1.0
            is_settled = second >= len(before)
            ticks = tuple(
                EndpointTick(
                    name=name, requests=requests, failures=failed_here, latency_sum_ms=response_ms * (requests - failed_here),
                    failure_latency_sum_ms=failed_after_ms * failed_here,
                )
                for name, failed_here in zip(endpoints, [failures, *[0] * len(endpoints)], strict=False)
            )  # fmt: skip
            total, signature = requests * len(endpoints), FailureSignature(types=("HTTPError",), status=status)
            failed = (FailureTick(name=endpoints[0], method="GET", signature=signature, count=failures),) if failures else ()
            events.append(
                Sample(
                    t_s=t_s, duration_s=1.0, level=index, users=users, wanted=users, settled=is_settled,
                    phase="settled" if is_settled else "settling", failures=failed if status else (),
                    endpoints=ticks, work=float(total - failures), waits=total, wait_sum_s=WAIT_S * total,
                )
            )  # fmt: skip
        events.append(Timeline(events).levels[-1].ending(t_s))
    return Timeline(events)


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
