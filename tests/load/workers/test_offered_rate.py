"""An offered rate among workers: it is split evenly, and their reports are merged."""

from __future__ import annotations

from capexplorer.load.workers.messages import MergedRate, WorkerRate, split
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.load import Drops, OfferedRate, OfferedTick

WHOLE = WorkerRate(turn=3, offered=OfferedRate(per_s=200.0, arrivals="poisson", max_users=10))


def tick(*from_plan_ms: float, **more: object) -> OfferedTick:
    histogram = LatencyHistogram()
    histogram.record_us([value * 1000 for value in from_plan_ms])
    given: dict[str, object] = {
        "offered_per_s": 100.0, "planned": len(from_plan_ms), "started": len(from_plan_ms), "finished": len(from_plan_ms),
        "from_plan": histogram.encode() if from_plan_ms else None, "from_plan_sum_ms": sum(from_plan_ms),
    }  # fmt: skip
    return OfferedTick(**(given | more))  # type: ignore[arg-type]


def test_each_worker_gets_an_equal_part_of_the_rate_and_a_part_of_the_users() -> None:
    parts = split(WHOLE, 3)
    assert [each.offered.max_users for each in parts] == [3, 3, 4]
    assert sum(each.offered.per_s for each in parts) == 200.0
    assert {(each.turn, each.offered.arrivals) for each in parts} == {(3, "poisson")}


def test_a_worker_has_at_least_one_user() -> None:
    assert [each.offered.max_users for each in split(WHOLE, 20)] == [1] * 20


def test_counts_are_added_and_the_lag_of_the_schedule_is_that_of_the_latest_worker() -> None:
    merged = MergedRate().tick(
        [("a", tick(10, 20, late_p99_ms=1.0)), ("b", tick(30, planned=3, queued=2, dropped=Drops(target=1), late_p99_ms=5.0))],
        ["a", "b"],
    )
    assert merged is not None
    assert (merged.offered_per_s, merged.planned, merged.finished, merged.queued) == (200.0, 5, 3, 2)
    assert (merged.dropped, merged.late_p99_ms, merged.from_plan_sum_ms) == (Drops(target=1), 5.0, 60)
    assert merged.max_ms is not None
    assert round(merged.max_ms) == 30


def test_without_an_offered_rate_the_merged_tick_has_none() -> None:
    assert MergedRate().tick([("a", None)], ["a"]) is None


def test_iterations_in_flight_of_a_lost_worker_count_as_dropped_because_it_stopped() -> None:
    merged = MergedRate()
    first = merged.tick([("a", tick(5, planned=4, running=3)), ("b", tick(5, planned=2, running=1))], ["a", "b"])
    after = merged.tick([("b", tick(5, planned=1, running=1))], ["b"])
    assert first is not None
    assert after is not None
    assert (first.in_flight, after.in_flight_before, after.in_flight, after.dropped) == (4, 4, 1, Drops(stopped=3))


def test_a_late_report_of_a_worker_counts_in_the_tick_in_which_it_arrives() -> None:
    merged = MergedRate()
    merged.tick([("a", tick(planned=2, running=2)), ("b", tick(planned=1, running=1))], ["a", "b"])
    missing = merged.tick([("b", tick(running=1))], ["a", "b"])
    both = merged.tick([("a", tick(5, planned=0, running=1)), ("a", tick(5, planned=0)), ("b", tick(5, planned=0))], ["a", "b"])
    assert missing is not None
    assert missing.in_flight == missing.in_flight_before == 3
    assert both is not None
    assert (both.in_flight_before, both.finished, both.in_flight) == (3, 3, 0)
