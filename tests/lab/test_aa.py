"""Pairs that `make aa` compares: an equal one, a large change, and explorations whose difference is known by construction."""

from __future__ import annotations

import pytest

from lab.trials.aa.pairs import constructed, pair
from lab.trials.aa.trial import outcome


def test_a_session_compared_with_itself_has_no_difference() -> None:
    before, _ = pair("queue", 1, level_s=12)
    found = outcome(before, before)
    assert found.claims, "no row was compared"
    assert [claim for claim in found.claims if claim.counts] == [], "differences between a session and itself"
    assert not found.headline
    assert not found.failed, "--fail-if ends with exit code 3"


def test_service_times_longer_by_half_are_found_as_less_capacity_and_more_latency() -> None:
    found = outcome(*pair("queue", 2, level_s=12, slower=0.5))
    assert found.goodput_or_capacity < 0
    assert found.latency > 0


@pytest.mark.parametrize(("name", "said"), [("doubled", "better"), ("halved", "worse"), ("equal", "equal")])
def test_a_headline_says_which_of_two_services_is_better_and_names_the_figure(name: str, said: str) -> None:
    """One pair that is told rightly, which a change of the words or of the test alters. `make aa` has 30: in some the headline is
    wrong, as often as a level of significance of 5% says."""
    found = constructed(name, "queue", 200_005)
    assert (found["said"], found["named"] or said == "equal") == (said, True)
