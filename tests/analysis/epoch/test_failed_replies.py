"""Which failed requests of a level got a reply with an HTTP status, and which status refuses."""

from __future__ import annotations

import pytest

from capexplorer.analysis.epoch.level_seconds import replied_shares
from capexplorer.model.events import EndpointTick, Event, FailureSignature, FailureTick, LevelOpened, Sample
from capexplorer.model.timeline import Timeline


def session(*statuses: int | None) -> Timeline:
    """One level of ten seconds; each of the first seconds has one failure with the given status."""
    events: list[Event] = [LevelOpened(t_s=0.0, index=0, users=5, spawn_rate=5.0, by="user")]
    for second in range(10):
        status = statuses[second] if second < len(statuses) else None
        signature = FailureSignature(types=("X",), status=status)
        failed = (FailureTick(name="/", method="GET", signature=signature, count=1),) if second < len(statuses) else ()
        events.append(settled(second + 1.0, 0, failed))
    return Timeline(events)


def settled(at_s: float, level: int, failed: tuple[FailureTick, ...]) -> Sample:
    """A settled second, in which only these requests ended."""
    count = sum(each.count for each in failed)
    return Sample(
        t_s=at_s, duration_s=1.0, level=level, users=5, wanted=5, phase="settled", settled=True, failures=failed,
        endpoints=(EndpointTick(name="/", requests=count, failures=count),),
    )  # fmt: skip


def two_levels(*counts: tuple[int, int]) -> Timeline:
    """Two levels of five settled seconds each; in each second of a level so many requests fail with (status 503, no reply)."""
    events: list[Event] = []
    for index, failures in enumerate(counts):
        events.append(LevelOpened(t_s=5.0 * index, index=index, users=5, spawn_rate=5.0, by="user"))
        failed = tuple(
            FailureTick(name="/", method="GET", signature=FailureSignature(types=("X",), status=status), count=count)
            for status, count in zip((503, None), failures, strict=True)
            if count
        )
        for second in range(5):
            events.append(settled(5.0 * index + second + 1.0, index, failed))
    return Timeline(events)


@pytest.mark.parametrize(
    ("statuses", "shares"),
    [
        ((), None),
        ((None, None), (0.0, 0.0)),
        ((500, 500), (1.0, 0.0)),
        ((429, 503), (1.0, 1.0)),
        ((429, 500, None, None), (0.5, 0.25)),
    ],
    ids=["no failures", "no reply", "an error", "refusals", "a refusal, an error and no replies"],
)
def test_shares_of_failures_with_any_reply_and_with_a_refusal(
    statuses: tuple[int | None, ...], shares: tuple[float, float] | None
) -> None:
    timeline = session(*statuses)
    assert replied_shares(timeline, timeline.levels[0]) == shares


def test_failures_of_other_levels_with_the_same_status_do_not_count() -> None:
    timeline = two_levels((1_000, 0), (1, 20), (10, 0))
    assert replied_shares(timeline, timeline.levels[1]) == pytest.approx((1 / 21, 1 / 21))
