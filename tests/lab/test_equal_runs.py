"""One equal pair and one large change, compared as `make aa` compares hundreds."""

from __future__ import annotations

from lab.trials.aa.claims import outcome
from lab.trials.aa.simulated import pair


def test_a_session_compared_with_itself_has_no_difference() -> None:
    before, _ = pair("queue", 1, level_s=12)
    found = outcome("itself", before, before)
    assert found.claims, "no row was compared"
    assert [claim for claim in found.claims if claim.counts] == [], "differences between a session and itself"
    assert not found.headline, found.sentence
    assert not found.failed, "--fail-if ends with exit code 3"


def test_service_times_longer_by_half_are_found_as_less_capacity_and_more_latency() -> None:
    found = outcome("slower", *pair("queue", 2, level_s=12, slower=0.5))
    assert found.goodput_or_capacity < 0
    assert found.latency > 0
