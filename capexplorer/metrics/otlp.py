"""The table of metrics for a receiver of OTLP over HTTP, such as an OpenTelemetry collector: all of it, cumulative, whenever
something is new. Headers that a receiver asks for stand in OTEL_EXPORTER_OTLP_HEADERS, as for any exporter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..addresses import without_userinfo
from .following import FollowedSession, Moment
from .posting import Client
from .table import BOUNDS_S, PREFIX, Labels, Latencies, Metric, Value

if TYPE_CHECKING:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue
    from opentelemetry.proto.metrics.v1.metrics_pb2 import HistogramDataPoint, NumberDataPoint

PATH = "/v1/metrics"
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""`NAME=VALUE,NAME=VALUE`, percent-encoded."""

_UNITS = {"seconds": "s", "bytes": "By", "per_second": "1/s", "": ""}
"""Of UCUM. Prometheus makes the names of the table of these, and adds `_total` to counters itself."""


class OtlpReceiver:
    """At the URL of its root, or of its metrics."""

    every_s = 5.0

    def __init__(self, session: FollowedSession, url: str) -> None:
        self.name, self._session, self._sent = f"--otlp {without_userinfo(url)}", session, 0
        self._url = url.rstrip("/").removesuffix(PATH) + PATH
        self._client = Client(url, {"Content-Type": "application/x-protobuf", **headers_in(os.environ.get(HEADERS, ""))})

    def send(self) -> None:
        """Send the table, unless nothing is new. Raises OSError: it did not take it."""
        moment = self._session.moment()
        if moment.applied != self._sent:
            self._client.call("POST", self._url, request_of(moment).SerializeToString())
            self._sent = moment.applied

    def close(self) -> None:
        """Close its connection."""
        self._client.close()


def headers_in(text: str) -> Mapping[str, str]:
    """The headers of such a variable."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {unquote(name.strip()): unquote(value.strip()) for name, _, value in pairs}


def request_of(moment: Moment) -> ExportMetricsServiceRequest:
    """The table as the protocol has it."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

    request, cumulative = ExportMetricsServiceRequest(), AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    resource = request.resource_metrics.add()
    resource.resource.attributes.extend(
        _attributes({"service.name": "capexplorer", "service.instance.id": moment.session}.items())
    )
    scope = resource.scope_metrics.add()
    scope.scope.name = "capexplorer"
    for metric, values in moment.figures:
        if not values:
            continue
        exported = scope.metrics.add(name=f"{PREFIX}{metric.name}", description=metric.meaning, unit=_UNITS[metric.unit])
        match metric.kind:
            case "histogram":
                exported.histogram.aggregation_temporality = cumulative
            case "counter":
                exported.sum.aggregation_temporality, exported.sum.is_monotonic = cumulative, True
        points = {"histogram": exported.histogram, "counter": exported.sum, "gauge": exported.gauge}[metric.kind].data_points
        for labels, value in values.items():
            _fill(points.add(), metric, labels, value, moment)
    return request


def _fill(point: NumberDataPoint | HistogramDataPoint, metric: Metric, labels: Labels, value: Value, moment: Moment) -> None:
    point.start_time_unix_nano, point.time_unix_nano = round(moment.began_s * 1e9), round(moment.now_s * 1e9)
    point.attributes.extend(_attributes(zip(metric.labels, labels, strict=True)))
    if isinstance(value, Latencies):
        point.count, point.sum = sum(value.counts), value.sum_s
        point.bucket_counts.extend(value.counts)
        point.explicit_bounds.extend(BOUNDS_S)
    else:
        point.as_double = value


def _attributes(pairs: Iterable[tuple[str, str]]) -> Iterable[KeyValue]:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in pairs]
