"""The sample of a whole run: each place has one request, whatever process it came from, and places are bounded."""

from __future__ import annotations

import pytest

from capexplorer.model.kept_request import (
    EVEN_MOST,
    FAILURES_MOST,
    SLOWEST_MOST,
    KeptRequest,
    Place,
    PlacedRequest,
    RequestBrief,
    Why,
)
from capexplorer.run.request_store import RequestStore


def kept(why: Why, key: str, t_s: float, ms: float = 1.0, worker: str = "") -> PlacedRequest:
    brief = RequestBrief(why=why, t_s=1_000 + t_s, method="GET", name="/a", response_ms=ms)
    return PlacedRequest(Place(why, key), KeptRequest(brief=brief, worker=worker))


def store(*requests: PlacedRequest) -> RequestStore:
    made = RequestStore(lambda monotonic_s: monotonic_s - 1_000)
    made.add(requests)
    return made


def seen(requests: RequestStore) -> list[tuple[Why, float]]:
    return [(brief.why, brief.t_s) for brief in requests.briefs()]


def test_times_are_those_of_the_session_and_numbers_name_requests() -> None:
    requests = store(kept("first", "x", 5.0), kept("last", "x", 7.0))
    assert seen(requests) == [("first", 5.0), ("last", 7.0)]
    first, last = (requests.request(brief.number) for brief in requests.briefs())
    assert first is not None and last is not None
    assert first != last
    assert requests.request(99) is None


def test_of_two_workers_failures_the_earliest_and_the_latest_stay() -> None:
    requests = store(kept("first", "x", 5.0), kept("first", "x", 3.0), kept("last", "x", 9.0), kept("last", "x", 8.0))
    assert seen(requests) == [("first", 3.0), ("last", 9.0)]


def test_a_later_first_failure_of_another_worker_becomes_the_last() -> None:
    assert seen(store(kept("first", "x", 5.0), kept("first", "x", 6.0))) == [("first", 5.0), ("last", 6.0)]


def test_of_two_slowest_requests_the_slower_one_stays() -> None:
    assert seen(store(kept("slowest", "0 GET /a", 1.0, 20), kept("slowest", "0 GET /a", 2.0, 10))) == [("slowest", 1.0)]


@pytest.mark.parametrize(
    ("why", "most", "first_s"), [("first", FAILURES_MOST, 0), ("even", EVEN_MOST, 0), ("slowest", SLOWEST_MOST, 100)]
)
def test_the_number_of_kept_requests_is_bounded_and_the_oldest_of_the_slowest_leave(why: Why, most: int, first_s: float) -> None:
    requests = store(*(kept(why, str(number), float(number)) for number in range(most + 100)))
    assert len(requests.briefs()) == most
    assert requests.briefs()[0].t_s == first_s
