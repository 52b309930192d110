"""How a service behaves at rates beyond its capacity, and whether its goodput falls there."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.analysis.knee.rate_level import RateLevel

from .levels import SERVED, judged, level


@pytest.mark.parametrize(("replied", "kind"), [(None, "times_out"), (0.0, "times_out"), (1.0, "refuses")])
def test_late_failures_are_timeouts_unless_they_are_replies(replied: float | None, kind: str) -> None:
    late: dict[str, Any] = {"failed_ms": 1000.0, "service_ms": 600.0, "replied_ratio": replied}
    found = judged([*SERVED, level(125, 90, failed=35, **late), level(150, 80, failed=70, **late)])
    assert found.overload is not None
    assert found.overload.kind == kind


def test_goodput_that_falls_while_more_is_offered_is_reported() -> None:
    found = judged([*SERVED, level(125, 100, failed=25, failed_ms=1), level(200, 30, failed=170, failed_ms=1)])
    assert found.overload is not None
    assert found.overload.collapses
    assert found.overload.fall_ratio == pytest.approx(0.7, abs=0.02)
    assert found.per_s == pytest.approx(100)


@pytest.mark.parametrize(
    "beyond",
    [
        pytest.param(
            [level(100, 55, service_ms=900), level(125, 54, service_ms=2000)], id="below a rate that was served in full"
        ),
        pytest.param([level(100, 85, service_ms=400), level(125, 54, service_ms=2000)], id="below a lower rate that was not"),
        pytest.param([level(81, 76, seconds=8), level(125, 54, service_ms=2000)], id="below a lower rate that is unclear"),
    ],
)
def test_goodput_that_falls_while_nothing_fails_gives_no_capacity_since_the_service_may_have_slowed(
    beyond: list[RateLevel],
) -> None:
    found = judged([*SERVED, *beyond])
    assert (found.kind, found.kept_per_s, found.confidence) == ("departs", 75, "low")
    assert found.overload is not None
    assert found.overload.fall_ratio is not None
