"""Readings of marks in reports: words that an engineer who opens one report understands."""

from __future__ import annotations

import pytest

from capexplorer.model.timeline import Timeline
from capexplorer.report.listed_findings import findings
from trials.marked import marked

from .material import HEADER


def reported(kind: str, id_: str, **evidence: object) -> str:
    mark = marked(t_s=1.0, key="x", state="open", kind=kind, id=id_, users=8.0, confidence="low", evidence=evidence)
    (found,) = findings(Timeline([HEADER, mark]))
    return f"{found.sentence}: {found.evidence}" if found.evidence else found.sentence


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (reported("at_or_below", "at_or_below", users_high=9.0), "knee at or below 8 users (low confidence)"),
        (reported("knee", "knee", users_low=7.0, users_high=9.0, capacity_rps=40.0, soft=False, provisional=True, levels_below=3),
         "knee at 8 users [7–9] and 40/s, limited by a cause that no reading shows (low confidence): levels below the knee 3"),
        (reported("knee", "knee", response_ratio=0.5, soft=True),
         "knee at 8 users (low confidence): soft, response time / response time at low load 0.5"),
        (reported("shift", "goodput_rose", at_s=3_662.3, column="goodput", before=50.0, after=60.0),
         "shift: goodput rose from 50 to 60/s at 1:01:02 (8 users) and stayed there"),
        (reported("shift", "goodput_rose", at_s=3_662.3, column="goodput"), "shift: goodput changed at 8 users (low confidence)"),
        (reported("bottleneck", "cpu_steal", goodput_growth_ratio=-0.0279, latency_growth_ratio=5.13,
              users_at=8.0, levels=2),
         "bottleneck: the hypervisor takes CPU time (steal) at 8 users (low confidence): goodput growth -2.8%, latency "
         "growth 513%, "
         "users at 8, levels 2"),
        (reported("cause", "generator_cpu_saturated", grounds="busy, idle_target"),
         "cause: the generator's CPU is saturated at 8 users (low confidence): grounds busy, idle target"),
    ],
)  # fmt: skip
def test_readings_are_words(sentence: str, expected: str) -> None:
    assert sentence == expected
