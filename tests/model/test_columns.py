"""The columns of a tick: each has a name, which occurs once."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from capexplorer.model.columns import FOLDED, NAMES, READINGS, append, empty, extend, row, rows
from capexplorer.model.events import EndpointTick, Sample
from capexplorer.model.load import OfferedTick
from capexplorer.model.readings import GeneratorReading, TargetReading

TICK = Sample(t_s=1.0, duration_s=1.0, level=0, users=3, wanted=3, phase="settled", settled=True)


def test_a_tick_has_every_column_and_no_other() -> None:
    assert sorted(row(TICK)) == sorted(NAMES)


def test_what_folds_into_a_mean_or_a_greatest_value_is_a_figure_of_a_level() -> None:
    assert {name for name, how in FOLDED.items() if how != "sum"} == set(READINGS)


def test_several_ticks_at_once_give_the_same_columns_as_one_by_one() -> None:
    endpoints = (EndpointTick(name="/a", requests=4, failures=1, latency_sum_ms=0.1, warmup_requests=2, warmup_failures=1),) * 3
    ticks = (
        TICK,
        replace(TICK, t_s=2.0, endpoints=endpoints, settled=False, generator=GeneratorReading(cpu_ratio=0.25)),
        replace(TICK, t_s=2.5, targets=(TargetReading(pid=1, fds=5, cpu_ratio=0.5), TargetReading(pid=2, fds=7))),
        replace(TICK, t_s=3.0, duration_s=0.0, work=2.0, offered=OfferedTick(offered_per_s=9.0, planned=9, finished=8)),
    )
    together, alone = (empty() for _ in range(2))
    extend(together, rows(ticks))
    for tick in ticks:
        extend(alone, rows((tick,)))
    assert {name: list(values) for name, values in together.items()} == {
        name: pytest.approx(list(values), nan_ok=True, rel=0, abs=0) for name, values in alone.items()
    }
    assert list(together["requests"]) == [0.0, 12.0, 0.0, 0.0]
    assert list(together["throughput_rps"])[:2] == [0.0, 18.0]
    assert together["target_fds"][2] == 12.0
    assert math.isnan(together["target_cpu_ratio"][2])  # one of two targets was not measured


def test_columns_are_one_array_as_long_as_they_are_equal_to_the_bit() -> None:
    rows_of = {
        "a": (0.0, 1.0, 2.0),
        "b": (0.0, 1.0, 3.0),
        "c": (0.0, -0.0, 0.0),
        "d": (None, None, 5.0),
        "e": (None, math.nan, 5.0),
    }
    columns, arrays = empty(rows_of), []
    for tick in range(3):
        append(columns, {name: values[tick] for name, values in rows_of.items()})
        arrays.append(len({id(column) for column in columns.values()}))
    assert arrays == [2, 3, 4]
    assert {name: repr(list(column)) for name, column in columns.items()} == {
        "a": "[0.0, 1.0, 2.0]",
        "b": "[0.0, 1.0, 3.0]",
        "c": "[0.0, -0.0, 0.0]",
        "d": "[nan, nan, 5.0]",
        "e": "[nan, nan, 5.0]",
    }


def test_no_column_occurs_twice() -> None:
    assert len(set(NAMES)) == len(NAMES)
