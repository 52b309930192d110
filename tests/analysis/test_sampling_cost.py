"""What the sampling of stacks costs, beside the levels before and after it at the same load."""

from __future__ import annotations

from typing import Any

import pytest
from kit.scenario import Scenario
from kit.stacks import stacks

from capexplorer.analysis.sampling_cost import sampling_cost, sampling_costs
from capexplorer.model.events import StacksSampled
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline

SAMPLED = (stacks({"run app.py:1": 1.0}),)


def sampled(before: dict[str, Any] | None, during: dict[str, Any], after: dict[str, Any] | None, users: int = 20) -> Timeline:
    """A level with sampled stacks between two others; None: there is none."""
    scenario = Scenario().ready().level(1, rps=5, p99_ms=10.0)
    if before is not None:
        scenario.level(**{"users": users, **before})
    scenario.level(users, stacks=True, is_closed=False, **during)
    scenario.add(StacksSampled(t_s=scenario.t_s, level=scenario.timeline.levels[-1].opened.index, sampled=SAMPLED)).close()
    if after is not None:
        scenario.level(**{"users": users, **after})
    return scenario.timeline


def test_the_cost_is_the_change_of_rate_and_p99_from_the_levels_beside_it() -> None:
    (found,) = sampling_costs(sampled({"rps": 104, "p99_ms": 100.0}, {"rps": 95, "p99_ms": 110.0}, {"rps": 96, "p99_ms": 100.0}))
    assert found.load == Users(20)
    assert (found.per_s, round(found.beside_per_s, 6)) == (95.0, 100.0)
    assert found.change_ratio == pytest.approx(-0.05)
    assert found.p99_ms == pytest.approx(110.0, rel=0.01)
    assert found.beside_p99_ms == pytest.approx(100.0, rel=0.01)
    assert found.change_se_ratio == pytest.approx(0.0, abs=1e-6), "each second is like the other"


def test_an_error_of_the_change_is_that_of_both_levels() -> None:
    varied: dict[str, Any] = {"seconds": [{"rps": rps} for rps in (90, 90, 110, 110) * 3]}
    steady = {"seconds": 12, "rps": 100}
    one, other, both = (
        sampling_costs(sampled(before, during, None))[0].change_se_ratio
        for before, during in ((varied, steady), (steady, varied), (varied, varied))
    )
    assert one == pytest.approx(other)
    assert 0.005 < one < 0.05
    assert both == pytest.approx(one * 2**0.5)


@pytest.mark.parametrize("beside", [None, {"rps": 100, "users": 19}, {"rps": 100, "epoch": 1}, {"rps": 100, "workers": 2}])
def test_a_level_of_another_load_or_service_is_no_neighbour(beside: dict[str, Any] | None) -> None:
    assert sampling_costs(sampled(None, {"rps": 90}, beside)) == ()


def test_without_stacks_there_is_no_cost() -> None:
    timeline = sampled({"rps": 100}, {"rps": 100}, None)
    assert sampling_cost(timeline, StacksSampled(t_s=1.0, level=2, failed=("py-spy is not installed",))) is None


def test_with_too_few_seconds_for_an_error_the_cost_cannot_be_told() -> None:
    assert sampling_costs(sampled({"rps": 100}, {"rps": 60, "seconds": 4}, {"rps": 100})) == ()
    assert sampling_costs(sampled({"rps": 100, "seconds": 4}, {"rps": 60}, None)) == ()
