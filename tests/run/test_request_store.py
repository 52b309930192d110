"""The sample of whole requests of a run: one request for each place, from any process, and a limited number of places."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

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
from capexplorer.run.pump import Pump
from capexplorer.run.sampling import RequestStore


def placed_request(why: Why, key: str, t_s: float, ms: float = 1.0, worker: str = "") -> PlacedRequest:
    """A request that was kept for the reason `why`, in the place `key` of that reason."""
    brief = RequestBrief(why=why, t_s=1_000 + t_s, method="GET", name="/a", response_ms=ms)
    return PlacedRequest(Place(why, key), KeptRequest(brief=brief, worker=worker))


def store_with(*requests: PlacedRequest) -> RequestStore:
    """A store with these requests."""
    store = RequestStore(cast(Pump, SimpleNamespace(at_s=lambda monotonic_s: monotonic_s - 1_000)))
    store.add(requests)
    return store


def reasons_and_times(requests: RequestStore) -> list[tuple[Why, float]]:
    """The reason and the time of each request of the store, in order."""
    return [(brief.why, brief.t_s) for brief in requests.briefs()]


def test_requests_have_times_of_the_session_and_are_found_by_number() -> None:
    requests = store_with(placed_request("first", "x", 5.0), placed_request("last", "x", 7.0))
    assert reasons_and_times(requests) == [("first", 5.0), ("last", 7.0)]
    first, last = (requests.request(brief.number) for brief in requests.briefs())
    assert first is not None
    assert last is not None
    assert first != last
    assert requests.request(99) is None


def test_the_earliest_first_and_the_latest_last_failure_of_several_workers_are_kept() -> None:
    requests = store_with(
        placed_request("first", "x", 5.0),
        placed_request("first", "x", 3.0),
        placed_request("last", "x", 9.0),
        placed_request("last", "x", 8.0),
    )
    assert reasons_and_times(requests) == [("first", 3.0), ("last", 9.0)]


def test_a_later_first_failure_of_another_worker_is_kept_as_the_last_one() -> None:
    assert reasons_and_times(store_with(placed_request("first", "x", 5.0), placed_request("first", "x", 6.0))) == [
        ("first", 5.0),
        ("last", 6.0),
    ]


def test_the_slower_of_two_slowest_requests_is_kept() -> None:
    assert reasons_and_times(
        store_with(placed_request("slowest", "0 GET /a", 1.0, 20), placed_request("slowest", "0 GET /a", 2.0, 10))
    ) == [("slowest", 1.0)]


@pytest.mark.parametrize(
    ("why", "most", "first_s"), [("first", FAILURES_MOST, 0), ("even", EVEN_MOST, 0), ("slowest", SLOWEST_MOST, 100)]
)
def test_the_number_of_kept_requests_is_limited_and_the_oldest_of_the_slowest_are_removed(
    why: Why, most: int, first_s: float
) -> None:
    requests = store_with(*(placed_request(why, str(number), float(number)) for number in range(most + 100)))
    assert len(requests.briefs()) == most
    assert requests.briefs()[0].t_s == first_s
