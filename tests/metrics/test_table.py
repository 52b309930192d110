"""The table of metrics: what it reads of a session, and bounds of what it exports."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit.scenario import Scenario, header, second
from msgspec.structs import replace

from capexplorer.metrics.table import BOUNDS_S, METRICS, OTHER, REASONS_MOST, Latencies, Totals, Values
from capexplorer.model.columns import ENDPOINTS_MOST
from capexplorer.model.events import EndpointTick, Event, FailureSignature, Mark, Verdict
from capexplorer.model.findings import Cause
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict

from .whole import many_names, whole


def totals(events: Sequence[Event]) -> Totals:
    found = Totals()
    for event in events:
        found.apply(event)
    return found


def values(events: Sequence[Event], name: str) -> Values:
    (metric,) = (metric for metric in METRICS if metric.name == name)
    return metric.read(totals(events))


def latencies(*values_us: int) -> Latencies:
    """Those of one second with requests that took so long."""
    histogram = LatencyHistogram()
    histogram.record_us(values_us)
    tick = EndpointTick(name="/", requests=len(values_us), latency=histogram.encode(), latency_sum_ms=sum(values_us) / 1000)
    found = values(Scenario().open(users=1).add(second(2.0, endpoints=(tick,))).events, "request_duration")["GET", "/"]
    assert isinstance(found, Latencies)
    return found


def test_every_metric_has_a_value_in_a_session_that_measured_everything() -> None:
    found = totals(whole().events)
    assert [metric.name for metric in METRICS if not metric.read(found)] == []


def test_a_session_that_has_only_begun_has_no_figure_that_was_not_measured() -> None:
    found = totals([header()])
    named = {metric.name for metric in METRICS if metric.read(found)}
    assert named == {"session_info", "session", "session_ended"}


def test_labels_are_as_many_as_their_values() -> None:
    found = totals(whole().events)
    for metric in METRICS:
        assert {len(labels) for labels in metric.read(found)} == {len(metric.labels)}, metric.name


def test_figures_are_those_of_the_session() -> None:
    events = whole().events
    read = {name: values(events, name) for name in ("users", "offered", "goodput", "disturbed", "knee_users", "knee_users_low")}
    assert read == {
        "users": {(): 0.0}, "offered": {(): 80.0}, "goodput": {(): 80.0}, "disturbed": {(): 1.0}, "knee_users": {(): 8.0},
        "knee_users_low": {(): 7.0},
    }  # fmt: skip
    assert values(events, "capacity_high") == {(): 104.0}
    assert values(events, "generator_lag_p99") == {(): 0.003}
    assert values(events, "confidence") == {
        ("knee", "high"): 0.0, ("knee", "medium"): 1.0, ("knee", "low"): 0.0,
        ("capacity", "high"): 1.0, ("capacity", "medium"): 0.0, ("capacity", "low"): 0.0,
    }  # fmt: skip
    assert values(events, "iterations") == {("finished",): 280, ("failed",): 20, ("dropped",): 20}
    assert values(events, "marks") == {("cause", "connection_refused"): 1}
    assert values(events, "requirement") == {
        ("capacity >= 90/s", "met"): 1.0, ("capacity >= 90/s", "not_met"): 0.0, ("capacity >= 90/s", "undecided"): 0.0,
    }  # fmt: skip


def test_requests_grow_over_the_whole_session_with_warm_up_and_failures() -> None:
    events = whole().events
    assert values(events, "requests") == {("GET", "/"): 14 * 90 + 12 * 120 + 4 * 80}
    assert values(events, "request_failures") == {("GET", "/", "ECONNREFUSED"): 36}


@pytest.mark.parametrize(("value_us", "bound_s"), [(100, 0.0001), (101, 0.00015), (1000, 0.001), (1001, 0.0015), (2000, 0.002)])
def test_a_latency_counts_in_the_bucket_whose_bound_it_does_not_exceed(value_us: int, bound_s: float) -> None:
    found = latencies(value_us)
    assert found.counts[BOUNDS_S.index(bound_s)] == 1
    assert (sum(found.counts), found.sum_s) == (1, value_us / 1e6)


def test_a_latency_above_all_bounds_counts_in_the_last_bucket() -> None:
    assert latencies(50, 80_000_000).counts == (1, *[0] * (len(BOUNDS_S) - 1), 1)


def test_buckets_have_every_success_of_the_session() -> None:
    found = values(whole().events, "request_duration")["GET", "/"]
    assert isinstance(found, Latencies)
    assert sum(found.counts) == 14 * 90 + 12 * 117 + 4 * 80


def test_the_number_of_series_is_bounded_and_no_count_is_lost() -> None:
    events = many_names(300).events
    requests, failures = values(events, "requests"), values(events, "request_failures")
    assert len(requests) == ENDPOINTS_MOST + 1
    assert requests[OTHER, OTHER] == 2 * (300 - ENDPOINTS_MOST)
    assert sum(count for count in failures.values() if not isinstance(count, Latencies)) == 300
    assert len({reason for *_, reason in failures}) == REASONS_MOST + 1


def test_a_mark_counts_once_however_often_it_is_revised() -> None:
    mark = Mark(t_s=1.0, key="cause:x", state="open", finding=Cause(name="timeout"))
    revised = [replace(mark, revision=2, state="updated"), replace(mark, revision=3, state="retracted")]
    other = replace(mark, revision=4, state="open", finding=Cause(name="reset"))
    assert values([header(), mark, *revised, other], "marks") == {("cause", "timeout"): 1, ("cause", "reset"): 1}


def test_a_knee_that_is_only_bounded_has_no_value() -> None:
    bound = Verdict(t_s=9.0, capacity=CapacityVerdict(knee=KneeVerdict(kind="at_or_below", users=4.0, users_high=4.0)))
    events = Scenario().level(users=4).add(bound).events
    assert (values(events, "knee_users"), values(events, "knee_users_high")) == ({}, {(): 4.0})
    assert values(events, "knee_verified") == {}


@pytest.mark.parametrize(
    ("signature", "reason"),
    [
        (FailureSignature(types=("HTTPError",), status=503, text="503"), "503"),
        (FailureSignature(types=("ConnectionError", "OSError"), errno=104), "ECONNRESET"),
        (FailureSignature(types=("RequestException", "ReadTimeout")), "ReadTimeout"),
    ],
)
def test_the_reason_of_a_failure_has_no_text_of_the_service(signature: FailureSignature, reason: str) -> None:
    events = Scenario().level(users=1, failed=1, signature=signature, seconds=1).events
    assert set(values(events, "request_failures")) == {("GET", "/", reason)}


def test_stages_of_streams_and_their_tokens_grow_by_endpoint() -> None:
    session = Scenario().level(users=4, rps=40, p99_ms=90.0, seconds=3, tokens=800, stages={"ttft": 60.0, "itl": 5.0})
    found = values(session.events, "request_stage_duration")
    assert {*found} == {("ttft", "GET", "/"), ("itl", "GET", "/")}
    ttft = found["ttft", "GET", "/"]
    assert isinstance(ttft, Latencies)
    assert sum(ttft.counts) == 120
    assert ttft.sum_s == pytest.approx(120 * 0.045)
    assert values(session.events, "tokens") == {("GET", "/"): 2_400.0}
    assert values(Scenario().level(users=4, p99_ms=9.0).events, "tokens") == {}
