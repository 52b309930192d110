"""What workers report may be anything: a lie costs the worker that told it, never the run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capexplorer.errors import InputError
from capexplorer.load.workers import messages
from capexplorer.load.workers import messages as jobs
from capexplorer.load.workers.merging import Merging
from capexplorer.load.workers.messages import (
    COUNT_MOST,
    PlainStats,
    UserErrorCount,
    WorkerHello,
    WorkerSecond,
    packed,
    reported_second,
)
from capexplorer.model import outside
from capexplorer.model.events import EndpointTick, FailureSignature, FailureTick
from capexplorer.model.histogram import LatencyHistogram

from .seconds import endpoint, second

NUMBERS = st.one_of(
    st.integers(), st.floats(), st.sampled_from([0, 1, 10, -1, 2**62, 2**80, COUNT_MOST, math.nan, math.inf, 1e300])
)
ANYTHING = st.one_of(
    NUMBERS, st.none(), st.text(), st.lists(NUMBERS, max_size=2), st.dictionaries(st.text(), NUMBERS, max_size=2)
)
HONEST: dict[str, Any] = {
    "name": "/a", "method": "GET", "num_requests": 10, "num_failures": 2, "total_content_length": 100,
    "total_response_time": 50.0, "response_times": {5: 6, 7: 4},
}  # fmt: skip
FAILURE: dict[str, Any] = {"name": "/a", "method": "GET", "error": "HTTPError('503')", "occurrences": 2}


def of(honest: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The dict with some values replaced, and perhaps one left out."""
    lies = st.dictionaries(st.sampled_from(sorted(honest)), ANYTHING, max_size=2)
    times = st.one_of(st.none(), st.dictionaries(NUMBERS, NUMBERS, max_size=3))
    return st.builds(lied, st.just(honest), lies, times, st.sampled_from(["", *honest]))


def lied(honest: dict[str, Any], lies: dict[str, Any], times: dict[Any, Any] | None, left_out: str) -> dict[str, Any]:
    found = {**honest, **lies, **({} if times is None else {"response_times": times})}
    return {name: value for name, value in found.items() if name != left_out}


REPORTS = st.fixed_dictionaries(
    {
        "stats": st.one_of(ANYTHING, st.lists(of(HONEST), max_size=3)),
        "errors": st.one_of(ANYTHING, st.dictionaries(st.text(), of(FAILURE), max_size=2)),
        "user_count": NUMBERS,
        "user_classes_count": st.one_of(ANYTHING, st.dictionaries(st.text(), NUMBERS, max_size=2)),
    }
)


@given(st.one_of(ANYTHING, REPORTS))
def test_whatever_a_plain_worker_reports_it_is_refused_or_has_numbers_that_can_be_recorded(report: object) -> None:
    stats = PlainStats()
    try:
        stats.seconds(report, 0.5, 100.0)
        seconds = stats.seconds(report, 0.5, 103.0)
    except ValueError:
        return
    tick = Merging().merge(seconds, 103.0)
    for found in (*tick.endpoints, *tick.failures):
        assert outside.struct(found) == (found, ())
        msgspec.json.encode(found)
    assert all(each.requests >= each.failures >= 0 for each in tick.endpoints)
    assert 0.0 <= tick.all_latency_sum_ms < math.inf


@pytest.mark.parametrize(
    "lie",
    [
        {"num_requests": 2**62, "response_times": {10: 2**62}},
        {"num_requests": -10, "response_times": {10: -10}},
        {"total_response_time": math.inf},
        {"total_response_time": math.nan},
        {"response_times": {math.inf: 10}},
        {"response_times": {-10: 10}},
        {"response_times": {1e300: 10}},
        {"num_requests": 10.5},
        {"num_requests": True},
    ],
)
def test_a_report_with_such_a_number_is_refused(lie: dict[str, Any]) -> None:
    report = {"stats": [{**HONEST, **lie}], "errors": {}, "user_count": 1, "user_classes_count": {"U": 1}}
    with pytest.raises(ValueError, match=r"^Expected"):
        PlainStats().seconds(report, 0.5, 100.0)


def test_response_times_are_added_with_their_counts_and_not_one_by_one() -> None:
    report = {**HONEST, "num_requests": COUNT_MOST, "response_times": {10: COUNT_MOST}, "num_failures": 0}
    stats = PlainStats()
    for now_s in (100.0, 103.0):
        found = stats.seconds({"stats": [report], "errors": {}, "user_count": 1, "user_classes_count": {}}, None, now_s)
    assert sum(each.all_requests for each in found) == COUNT_MOST
    whole = Merging().merge(found, 103.0).endpoints[0].latency
    assert whole is not None
    assert LatencyHistogram.decode(whole).count == COUNT_MOST


