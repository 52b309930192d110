"""The number of endpoint names is bounded: ids are grouped, and further names are counted together."""

from __future__ import annotations

import pytest

from capexplorer.load.bounded_keys import ENDPOINT_NAMES_MOST, GROUPED_ENDPOINT_NAMES_MOST, EndpointNames, grouped


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/health", "/health"),
        ("/", "/"),
        ("", ""),
        ("/users/17", "/users/{id}"),
        ("/users/17/files/a8?x=1", "/users/{id}/files/a8?x={id}"),
        ("/users/user17/avatar", "/users/{id}/avatar"),
        ("/files/report_3.txt", "/files/{id}"),
        ("/o/123e4567-e89b-12d3-a456-426614174000", "/o/{id}"),
        ("/blob/DEADBEEF01", "/blob/{id}"),
        ("/blob/deadbeef", "/blob/{id}"),
        ("/t/abcdefghijklmnopqrstuvwxyz", "/t/{id}"),
        ("/api/v2/items/5", "/api/v2/items/{id}"),
        ("/api/v10/items", "/api/v10/items"),
        ("/api/v1.1/items", "/api/v1.1/items"),
        ("/search?q=shoes&page=2", "/search?q=shoes&page={id}"),
        ("/search?q", "/search?q"),
        ("/a//b", "/a//b"),
        ("Check out", "Check out"),
        ("/naïve/ü17ü", "/naïve/{id}"),
    ],
)
def test_parts_that_look_like_ids_are_replaced_and_versions_are_kept(name: str, expected: str) -> None:
    assert grouped(name) == expected


def test_grouping_twice_changes_nothing_more() -> None:
    for name in ("/users/17/files/a8?x=1", "/api/v2/x", "/o/123e4567-e89b-12d3-a456-426614174000"):
        assert grouped(grouped(name)) == grouped(name)


def test_up_to_200_names_stay_as_they_are() -> None:
    names = EndpointNames()
    assert [names.canonical("GET", f"/u/{n}") for n in range(ENDPOINT_NAMES_MOST)] == [
        ("GET", f"/u/{n}") for n in range(ENDPOINT_NAMES_MOST)
    ]
    assert not names.grouping


def test_from_201_names_on_ids_are_grouped_including_those_of_earlier_names() -> None:
    names = EndpointNames()
    for n in range(ENDPOINT_NAMES_MOST + 1):
        last = names.canonical("GET", f"/u/{n}")
    assert names.grouping
    assert last == ("GET", "/u/{id}")
    assert names.canonical("GET", "/u/3") == ("GET", "/u/{id}")
    assert names.canonical("POST", "/u/3") == ("POST", "/u/{id}")
    assert names.canonical("GET", "/health") == ("GET", "/health")


def test_beyond_500_names_further_names_are_counted_together() -> None:
    names = EndpointNames()
    words = [f"/{a}{b}/x" for a in "abcdefghijklmnopqrstuvwxyz" for b in "abcdefghijklmnopqrstuvwxyz"]
    found = {names.canonical("GET", word) for word in words}
    assert len(found) == GROUPED_ENDPOINT_NAMES_MOST + 1
    assert ("GET", "{other}") in found
    assert names.canonical("GET", words[0]) == ("GET", words[0])


def test_a_bounded_number_of_raw_endpoint_names_is_kept() -> None:
    names = EndpointNames()
    for n in range(30_000):
        names.canonical("GET", f"/u/{n}")
    assert len(names._cache) <= 10_000
    assert len(names._known) < GROUPED_ENDPOINT_NAMES_MOST
