"""With a new id in each path the load side stops growing."""

from __future__ import annotations

import pytest

from .patched import play

MOST_AN_HOUR = 1_000_000
"""Bytes that ids may add in an hour at 300 requests per second."""


@pytest.mark.slow
def test_requests_with_ids_of_their_own_do_not_add_up() -> None:
    found = play("load.scenes.ids")["bytes_by_minute"]
    most = MOST_AN_HOUR * found["requests"] / (300 * 3600)
    first, *_, last = found["used"]
    assert (last - first) / (len(found["used"]) - 1) <= most, "one part alone varies by as much: tables grow and shrink in steps"