def test_a_name_that_is_a_number_is_a_name() -> None:
    stats = PlainStats()
    for now_s in (100.0, 101.0):
        found = stats.seconds(
            {"stats": [{**HONEST, "name": 5}], "errors": {}, "user_count": 1, "user_classes_count": {}}, None, now_s
        )
    assert [each.name for each in found[0].endpoints] == ["5"]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("stats", {"user_classes_count": {"U": -5}, "user_count": -5}),
        ("stats", {"user_classes_count": {"U": "x"}, "user_count": 1}),
        ("stats", {"user_count": 1}),
        ("spawning_complete", {"user_classes_count": None, "user_count": None}),
        ("heartbeat", {"state": "running", "current_cpu_usage": math.nan}),
        ("heartbeat", None),
    ],
)
def test_a_message_of_locusts_own_with_other_data_is_refused(kind: str, data: object) -> None:
    with pytest.raises(ValueError, match=r"^(Expected|Object missing)"):
        messages.check_locusts_own(kind, data)


# -- workers of capexplorer, which know the secret


ENDPOINTS = st.builds(
    EndpointTick,
    name=st.text(),
    requests=st.integers(-3, 2**62),
    failures=st.integers(-3, 2**62),
    received_bytes=st.integers(-(2**62), 2**62),
    latency=st.one_of(st.none(), st.text(), st.just(endpoint("/a", 1.0).latency)),
    latency_sum_ms=st.floats(),
    failure_latency_sum_ms=st.floats(),
    clamped=st.integers(-1, 1),
)
SIGNATURES = st.just(FailureSignature(types=("X",)))
SECONDS = st.builds(
    WorkerSecond,
    t_s=st.floats(),
    duration_s=st.floats(),
    users=st.integers(-1, 2**62),
    endpoints=st.lists(st.one_of(ENDPOINTS, st.just(endpoint("/a", 1.0))), max_size=3).map(tuple),
    failures=st.lists(st.builds(FailureTick, name=st.text(), signature=SIGNATURES, count=st.integers(-1, 2**62))).map(tuple),
    connects=st.integers(-1, 2**62),
    all_latency_sum_ms=st.floats(),
    waits=st.integers(-1, 5),
    wait_sum_s=st.floats(),
    sleep_sum_s=st.one_of(st.none(), st.floats()),
    user_errors=st.lists(st.builds(UserErrorCount, st.text(), st.text(), st.text(), st.integers(-1, 2**62))).map(tuple),
)  # fmt: skip


@given(SECONDS)
def test_whatever_a_worker_reports_it_is_refused_or_has_numbers_that_can_be_recorded(lie: WorkerSecond) -> None:
    try:
        found = reported_second(packed(lie))
    except InputError:
        return
    assert outside.struct(found)[1] == ()
    tick = Merging().merge([found], 10.0)
    for each in (*tick.endpoints, *tick.failures):
        assert outside.struct(each) == (each, ())
    assert 0.0 <= tick.all_latency_sum_ms < math.inf


@pytest.mark.parametrize("read", [reported_second, lambda junk: jobs.unpacked(junk, WorkerHello)], ids=["report", "hello"])
@pytest.mark.parametrize(
    "junk", [b"", b"\xc1", b"\x93\x01", "text", None, 5, {"t_s": 1}, b"\x81" * 5000, b"\x91" * 100_000, b"\x81\xa1x" * 100_000]
)
def test_bytes_that_are_no_message_are_refused_in_one_line(read: Callable[[object], object], junk: object) -> None:
    with pytest.raises(InputError) as refused:
        read(junk)
    assert "\n" not in str(refused.value)


def test_a_machines_name_of_a_megabyte_is_refused() -> None:
    hello = WorkerHello(versions=jobs.versions(), host="x" * (1 << 20), pid=1, cpus=1)
    with pytest.raises(InputError, match="length <= 255"):
        jobs.unpacked(jobs.packed(hello), WorkerHello)


def test_an_honest_second_passes_as_it_is() -> None:
    honest = second(10.0, endpoint("/a", 1.0, 2.0, failures=1))
    assert reported_second(packed(honest)) == honest
