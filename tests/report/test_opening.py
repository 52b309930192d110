"""The first lines of a report: what a user is, the objectives, and the load at which to operate."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from capexplorer import wording
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import (
    KneeVerdict,
    RateObjective,
    SloVerdict,
    Verification,
)
from capexplorer.report.statements import OPERATING_SHARE, opening
from capexplorer.wording import quantities

from .made_sessions import AT_25, judged, judged_epochs, served


def test_the_operating_load_is_a_share_of_the_knees_lower_end_with_a_measured_p95() -> None:
    found = opening(Timeline(judged()))[-1]
    assert found.startswith("Operate at 18 users or fewer: 80% of the knee's lower end; at 12 users p95 was ")


@pytest.mark.parametrize("knee", [KneeVerdict(kind="no_knee", users=48.0), KneeVerdict(kind="bend", users=20.0)])
def test_without_a_knee_there_is_no_operating_load(knee: KneeVerdict) -> None:
    assert not any("Operate" in each for each in opening(Timeline(judged(knee))))


def test_an_objective_that_is_crossed_below_limits_the_operating_load() -> None:
    crossed = SloVerdict(name="p95_ms", limit=200.0, state="crossed", users=14.0, users_low=12.4)
    operating = opening(Timeline(judged(AT_25, crossed)))[-1]
    assert "12 users" in operating
    assert wording.objective_name(crossed) in operating


@pytest.mark.parametrize(
    ("knee", "slo"),
    [
        (AT_25, (SloVerdict(name="p95_ms", limit=1.0, state="broken", users_high=6.0),)),
        (replace(AT_25, verification=Verification(state="contradicted", steps=())), ()),
    ],
)
def test_no_load_is_proposed_against_an_objective_or_a_contradiction(knee: KneeVerdict, slo: tuple[SloVerdict, ...]) -> None:
    assert not any("Operate" in each for each in opening(Timeline(judged(knee, *slo))))


def test_each_epoch_names_its_operating_load() -> None:
    first, second = (each for each in opening(Timeline(judged_epochs())) if "perate at" in each)
    assert "0" in first.split(":")[0]
    assert "16 users" in first
    assert "1" in second.split(":")[0]
    assert "32 users" in second


def test_the_operating_rate_is_a_share_of_the_capacitys_lower_end_with_a_measured_p95() -> None:
    operating = opening(Timeline(served()))[-1]
    assert quantities.rate(OPERATING_SHARE * 47.5) in operating
    assert quantities.rate(20.0) in operating  # the greatest rate below it that was served
    assert quantities.latency(30.0) in operating


def test_objectives_of_offered_rates_are_named_and_limit_the_operating_rate() -> None:
    crossed = RateObjective(name="p95_ms", limit=60.0, state="crossed", per_s=33.0, low_per_s=25.0, high_per_s=39.0)
    shown = opening(Timeline(served(crossed)))
    assert any(wording.rate_objective_name(crossed) in each and quantities.rate(33.0) in each for each in shown[:-1])
    assert quantities.rate(25.0) in shown[-1]
