"""The columns of a tick, each of which has a name that occurs once; and those of each endpoint, for every second."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from capexplorer.model.columns import ENDPOINTS_MOST, FOLDED, NAMES, READINGS, EndpointColumns, append, empty, extend, row, rows
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


def second(*names: str) -> Sample:
    endpoints = tuple(EndpointTick(name=name, requests=4, failures=2, latency_sum_ms=10.0) for name in names)
    return Sample(t_s=1.0, duration_s=2.0, level=0, users=1, wanted=1, phase="settled", endpoints=endpoints)


def columns(*seconds: Sample) -> EndpointColumns:
    found = EndpointColumns()
    for each in seconds:
        found.add(each)
    return found


def test_seconds_before_the_first_request_of_an_endpoint_are_unknown_and_idle_seconds_have_a_rate_of_0() -> None:
    found = columns(second("/a"), second("/a", "/b"), second("/a"), second("/b"), second("/a")).of(("GET", "/b"))
    assert found is not None
    assert list(found["throughput_rps"]) == pytest.approx([math.nan, 2.0, 0.0, 2.0, 0.0], nan_ok=True)
    assert list(found["failures_rps"]) == pytest.approx([math.nan, 1.0, 0.0, 1.0, 0.0], nan_ok=True)
    assert list(found["mean_ms"]) == pytest.approx([math.nan, 5.0, math.nan, 5.0, math.nan], nan_ok=True)


def test_an_endpoint_without_requests_and_endpoints_beyond_the_maximum_have_no_columns() -> None:
    found = columns(second(*(f"/{number}" for number in range(ENDPOINTS_MOST + 1))))
    assert found.of(("GET", "/nothing")) is None
    assert found.of(("GET", f"/{ENDPOINTS_MOST - 1}")) is not None
    assert found.of(("GET", f"/{ENDPOINTS_MOST}")) is None
