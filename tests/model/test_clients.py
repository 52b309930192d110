"""Client classes of logs with and without `clients` in their header."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.model.events import ClientOverhead, Header, HostFacts, TargetFacts, clients_of

FLOOR = ClientOverhead(p50_ms=0.4, p99_ms=1.2)


def header(**changes: Any) -> Header:
    facts = TargetFacts(name="x", url="http://127.0.0.1:1")
    return Header(t_s=0.0, schema=1, id="x", started_at="", target=facts, host=HostFacts(), **changes)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (header(clients=("User",), client_overhead_ms={}, profile={"users": {"client": "fast"}}), ("User",)),
        (header(client_overhead_ms={"HttpUser": FLOOR}, profile={"users": {"client": "fast"}}), ("HttpUser",)),
        (header(profile={"users": {"client": "requests"}}), ("HttpUser",)),
        (header(profile={"users": {"client": "fast", "locustfile": "users.py"}}), ()),
        (header(), ()),
    ],
)
def test_client_classes_that_were_used_take_precedence_over_the_profile(reported: Header, expected: tuple[str, ...]) -> None:
    assert clients_of(reported) == expected
