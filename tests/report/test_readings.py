"""The sentences of marks in reports, with their readings."""

from __future__ import annotations

import pytest
from marked import marked

from capexplorer.model.timeline import Timeline
from capexplorer.report.statements import findings

from .exported_sessions import HEADER


def reported(kind: str, id_: str, **evidence: object) -> str:
    """What a report says of a mark at 8 users with this evidence."""
    mark = marked(t_s=1.0, key="x", state="open", kind=kind, id=id_, users=8.0, confidence="low", evidence=evidence)
    (found,) = findings(Timeline([HEADER, mark]))
    return f"{found.sentence}: {found.evidence}" if found.evidence else found.sentence


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (reported("at_or_below", "at_or_below", users_high=9.0), "knee at or below 8 users (low confidence)"),
        (reported("knee", "knee", users_low=7.0, users_high=9.0, capacity_rps=40.0, soft=False, provisional=True, levels_below=3),
         "knee at 8 users [7–9] and 40/s, limited by a cause that no reading shows (low confidence)"),
        (reported("knee", "knee", low_load_rps_per_user=2.69, baseline_levels=3, slower_levels=2, top_efficiency=0.5,
                  top_slope=-0.07, levels_below=1, levels_beyond=2, half_width_ratio=0.15, second_detector_users=9.0,
                  response_ratio=6.27, little_ratio=1.25),
         "knee at 8 users (low confidence): at low load each user makes 2.69/s (3 levels); 2 levels with fewer users left "
         "out, where the service was slower, as during a warm-up; at the highest level goodput is 50% of linear scaling, and "
         "more users do not raise it; 1 level lies below the knee and 2 above it (interval ±15%); "
         "a second method finds the knee at 9 users; responses take 6.27 times as long as at low load; responses and think "
         "time account for 80% of the users' time (Little's law)"),
        (reported("knee", "knee", top_efficiency=0.6, top_slope=0.2, failure_ratio_more=0.12, failures_replied_ratio=1.0),
         "knee at 8 users (low confidence): at the highest level goodput is 60% of linear scaling, and an additional user "
         "adds 20% of what one adds at low load; beyond the knee 12% more requests fail than at low load; 100% of the "
         "failures have an HTTP status"),
        (reported("latency_knee", "latency_knee", latency_ms=120.0, low_load_latency_ms=66.0, ratio=1.8),
         "latency climbs from 8 users (low confidence): mean latency rises from 66 ms at low load to 120 ms"),
        (reported("shift", "goodput_rose", at_s=3_662.3, column="goodput", before=50.0, after=60.0),
         "shift: goodput rose from 50 to 60/s at 1:01:02 (8 users) and stayed there"),
        (reported("shift", "goodput_rose", at_s=3_662.3, column="goodput"), "shift: goodput changed at 8 users (low confidence)"),
        (reported("bottleneck", "cpu_steal", goodput_growth_ratio=-0.0279, latency_growth_ratio=5.13,
              users_at=8.0, levels=2),
         "bottleneck: the hypervisor takes CPU time (steal) at 8 users (low confidence): goodput growth -2.8%, latency "
         "growth 513%, measured at 8 users, levels that show it 2"),
        (reported("cause", "generator_cpu_saturated", grounds="busy, idle_target"),
         "cause: the generator's CPU is saturated at 8 users (low confidence): signs: the load thread is busy, "
         "the target is idle"),
    ],
)  # fmt: skip
def test_the_sentence_of_a_mark_has_its_readings(sentence: str, expected: str) -> None:
    assert sentence == expected
