"""The hint that replies change their kind with load."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kit.scenario import Scenario

from capexplorer.analysis import reply_kinds
from capexplorer.model.figures import LevelEndpoint
from capexplorer.model.findings import RepliesChanged
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.timeline import Timeline
from capexplorer.report.redaction import redacted


def endpoint(*kinds: tuple[int, float, float], failures: int = 0, name: str = "/items") -> LevelEndpoint:
    """Replies of an endpoint by (number, latency in ms, size in bytes), each with some noise of latency."""
    histogram, draw = LatencyHistogram(), np.random.default_rng(7)
    for count, latency_ms, _ in kinds:
        histogram.record_us(latency_ms * 1000 * draw.uniform(0.95, 1.05, count))
    number = sum(count for count, _, _ in kinds)
    return LevelEndpoint(
        name=name,
        method="GET",
        requests=number + failures,
        failures=failures,
        mean_bytes=sum(count * size for count, _, size in kinds) / number,
        latency_ms=Latency(min=histogram.min_ms, p50=histogram.percentile_ms(50.0)),
        latency=histogram.encode(),
    )


def session(*endpoints: LevelEndpoint, rates: bool = False) -> Timeline:
    """Levels of 1, 2, 4, ... users (or offered requests a second), each with one endpoint."""
    scenario = Scenario()
    for index, each in enumerate(endpoints):
        load: dict[str, Any] = {"offered_per_s": 2.0**index} if rates else {"users": 2**index}
        scenario.measured(endpoints=(each,), **load)
    return scenario.timeline


SERVED = (30, 100.0, 620.0)
"""Thirty replies of 620 bytes after 100 ms."""


@pytest.mark.parametrize("rates", [False, True], ids=["users", "rates"])
def test_short_and_fast_replies_that_appear_with_load_make_a_hint_of_low_severity(rates: bool) -> None:
    refusing = endpoint((100, 100.0, 620.0), (300, 2.0, 41.0))
    [mark] = reply_kinds.marks(session(endpoint(SERVED), endpoint(SERVED), refusing, rates=rates), 0)
    assert (mark.severity, mark.confidence) == ("info", None)
    assert (mark.offered_per_s if rates else mark.users) == 4
    found = mark.finding
    assert isinstance(found, RepliesChanged)
    assert (found.method, found.name) == ("GET", "/items")
    assert found.share_ratio == pytest.approx(0.75)
    assert found.size_bytes == pytest.approx(41, rel=0.01)
    assert found.size_before_bytes == 620
    assert found.latency_ms == pytest.approx(2.0, rel=0.1)
    assert found.latency_before_ms == pytest.approx(100, rel=0.05)


def test_the_hint_names_the_lowest_load_with_such_replies_and_the_greatest_share() -> None:
    few, most = endpoint((90, 100.0, 620.0), (30, 2.0, 41.0)), endpoint((20, 100.0, 620.0), (180, 2.0, 41.0))
    [mark] = reply_kinds.marks(session(endpoint(SERVED), few, most, few), 0)
    assert mark.users == 2
    assert mark.finding.figures()["share_ratio"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("why", "later"),
    [
        ("a cache returns the same replies sooner", endpoint((50, 100.0, 620.0), (300, 2.0, 620.0))),
        ("replies of another size take as long", endpoint((50, 100.0, 620.0), (300, 95.0, 41.0))),
        ("a warm service is somewhat faster", endpoint((400, 40.0, 200.0))),
        ("too few", endpoint((400, 100.0, 620.0), (15, 2.0, 41.0))),
        ("failed requests are known as such", endpoint((100, 100.0, 620.0), (300, 2.0, 41.0), failures=100)),
    ],
)
def test_other_changes_of_replies_are_no_hint(why: str, later: LevelEndpoint) -> None:
    assert list(reply_kinds.marks(session(endpoint(SERVED), later), 0)) == [], why


def test_an_endpoint_that_has_both_kinds_at_the_lowest_load_is_no_hint() -> None:
    both = endpoint((20, 100.0, 620.0), (20, 2.0, 41.0))
    assert list(reply_kinds.marks(session(both, endpoint((20, 100.0, 620.0), (400, 2.0, 41.0))), 0)) == []


def test_an_exported_hint_keeps_its_endpoint_without_the_host() -> None:
    refusing = endpoint((100, 100.0, 620.0), (300, 2.0, 41.0), name="http://db.internal/items")
    timeline = session(endpoint(SERVED, name="http://db.internal/items"), refusing)
    [mark] = redacted(reply_kinds.marks(timeline, 0))
    assert "db.internal" not in str(mark)
