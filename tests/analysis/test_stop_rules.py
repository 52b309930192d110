"""Which limits a level exceeds by more than its error: levels and readings in, triggered rules out."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.analysis.ladder import LadderLevel
from capexplorer.analysis.stop_rules import TriggeredRule, triggered_rules


def level(users: float, goodput: float, **more: Any) -> LadderLevel:
    known: dict[str, Any] = {
        "goodput_se_rps": 0.01 * goodput, "requests": 1000, "failure_ratio": 0.0, "p95_ms": 50.0, "p99_ms": 80.0,
        "latency_ms": 20.0, "latency_se_ms": 0.2, "seconds": 20.0,
    }  # fmt: skip
    return LadderLevel(users=users, goodput_rps=goodput, **{**known, **more})


CALM = [level(10, 10.0), level(20, 20.0)]


@pytest.mark.parametrize(
    ("why", "limits", "levels", "readings", "expected"),
    [
        ("no rules", {}, CALM, {}, []),
        ("all below their limits", {"p95_ms": 100.0, "p99_ms": 100.0, "failure_ratio": 0.02}, CALM, {}, []),
        ("p95 above its limit", {"p95_ms": 100.0}, [level(10, 10, p95_ms=120.0)], {}, [("p95_ms", 120.0)]),
        ("p95 above its limit, of ten values", {"p95_ms": 100.0}, [level(10, 10, p95_ms=120.0, requests=10)], {}, []),
        ("p99 above its limit", {"p99_ms": 100.0}, [level(10, 10, p99_ms=120.0)], {}, [("p99_ms", 120.0)]),
        ("p99 above its limit, of eighty values", {"p99_ms": 100.0}, [level(10, 10, p99_ms=120.0, requests=80)], {}, []),
        ("nothing succeeded, so no p95", {"p95_ms": 100.0}, [level(10, 0, p95_ms=None, failure_ratio=1.0)], {}, []),
        ("failures above their limit", {"failure_ratio": 0.02}, [level(10, 10, failure_ratio=0.05)], {},
         [("failure_ratio", 0.05)]),
        ("one failure of thirty", {"failure_ratio": 0.02}, [level(10, 10, failure_ratio=1 / 30, requests=30)], {}, []),
        ("everything fails", {"failure_ratio": 0.02}, [level(10, 0, failure_ratio=1.0, requests=40)], {},
         [("failure_ratio", 1.0)]),
        ("an earlier level failed", {"failure_ratio": 0.02}, [level(5, 5, failure_ratio=0.5), level(10, 10)], {}, []),
        ("load average above its limit", {"load_average": 3.0}, CALM, {"load_average": [3.1, 3.2, 3.3]}, [("load_average", 3.2)]),
        ("load average above its limit in one second", {"load_average": 3.0}, CALM, {"load_average": [1.0, 1.0, 4.0]}, []),
        ("load average not measured", {"load_average": 3.0}, CALM, {"load_average": []}, []),
        ("a metric above its limit", {"metric:queued": 10.0}, CALM, {"metric:queued": [11.0, 13.0]}, [("metric:queued", 12.0)]),
        ("a metric that the target does not report", {"metric:queued": 10.0}, CALM, {"metric:other": [99.0]}, []),
        ("a metric that is no number", {"metric:queued": 10.0}, CALM, {"metric:queued": [float("nan")]}, []),
        ("throughput grows with users", {"throughput_growth_ratio": 0.3}, CALM, {}, []),
        ("throughput stays flat", {"throughput_growth_ratio": 0.3}, [*CALM, level(40, 21.0)], {},
         [("throughput_growth_ratio", 0.05)]),
        ("throughput falls", {"throughput_growth_ratio": 0.0}, [*CALM, level(40, 10.0)], {}, [("throughput_growth_ratio", -0.5)]),
        ("too few more users to measure growth", {"throughput_growth_ratio": 0.3}, [*CALM, level(20.5, 20.0)], {}, []),
        ("too much noise to measure growth", {"throughput_growth_ratio": 0.3}, [*CALM, level(25, 20.5, goodput_se_rps=2.0)], {},
         []),
        ("a first level", {"throughput_growth_ratio": 0.3, "latency_growth_ratio": 0.5}, CALM[:1], {}, []),
        ("latency doubles", {"latency_growth_ratio": 0.5}, [*CALM, level(40, 40, latency_ms=40.0)], {},
         [("latency_growth_ratio", 1.0)]),
        ("latency rises by less than its limit", {"latency_growth_ratio": 0.5}, [*CALM, level(40, 40, latency_ms=29.0)], {}, []),
        ("latency above its limit by less than its error", {"latency_growth_ratio": 0.5},
         [*CALM, level(40, 40, latency_ms=31.0, latency_se_ms=3.0)], {}, []),
        ("latency not known", {"latency_growth_ratio": 0.5}, [*CALM, level(40, 40, latency_ms=None)], {}, []),
        ("two rules at once", {"p95_ms": 10.0, "load_average": 1.0}, CALM, {"load_average": [2.0]},
         [("p95_ms", 50.0), ("load_average", 2.0)]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_rule_is_triggered_when_the_last_level_exceeds_its_limit_by_more_than_its_error(
    why: str,
    limits: dict[str, float],
    levels: list[LadderLevel],
    readings: dict[str, list[float]],
    expected: list[tuple[str, float]],
) -> None:
    found = triggered_rules(limits, levels, readings)
    assert [each.rule for each in found] == [rule for rule, _ in expected]
    assert [each.measured for each in found] == pytest.approx([measured for _, measured in expected])
    assert found == tuple(TriggeredRule(each.rule, limits[each.rule], each.measured) for each in found)
