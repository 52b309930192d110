"""Which seconds of several workers make a tick, and when the tick is whole."""

from __future__ import annotations

from capexplorer.load.workers.merging import Gathering

from .seconds import second


def _of(*workers: str, since_s: float = 0.0) -> Gathering:
    gathering = Gathering()
    gathering.expect(workers, since_s)
    return gathering


def test_a_tick_is_whole_when_every_worker_has_reported_the_second_that_ends_with_it() -> None:
    gathering = _of("a", "b")
    gathering.add("a", second(10.01))
    assert not gathering.is_complete(10.0)
    gathering.add("b", second(10.02))
    assert gathering.is_complete(10.0)
    found = gathering.take(10.0)
    assert [worker for worker, _ in found.seconds] == ["a", "b"]
    assert (found.is_whole, found.late) == (True, frozenset())


def test_a_worker_without_a_report_is_late_and_the_tick_is_not_whole() -> None:
    gathering = _of("a", "b")
    gathering.add("a", second(10.0))
    found = gathering.take(10.0)
    assert (found.is_whole, found.late) == (False, frozenset({"b"}))


def test_a_tick_with_late_seconds_is_not_whole_and_drops_none_of_them() -> None:
    gathering = _of("a", "b")
    for worker in "ab":
        gathering.add(worker, second(9.0))
    assert gathering.take(9.0).is_whole
    gathering.add("a", second(10.0))
    assert not gathering.take(10.0).is_whole
    for late in (second(10.0), second(11.0)):
        gathering.add("b", late)
    gathering.add("a", second(11.0))
    found = gathering.take(11.0)
    assert [each.t_s for _, each in found.seconds] == [11.0, 10.0, 11.0], "nothing is dropped"
    assert not found.is_whole
    for worker in "ab":
        gathering.add(worker, second(12.0))
    assert gathering.take(12.0).is_whole


def test_a_second_of_another_length_makes_a_tick_not_whole() -> None:
    gathering = _of("a", since_s=9.9)
    gathering.add("a", second(12.0, lasted_s=3.0))
    assert not gathering.take(12.0).is_whole, "it began before the worker was expected"


def test_a_second_that_ends_after_the_tick_waits_for_the_next_one() -> None:
    gathering = _of("a")
    gathering.add("a", second(10.0))
    gathering.add("a", second(11.0))
    assert [each.t_s for _, each in gathering.take(10.0).seconds] == [10.0]
    assert gathering.take(11.0).is_whole


def test_a_tick_that_began_before_the_workers_changed_is_not_whole() -> None:
    gathering = _of("a")
    gathering.add("a", second(10.0))
    gathering.expect(("a", "b"), 9.5)
    gathering.add("b", second(10.0, lasted_s=0.5))
    assert not gathering.take(10.0).is_whole
    for worker in "ab":
        gathering.add(worker, second(11.0))
    assert gathering.take(11.0).is_whole


def test_a_lost_worker_is_neither_waited_for_nor_counted() -> None:
    gathering = _of("a", "b")
    gathering.add("b", second(10.0))
    gathering.expect(("a",), 9.0)
    gathering.add("a", second(10.0))
    gathering.add("b", second(10.0))
    found = gathering.take(10.0)
    assert [worker for worker, _ in found.seconds] == ["a"]


def test_without_workers_no_tick_is_whole() -> None:
    gathering = Gathering()
    assert gathering.is_complete(10.0)
    assert not gathering.take(10.0).is_whole


def test_seconds_of_a_plain_locust_worker_are_taken_one_a_tick_however_late() -> None:
    gathering = _of("p")
    for ended_s in (8.0, 9.0, 10.0):
        gathering.add("p", second(ended_s), in_turn=True)
    assert gathering.is_complete(13.0)
    taken = [gathering.take(boundary_s) for boundary_s in (11.0, 12.0, 13.0)]
    assert [[each.t_s for _, each in found.seconds] for found in taken] == [[8.0], [9.0], [10.0]]
    assert [found.is_whole for found in taken] == [True] * 3
    assert not gathering.take(14.0).is_whole
