"""Locust's own statistics are bounded: they count every request, under the names of the report."""

from __future__ import annotations

import pytest

from .patched import Played, play

COUNTED = {"requests": 3_000, "failures": 1_000, "failures by error": 1_000, "total": [3_000, 1_000]}


@pytest.fixture(scope="module")
def seen() -> Played:
    return play("load.scenes.statistics")


def test_names_with_ids_have_one_entry_and_every_request_is_counted(seen: Played) -> None:
    found = seen["of_users_here"]
    assert found["names"] == ["/", "/item/{id}"]
    assert found["of a raw name"] == 3_000
    assert [found[name] for name in COUNTED] == [3_001, 1_000, 1_000, [3_001, 1_000]]


def test_further_errors_are_counted_together(seen: Played) -> None:
    assert seen["of_users_here"]["errors"] == seen["of_users_here"]["most errors"]


@pytest.mark.parametrize("scene", ["of_workers", "a_test_that_begins_again"])
def test_reports_of_workers_and_a_second_test_are_bounded_as_well(seen: Played, scene: str) -> None:
    found = seen[scene]
    assert found["names"] == ["/item/{id}"]
    assert found["errors"] == seen["of_users_here"]["most errors"]
    assert {name: found[name] for name in COUNTED} == COUNTED


def test_single_seconds_are_forgotten(seen: Played) -> None:
    kept, most = seen["seconds_of_a_day"]
    assert kept == most


def test_a_run_has_these_statistics(seen: Played) -> None:
    assert seen["of_a_run"] == "BoundedStats"
