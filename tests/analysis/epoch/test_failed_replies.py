"""Which failed requests of a level got a reply with an HTTP status, and which status refuses."""

from __future__ import annotations

from typing import Any

import pytest
from kit.scenario import Scenario

from capexplorer.analysis.epoch.level_seconds import replied_shares
from capexplorer.model.events import FailureSignature, FailureTick
from capexplorer.model.figures import LevelFigures


def failing(*counts: tuple[int | None, int]) -> dict[str, Any]:
    """A second in which only failed requests end, so many of each status; None: no reply."""
    ticks = [
        FailureTick(name="/", method="GET", signature=FailureSignature(types=("X",), status=status), count=count)
        for status, count in counts
    ]
    failed = sum(count for _, count in counts)
    return {"rps": failed, "failed": failed, "failures": tuple(ticks)}


@pytest.mark.parametrize(
    ("statuses", "shares"),
    [
        ((), None),
        ((None, None), (0.0, 0.0)),
        ((500, 500), (1.0, 0.0)),
        ((429, 503), (1.0, 1.0)),
        ((429, 500, None, None), (0.5, 0.25)),
    ],
    ids=["no failures", "no reply", "an error", "refusals", "a refusal, an error and no replies"],
)
def test_shares_of_failures_with_any_reply_and_with_a_refusal(
    statuses: tuple[int | None, ...], shares: tuple[float, float] | None
) -> None:
    seconds = [failing((status, 1)) for status in statuses]
    timeline = Scenario().level(5, [*seconds, {"rps": 0}]).timeline
    assert replied_shares(timeline, timeline.levels[0]) == shares


def test_failures_of_other_levels_with_the_same_status_do_not_count() -> None:
    levels = [[failing((503, 1_000))], [failing((503, 1), (None, 20))], [failing((503, 10))]]
    scenario = Scenario()
    for seconds in levels:
        scenario.level(5, 5 * seconds)
    timeline = scenario.timeline
    assert replied_shares(timeline, timeline.levels[1]) == pytest.approx((1 / 21, 1 / 21))


def test_of_a_level_whose_seconds_are_missing_in_the_log_no_failure_is_known() -> None:
    scenario = Scenario().level(5, 5 * [failing((503, 1))]).measured(users=10, figures=LevelFigures(settled=True, failures=3))
    timeline = scenario.timeline
    assert replied_shares(timeline, timeline.levels[1]) is None
