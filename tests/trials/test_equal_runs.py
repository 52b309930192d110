"""A few equal pairs and one large change go through the whole of an A/A trial; the trial itself has hundreds (`make aa`)."""

from __future__ import annotations

from trials.aa.claims import outcome
from trials.aa.simulated import pair


def test_a_session_compared_with_itself_has_no_difference() -> None:
    before, _ = pair("queue", 1, level_s=12)
    found = outcome("itself", before, before)
    assert found.claims and not any(claim.counts for claim in found.claims)
    assert not found.headline and not found.failed


def test_a_service_half_as_fast_again_is_found_in_its_direction() -> None:
    found = outcome("slower", *pair("queue", 2, level_s=12, slower=0.5))
    assert found.goodput_or_capacity < 0
    assert found.latency > 0
