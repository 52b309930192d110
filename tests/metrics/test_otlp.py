"""OTLP over HTTP, as a receiver reads it that has the protocol's own types."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from kit.servers import Reply, http_server
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from capexplorer.metrics.following import FollowedSession
from capexplorer.metrics.otlp import HEADERS, OtlpReceiver, headers_in
from capexplorer.metrics.table import BOUNDS_S, METRICS, Latencies
from lab.kit.servers import free_port

from .whole import followed, whole

BEGAN_NS = 1_767_265_200 * 10**9
"""`started_at` of the sessions of tests."""


@pytest.fixture
def session(tmp_path: Path) -> FollowedSession:
    return followed(whole(), tmp_path)


def received(bodies: Sequence[bytes]) -> list[Metric]:
    (request,) = map(ExportMetricsServiceRequest.FromString, bodies)
    ((scope,),) = (resource.scope_metrics for resource in request.resource_metrics)
    return list(scope.metrics)


def attributes(pairs: Sequence[KeyValue]) -> dict[str, str]:
    return {each.key: each.value.string_value for each in pairs}


def sent(session: FollowedSession) -> list[Metric]:
    with http_server() as server, closing(OtlpReceiver(session, server.url)) as receiver:
        receiver.send()
    assert [(each.method, each.path) for each in server.requests] == [("POST", "/v1/metrics")]
    assert server.requests[0].headers["Content-Type"] == "application/x-protobuf"
    return received([each.body for each in server.requests])


def test_every_metric_arrives_with_its_kind_unit_and_values(session: FollowedSession) -> None:
    found = {metric.name: metric for metric in sent(session)}
    assert set(found) == {f"capexplorer_{metric.name}" for metric in METRICS}
    for metric, values in session.figures():
        exported = found[f"capexplorer_{metric.name}"]
        kind = {"gauge": "gauge", "counter": "sum", "histogram": "histogram"}[metric.kind]
        assert exported.WhichOneof("data") == kind
        assert exported.unit == {"seconds": "s", "bytes": "By", "per_second": "1/s", "": ""}[metric.unit]
        if metric.kind != "histogram":
            points = getattr(exported, kind).data_points
            read = {tuple(attributes(point.attributes)[label] for label in metric.labels): point.as_double for point in points}
            assert read == values


def test_counters_and_histograms_count_from_the_sessions_start(session: FollowedSession) -> None:
    found = {metric.name: metric for metric in sent(session)}
    requests, durations = found["capexplorer_requests"].sum, found["capexplorer_request_duration"].histogram
    assert requests.is_monotonic
    for each in (requests, durations):
        assert each.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        assert each.data_points[0].start_time_unix_nano == BEGAN_NS
        assert each.data_points[0].time_unix_nano == BEGAN_NS + round(session.read(lambda it: it.timeline.last_s) * 1e9)
    (point,) = durations.data_points
    ((latencies,),) = (values.values() for metric, values in session.figures() if metric.name == "request_duration")
    assert isinstance(latencies, Latencies)
    assert (tuple(point.bucket_counts), tuple(point.explicit_bounds)) == (latencies.counts, BOUNDS_S)
    assert (point.count, point.sum) == (sum(latencies.counts), latencies.sum_s)


def test_what_was_taken_is_not_sent_again(session: FollowedSession) -> None:
    with http_server() as server, closing(OtlpReceiver(session, f"{server.url}/v1/metrics/")) as receiver:
        receiver.send()
        receiver.send()
    assert [each.path for each in server.requests] == ["/v1/metrics"]


def test_what_was_not_taken_is_sent_again(session: FollowedSession) -> None:
    replies = iter((Reply(503), Reply()))
    with http_server(lambda request: next(replies)) as server, closing(OtlpReceiver(session, server.url)) as receiver:
        with pytest.raises(OSError, match="HTTP 503 Service Unavailable"):
            receiver.send()
        receiver.send()
    assert len(server.requests) == 2


def test_a_receiver_that_is_not_there_is_an_error(session: FollowedSession) -> None:
    with closing(OtlpReceiver(session, f"http://127.0.0.1:{free_port()}")) as receiver, pytest.raises(OSError, match="refused"):
        receiver.send()


def test_a_receiver_of_this_machine_is_reached_without_a_proxy(session: FollowedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert sent(session)


def test_another_machine_is_reached_by_the_proxy_of_the_environment(
    session: FollowedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    with http_server() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with closing(OtlpReceiver(session, "http://collector.invalid:4318")) as receiver:
            receiver.send()
    assert [each.path for each in proxy.requests] == ["http://collector.invalid:4318/v1/metrics"]


def test_a_receivers_headers_are_those_of_the_environment(session: FollowedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEADERS, "Authorization=Bearer%20abc, X-Scope=7")
    with http_server() as server, closing(OtlpReceiver(session, server.url)) as receiver:
        receiver.send()
    assert server.requests[0].headers["Authorization"] == "Bearer abc"
    assert server.requests[0].headers["X-Scope"] == "7"
    assert headers_in("") == {}
