"""The table of metrics for Prometheus: its text, or OpenMetrics where the scraper asks for that, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING

from ..errors import InputError
from .table import BOUNDS_S, PREFIX, Latencies, Metric, Values

if TYPE_CHECKING:
    from prometheus_client import Metric as Family

Figures = Callable[[], list[tuple[Metric, Values]]]
"""Reads the table as of now; called in any thread."""


class Exposition:
    """A collector: what `prometheus_client` calls for each scrape."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Family]:
        """One family for each metric that has a value."""
        for metric, values in self._figures():
            if values:
                yield _family(metric, values)


def _family(metric: Metric, values: Values) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    name = f"{PREFIX}{metric.name}"
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(name, metric.meaning, labels=metric.labels, unit=metric.unit)
        for labels, value in values.items():
            assert isinstance(value, Latencies)
            histogram.add_metric(labels, _buckets(value), value.sum_s)
        return histogram
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(name, metric.meaning, labels=metric.labels, unit=metric.unit)
    for labels, value in values.items():
        assert not isinstance(value, Latencies)
        family.add_metric(labels, value)
    return family


def _buckets(latencies: Latencies) -> list[tuple[str, float]]:
    """(upper bound, values up to it) of each bucket."""
    bounds = (*map(repr, BOUNDS_S), "+Inf")
    return [*zip(bounds, map(float, accumulate(latencies.counts)), strict=True)]


@contextmanager
def served(figures: Figures, address: str, port: int) -> Iterator[None]:
    """Answer scrapes, in threads of their own. Raises InputError: the port cannot be had."""
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(Exposition(figures))
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise InputError(f"{address}:{port}: cannot listen there: {error.strerror or error}") from None
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
