"""The levels of a timeline as levels of the knee detector: which are used, and with which figures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

from capexplorer.analysis.ladder import LadderLevel, measured_of
from capexplorer.model.events import Event, LevelClosed, LevelOpened
from capexplorer.model.figures import LevelBin, LevelFigures
from capexplorer.model.intervals import Latency
from capexplorer.model.level import Level
from capexplorer.model.timeline import Timeline

FIGURES = LevelFigures(
    settled=True,
    settled_seconds=20.0,
    requests=1000,
    failures=100,
    failure_ratio=0.1,
    throughput_rps=50.0,
    goodput_rps=45.0,
    goodput_se_rps=1.5,
    latency_ms=Latency(mean=30.0, p95=80.0, p99=120.0),
    latency_se_ms=2.0,
    response_ms=28.0,
    wait_s=0.5,
    users_mean=9.8,
)


def level(
    index: int, figures: LevelFigures, *, epoch: int = 0, ramp: bool = False, bins: tuple[LevelBin, ...] = ()
) -> list[Event]:
    began = 30.0 * index
    return [
        LevelOpened(t_s=began, index=index, users=10, spawn_rate=5.0, by="user", epoch=epoch, ramp=ramp),
        LevelClosed(t_s=began + 30, index=index, users=10, started_s=began, figures=figures, bins=bins),
    ]


def rates(levels: Iterable[Level], **known: Any) -> tuple[LadderLevel, ...]:
    return tuple(each.ladder_level for each in measured_of(levels, **known))


def test_a_settled_level_has_all_figures_of_the_detector() -> None:
    (found,) = rates(Timeline(level(0, FIGURES)).levels, saturated={0: False}, work_is_metric=True)
    assert (found.users, found.goodput_rps, found.goodput_se_rps, found.throughput_rps) == (9.8, 45.0, 1.5, 50.0)
    assert (found.latency_ms, found.latency_se_ms, found.response_ms, found.p95_ms, found.p99_ms) == (
        30.0,
        2.0,
        28.0,
        80.0,
        120.0,
    )
    assert (found.requests, found.seconds, found.failure_ratio, found.wait_s) == (1000, 20.0, 0.1, 0.5)
    assert (found.generator_saturated, found.work_is_metric, found.ramp, found.arrivals_per_s) == (False, True, False, 0.0)


def test_levels_that_never_settled_or_whose_work_was_not_measured_or_of_other_epochs_are_left_out() -> None:
    events = level(0, LevelFigures(settled=False)) + level(1, LevelFigures(settled=True, settled_seconds=5.0))
    assert rates(Timeline(events + level(2, FIGURES, epoch=1)).levels) == ()
    assert len(rates(Timeline(events + level(2, FIGURES, epoch=1)).levels, epoch=1)) == 1


def test_a_table_of_rates_has_no_length_and_no_count() -> None:
    figures = LevelFigures(settled=True, counted=False, goodput_rps=5.0, throughput_rps=5.0)
    (found,) = rates(Timeline(level(0, figures)).levels)
    assert (found.seconds, found.requests, found.goodput_se_rps) == (None, None, None)
    assert found.goodput_error_rps == pytest.approx(0.1)


def test_a_ramp_becomes_one_level_per_bin_and_an_imported_ramp_includes_first_requests() -> None:
    bins = (LevelBin(users=4.0, figures=FIGURES), LevelBin(users=8.0, figures=FIGURES))
    events = level(0, LevelFigures(settled=False), ramp=True, bins=bins)
    assert [(part.users, part.ramp, part.arrivals_per_s) for part in rates(Timeline(events).levels)] == [
        (4.0, True, 0),
        (8.0, True, 0),
    ]
    assert [part.arrivals_per_s for part in rates(Timeline(events).levels, first_requests=True)] == [5.0, 5.0]


def test_the_error_of_a_short_level_is_that_of_its_count_and_of_a_few_seconds_of_a_machine() -> None:
    figures = LevelFigures(settled=True, settled_seconds=1.0, requests=25, goodput_rps=25.0, throughput_rps=25.0)
    (found,) = rates(Timeline(level(0, figures)).levels)
    assert found.goodput_error_rps == pytest.approx(math.hypot(5.0, 2.5))
