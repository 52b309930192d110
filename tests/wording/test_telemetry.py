"""Sentences about what a service's own log and metrics did where its curve bends."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from report.made_sessions import CHANGES, CHANGES_AT_RATES, telling

from capexplorer import wording
from capexplorer.model.telemetry import TelemetryChanges
from capexplorer.model.timeline import Timeline


def section(changes: TelemetryChanges) -> Any:
    (found,) = wording.telemetry(Timeline(telling(changes)))
    return found


def test_series_and_lines_have_values_loads_and_times() -> None:
    found = section(CHANGES)
    assert [(each.text, each.words) for each in found.series][0] == (
        'app: pool_pending{pool="a"}', "rose from 0 to 31 between 20 users and 50 users, from 01:01 on",
    )  # fmt: skip
    assert found.series[1].words == "mean rose from 0.012 to 0.4 between 20 users and 50 users, from 01:01 on"
    assert [each.words for each in found.lines] == [
        "412 lines, none at lower load, from 01:03 on at 50 users",
        "1 line, 3 at lower load, from 01:04 on at 50 users",
    ]
    assert found.items == found.lines + found.series


def test_how_much_was_compared_and_that_it_is_no_cause_is_said() -> None:
    assert section(CHANGES).about == (
        "These change at 30 users, where the curve bends (31 of 40 series vary, 2 kinds of lines; of such findings 5% may be"
        " chance). They go with the load, and may be its effect: no cause is named."
    )


def test_rates_have_their_unit_and_time_is_named_where_it_may_be_the_reason() -> None:
    found = section(CHANGES_AT_RATES)
    assert found.series[0].words == "fell from 2/s to 0.5/s between 40/s offered and 60/s offered, from 00:09 on"
    assert found.about.endswith("No lower load was measured after the bend, so that time may be the reason instead of load.")


@pytest.mark.parametrize(
    ("changes", "about"),
    [
        (TelemetryChanges(bend=30.0, unknown_why="few_levels", recorded=40), "at 30 users: fewer than 6 levels were measured."),
        (TelemetryChanges(bend=30.0, unknown_why="none_below", recorded=40), "at 30 users: no level below it was measured."),
        (TelemetryChanges(bend=30.0, unknown_why="none_beyond", recorded=40), "at 30 users: no level beyond it was measured."),
        (
            TelemetryChanges(bend=30.0, recorded=40, tested=31, groups=2),
            "None of its own log lines and metrics was found to change at 30 users (31 of 40 series vary, 2 kinds of lines).",
        ),
    ],
)
def test_where_nothing_can_be_told_the_reason_is(changes: TelemetryChanges, about: str) -> None:
    assert section(changes).about.endswith(about)


def test_a_session_without_a_bend_has_no_section() -> None:
    assert wording.telemetry(Timeline(telling(replace(CHANGES, bend=None)))) == []
