"""The load from which latency has risen permanently, with or without a knee of throughput."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from capexplorer.analysis.knee.detector import latency_knee
from capexplorer.analysis.knee.knee_lines import KneeLines
from capexplorer.analysis.ladder import LadderLevel
from capexplorer.model.verdicts import KneeVerdict

USERS = (10, 20, 30, 40, 50, 60)


def levels(latencies_ms: tuple[float, ...], **fields: Any) -> list[LadderLevel]:
    """Goodput rises evenly: throughput has no knee."""
    return [
        LadderLevel(
            users=users, goodput_rps=2.0 * users, goodput_se_rps=0.02 * users, latency_ms=ms, latency_se_ms=0.02 * ms, **fields
        )
        for users, ms in zip(USERS, latencies_ms, strict=True)
    ]


def found(ladder: list[LadderLevel]) -> KneeVerdict | None:
    lines = KneeLines.of(ladder)
    assert lines is not None
    return latency_knee(lines)


@pytest.mark.parametrize(
    ("latencies_ms", "users", "confidence"),
    [
        ((20, 20, 20, 20, 20, 20), None, None),
        ((20, 20, 20, 24, 26, 28), None, None),
        ((20, 20, 20, 40, 60, 80), 40, "high"),
        ((20, 20, 40, 40, 20, 20), 30, "low"),
        ((20, 20, 20, 90, 20, 20), None, None),
        ((20, 20, 20, 20, 20, 90), None, None),
    ],
    ids=["flat", "under 1.5 times", "permanently", "two levels, and back", "one level alone", "the last level alone"],
)
def test_a_latency_knee_needs_two_levels_in_a_row_above_1_5_times_the_latency_at_low_load(
    latencies_ms: tuple[float, ...], users: float | None, confidence: str | None
) -> None:
    verdict = found(levels(latencies_ms))
    assert (verdict and verdict.users, verdict and verdict.confidence) == (users, confidence)


def test_the_interval_of_a_latency_knee_is_from_the_level_before_it_to_the_first_level_above() -> None:
    verdict = found(levels((20, 20, 20, 40, 60, 80)))
    assert verdict is not None
    assert (verdict.users_low, verdict.users, verdict.users_high) == (30, 40, 40)
    assert verdict.evidence.ratio == pytest.approx(2.0)


@pytest.mark.parametrize("left_out", [{"generator_saturated": True}, {"disturbed": True}])
def test_latency_that_the_generator_or_other_processes_caused_is_left_out(left_out: dict[str, bool]) -> None:
    ladder = levels((20, 20, 20, 40, 60, 80))
    assert found([*ladder[:3], *(replace(level, **left_out) for level in ladder[3:])]) is None


def test_the_latency_knee_of_a_ramp_has_medium_confidence() -> None:
    verdict = found(levels((20, 20, 20, 40, 60, 80), ramp=True, seconds=20.0))
    assert verdict is not None
    assert verdict.confidence == "medium"
