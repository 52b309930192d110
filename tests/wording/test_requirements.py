"""Sentences about answers to requirements."""

from __future__ import annotations

import pytest

from capexplorer.model.load import Rate, Users
from capexplorer.model.requirements import (
    Answer,
    CapacityAnswer,
    CapacityRequired,
    FailuresAnswer,
    FailuresRequired,
    KneeAnswer,
    KneeRequired,
    PercentileAnswer,
    PercentileRequired,
    unanswered,
)
from capexplorer.wording.requirements import answer

P95 = PercentileRequired(95.0, 300.0, Users(50))
TPOT = PercentileRequired(99.0, 40.0, Rate(3.0), "tpot")
FEW_FAIL = FailuresRequired(0.001, Rate(80.0))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (unanswered(P95), "p95 <= 300ms @ 50 users: undecided"),
        (
            PercentileAnswer(required=P95, state="met", ms=212.4, low_ms=198.0, high_ms=231.2, replies=1204, seconds=24.0),
            "p95 <= 300ms @ 50 users: met, 212 ms [198–231 ms] of 1,204 replies in 24 s",
        ),
        (
            PercentileAnswer(required=P95, ms=212.4, low_ms=150.0, replies=80, seconds=4.0),
            "p95 <= 300ms @ 50 users: undecided, 212 ms (at least 150 ms) of 80 replies in 4 s",
        ),
        (
            PercentileAnswer(required=TPOT, state="met", ms=30.0, replies=9, seconds=4.0),
            "tpot p99 <= 40ms @ 3/s: met, 30 ms of 9 replies in 4 s",
        ),
        (
            FailuresAnswer(required=FEW_FAIL, state="not_met", share=0.02, low=0.013, high=0.03, requests=2000, seconds=25.0),
            "failures <= 0.1% @ 80/s: not met, 2% [1.3–3%] of 2,000 requests in 25 s",
        ),
        (FailuresAnswer(required=FEW_FAIL, requests=90, seconds=4.0), "failures <= 0.1% @ 80/s: undecided"),
        (
            PercentileAnswer(required=P95, state="not_met", ms=999.0, low_ms=900.0, high_ms=1100.0, replies=9, seconds=9.0),
            "p95 <= 300ms @ 50 users: not met, 999 ms [900–1,100 ms] of 9 replies in 9 s",
        ),
        (
            CapacityAnswer(required=CapacityRequired(100.0), state="met", per_s=None, low_per_s=104.0),
            "capacity >= 100/s: met, at least 104/s",
        ),
        (
            KneeAnswer(required=KneeRequired(40.0), state="not_met", users=31.2, low_users=29.0, high_users=34.1),
            "knee >= 40: not met, 31 [29–34]",
        ),
    ],
)  # fmt: skip
def test_an_answer_says_the_requirement_its_state_and_what_was_measured(given: Answer, sentence: str) -> None:
    assert answer(given) == sentence
