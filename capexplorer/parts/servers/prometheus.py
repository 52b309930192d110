"""Any exporter: chosen metrics of a page in Prometheus' text format, by the parser of its own client library."""

from __future__ import annotations

import math
from collections.abc import Collection

import httpx
from prometheus_client.parser import text_string_to_metric_families

from ...model import outside
from . import TIMEOUT_S, page
from .rate import Rates


class Prometheus:
    """Its page, over one connection; counters as their growth a second."""

    def __init__(self, url: str, names: Collection[str]) -> None:
        self._url, self._names = url, names
        self._client = httpx.Client(timeout=TIMEOUT_S, trust_env=False)
        self._rates = Rates()

    def read(self) -> dict[str, float]:
        """Its figures now. Raises httpx.HTTPError; ValueError where it is not a `page` or cannot be parsed."""
        text = page(self._client, self._url)
        values, counters = sums(text, self._names)
        self._rates.tick()
        return values | {key: rate for name, count in counters.items() for key, rate in self._rates.of(name, count).items()}


def sums(text: str, names: Collection[str]) -> tuple[dict[str, float], dict[str, float]]:
    """(values, counters) of the named metrics, each summed over its labels. The format's own NaN and Inf are no values; the sum
    of numbers that are too large is NaN or infinite.
    """
    values: dict[str, float] = {}
    counters: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name not in names or (isinstance(sample.value, float) and not math.isfinite(sample.value)):
                continue
            value = outside.number(sample.value)
            kept = counters if family.type == "counter" or sample.name.endswith(("_count", "_sum")) else values
            kept[sample.name] = kept.get(sample.name, 0.0) + (math.nan if value is None else value)
    return values, counters
