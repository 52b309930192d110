"""The rules of contradictions, over texts."""

from __future__ import annotations

import pytest

from .contradictions import CONTRADICTIONS, contradictions

CONTRADICTORY = {
    "no knee, and a knee": "No knee up to 82 users. Knee at 40 users.",
    "two knees": "Knee at 40 users [36–44]. knee at or below 10 users",
    "no limit reached, and a knee": "no limit reached at 40 users; knee at 20 users",
    "no limit reached, and a bottleneck": "no limit reached at 40 users\nbottleneck: CPU of the target at 82 users",
    "think time sets the throughput, and a knee": "users' think time sets the throughput at 1,200 users. Knee at 40 users.",
    "think time sets the throughput, and a bottleneck": "users' think time sets the throughput at 40 users\nbottleneck: a "
    "queue at 82 users",
    "results above a count are invalid, and a knee above it": "results above 10 users do not describe the service. Knee at "
    "40 users.",
    "results above a count are invalid, and a bottleneck of the service above it": (
        "results above 10 users do not describe the service\ntarget: bottleneck: CPU of the target at 40 users"
    ),
    "results above a count are invalid, and no limit reached": "results above 10 users do not describe the service; no limit "
    "reached at 40 users",
    "all results are invalid, and a knee": "the results do not describe the service.\nKnee at 40 users",
}
"""For each contradiction a text that has it and no other."""


CONSISTENT = (
    "No knee up to 82 users. Latency knee at 40 users.",
    "Knee at 40 users. It is repeated: knee at 40 users.",
    "results above 40 users do not describe the service. Knee at 10 users.",
)


@pytest.mark.parametrize("name", [name for name, *_ in CONTRADICTIONS])
def test_each_contradiction_is_found_in_its_text(name: str) -> None:
    assert [wrong.partition(":")[0] for wrong in contradictions(CONTRADICTORY[name])] == [name]


@pytest.mark.parametrize("text", CONSISTENT)
def test_a_consistent_text_has_no_contradiction(text: str) -> None:
    assert contradictions(text) == []
