"""Sentences about capacities of which goodput is what is within limits on a single request."""

from __future__ import annotations

from capexplorer.model.figures import LevelFigures
from capexplorer.model.verdicts import (
    CapacityVerdict,
    CurveFit,
    KneeEvidence,
    KneeVerdict,
    Overload,
    RateCapacity,
    RateLevelVerdict,
    RateVerdict,
)
from capexplorer.wording import knee_sentences, quantities, rate_sentences

KNEE = KneeVerdict(
    kind="knee",
    users=24.2,
    users_low=22.1,
    users_high=26.3,
    capacity_rps=4.6,
    within_limits=True,
    limit="tpot",
    confidence="high",
    evidence=KneeEvidence(beyond_limit_ratio=0.61, beyond_limit_users=30.0),
)
CURVE = CurveFit(low_load_rps_per_user=0.3, low_load_se=0.01, baseline_users=(4.0,))
CAPACITY = RateCapacity(
    kind="capacity",
    per_s=4.6,
    low_per_s=4.4,
    high_per_s=4.8,
    kept_per_s=3.0,
    limit="ttft",
    confidence="medium",
    within_limits=True,
    tokens_per_s=690.4,
    overload=Overload(
        kind="beyond_limits",
        offered_per_s=6.0,
        goodput_per_s=1.0,
        failure_ratio=0.0,
        beyond_limits_ratio=0.83,
        growth_per_s=0.0,
        fall_ratio=0.7,
    ),
)


def sentence(knee: KneeVerdict, blamed: str = "") -> str:
    return knee_sentences.capacity(CapacityVerdict(knee=knee, curve=CURVE), blamed).partition("; provisional")[0]


def test_a_knee_says_that_its_capacity_is_within_limits_and_which_breaks_first() -> None:
    words = "tpot_ms breaks first (61% of requests at 30 users)"
    assert sentence(KNEE) == f"Knee at 24 users [22–26] and 4.6/s within limits: {words} (high confidence)"
    assert knee_sentences.knee(KNEE) == "knee 24 [22–26] at 4.6/s within limits, tpot_ms breaks first"


def test_a_bottleneck_that_is_named_follows_the_limit() -> None:
    assert "limits: tpot_ms breaks first; the service's CPU is saturated (high" in sentence(
        KNEE, "the service's CPU is saturated"
    )


def test_a_capacity_at_rates_is_in_tokens_too_and_says_how_many_exceed_limits_beyond_it() -> None:
    found = rate_sentences.rates(RateVerdict(capacity=CAPACITY))
    first = "Capacity 4.6/s [4.4–4.8] (690 tokens/s) within limits, served in full up to 3/s: ttft_ms breaks first"
    assert found == f"{first} (medium confidence); beyond it requests exceed a limit (83% of the iterations at 6/s)."
    assert rate_sentences.rate_capacity(CAPACITY) == "capacity 4.6/s [4.4–4.8] within limits, exceeds limits beyond"


def test_a_level_at_a_rate_says_how_many_iterations_exceed_a_limit() -> None:
    level = RateLevelVerdict(
        level=0, offered_per_s=6.0, goodput_per_s=1.0, goodput_se_per_s=0.1, state="beyond_limits", failure_ratio=0.0,
        beyond_limits_ratio=0.83, dropped_ratio=0.0, growth_per_s=0.0,
    )  # fmt: skip
    assert rate_sentences.rate_level(level) == "83% of the iterations exceed a limit on a request"
    lowest = rate_sentences.rates(RateVerdict(levels=(level,)))
    assert lowest == "83% of the iterations exceed a limit at 6/s; a lower rate shows whether load is the cause."


def test_the_shares_beyond_limits_have_the_greatest_first() -> None:
    within = LevelFigures(settled=True, served_rps=60.0, beyond_limits={"ttft": 0.02, "tpot": 0.61})
    assert (quantities.goodput_name(within), quantities.beyond_limits(within)) == ("within limits", "tpot 61%, ttft 2%")
    assert quantities.goodput_name(LevelFigures(settled=True)) == "goodput"
