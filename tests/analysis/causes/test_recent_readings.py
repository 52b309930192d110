"""The latest ticks and sums over them; a reading that was never taken stays None."""

from __future__ import annotations

import pytest

from capexplorer.analysis.causes.confirmation import (
    KEPT,
    RecentReadings,
    broken,
    connects,
    failures,
    growth,
    most,
    requests,
    retried,
)
from capexplorer.model.events import EndpointTick, FailureSignature, FailureTick, Sample
from capexplorer.model.readings import TargetReading, TcpReading


def tick(t_s: float, **fields: object) -> Sample:
    return Sample(t_s=t_s, duration_s=1.0, level=0, users=5, wanted=5, phase="settled", **fields)  # type: ignore[arg-type]


def reset(count: int, *, reused: bool | None = None, status: int | None = None) -> FailureTick:
    signature = FailureSignature(types=("ConnectionResetError",), reused=reused, status=status)
    return FailureTick(name="/", method="GET", signature=signature, count=count)


def test_only_the_latest_ticks_are_kept_and_found_by_time_or_number() -> None:
    recent = RecentReadings()
    for second in range(KEPT + 10):
        recent.add(tick(float(second)))
    assert len(recent.last(1_000)) == KEPT
    assert [each.t_s for each in recent.last(2)] == [KEPT + 8, KEPT + 9]
    assert [each.t_s for each in recent.since(KEPT + 7)] == [KEPT + 8, KEPT + 9]


def test_growth_is_summed_over_ticks_and_counters_and_none_if_nothing_was_read() -> None:
    ticks = [tick(1, tcp=TcpReading(resets_sent=2, attempt_fails=1)), tick(2), tick(3, tcp=TcpReading(resets_sent=3))]
    assert growth(ticks, "resets_sent") == 5
    assert growth(ticks, "resets_sent", "attempt_fails") == 6
    assert growth([tick(1)], "resets_sent") is None


def test_most_is_the_highest_reading_of_all_targets_and_ticks() -> None:
    ticks = [
        tick(1, targets=(TargetReading(pid=1, fds=5), TargetReading(pid=2, fds=9))),
        tick(2, targets=(TargetReading(pid=1),)),
    ]
    assert most(ticks, lambda target: target.fds) == 9
    assert most(ticks, lambda target: target.listen_queue) is None


def test_counts_include_warm_up_and_repeated_attempts_are_counted_separately() -> None:
    endpoint = EndpointTick(name="/", requests=10, failures=2, warmup_requests=3, warmup_failures=1)
    ticks = [tick(1, endpoints=(endpoint,), connects=4, failures=(reset(2),), retried=(reset(5),)), tick(2, connects=1)]
    counted = {"requests": requests(ticks), "failures": failures(ticks), "connects": connects(ticks), "retried": retried(ticks)}
    assert counted == {"requests": 13, "failures": 3, "connects": 5, "retried": 5}


@pytest.mark.parametrize(("reused", "expected"), [((True,), 1), ((False, None), 6), ((True, False, None), 7)])
def test_broken_connections_are_counted_by_whether_they_had_carried_a_request(
    reused: tuple[bool | None, ...], expected: int
) -> None:
    ticks = [tick(1, failures=(reset(1, reused=True), reset(2, reused=False), reset(9, status=500)), retried=(reset(4),))]
    assert broken(ticks, reused) == expected
