"""Levels during which the generator failed are left out of the curve: their goodput is not a capacity of the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pytest
from marked import marked

from capexplorer.analysis.epoch.epoch import epoch_of
from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import KneeVerdict

from ..loads import Load, closed_session

WAIT_S = 0.3
UP = [Load(users, users / 0.4, 100.0, WAIT_S) for users in (5, 10, 20, 40)]
BROKEN = Load(80, 45.0, 60.0, WAIT_S, failure_ratio=0.8)
"""Ports run out: most requests fail at once, and goodput falls."""

BACK = UP[-1]
"""A return after which all is served as before, which shows that load is the cause."""


def cause(timeline: Timeline, level: int, name: str, state: Literal["open", "closed"] = "open") -> Mark:
    began, ended = timeline.levels[level].started_s, timeline.levels[level].ended_s or timeline.last_s
    evidence = {"first_s": began + 5.0, "last_s": ended - 1.0, "count": 900}
    return marked(
        t_s=ended - 1.0, key=f"cause:{name}:epoch0", state=state, kind="cause", id=name, severity="critical", evidence=evidence
    )


def knee(timeline: Timeline, marks: Sequence[Mark] = ()) -> KneeVerdict | None:
    for mark in marks:
        timeline.apply(mark)
    verdict = epoch_of(timeline, 0).verdict
    assert verdict is not None
    return verdict.capacity.knee


@pytest.mark.parametrize(
    "name", ["ephemeral_port_exhaustion_time_wait", "fd_exhaustion_generator", "dns_failure", "conntrack_table_full"]
)
def test_a_level_with_a_failed_generator_gives_no_knee(name: str) -> None:
    timeline = closed_session(*UP, BROKEN)
    found = knee(timeline, [cause(timeline, 4, name)])
    assert found is not None
    assert (found.kind, found.users) == ("no_knee", 40)


@pytest.mark.parametrize("name", ["fd_exhaustion_target", "load_shedding", "target_crashed", "generator_cpu_saturated"])
def test_the_services_own_failures_stay_in_its_curve(name: str) -> None:
    timeline = closed_session(*UP, BROKEN, BACK)
    found = knee(timeline, [cause(timeline, 4, name)])
    assert found is not None
    assert found.kind != "no_knee"


def test_a_level_without_failures_is_in_the_curve_even_if_a_mark_is_open() -> None:
    timeline = closed_session(*UP, Load(80, 102.0, 480.0, WAIT_S), Load(120, 103.0, 860.0, WAIT_S))
    found = knee(timeline, [cause(timeline, 4, "dns_failure")])
    assert found is not None
    assert found.kind == "knee"
    assert found.users == pytest.approx(41, rel=0.1)


def test_levels_after_the_generator_recovered_are_in_the_curve() -> None:
    timeline = closed_session(*UP, BROKEN, Load(80, 102.0, 480.0, WAIT_S), Load(120, 103.0, 860.0, WAIT_S))
    name = "ephemeral_port_exhaustion_time_wait"
    found = knee(timeline, [cause(timeline, 4, name), cause(timeline, 4, name, "closed")])
    assert found is not None
    assert found.kind == "knee"
    assert found.capacity_rps == pytest.approx(102, rel=0.05)
