"""Stages of requests whose replies are streams: in columns of seconds, figures of levels, counts of heatmaps."""

from __future__ import annotations

import math

import pytest
from kit.scenario import Scenario, evenly, second
from msgspec.structs import replace

from capexplorer.model.columns import OF_STREAMS, empty, extend, percentile_column, row, rows
from capexplorer.model.events import Sample
from capexplorer.model.figures import LevelFigures, latency_of_kind
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.intervals import Latency
from capexplorer.model.stages import LATENCY_KINDS, STAGES, StageFigures
from capexplorer.model.timeline import KeptLatencies, ReadLatencies, Timeline

STREAM = {"ttft": 200.0, "tpot": 20.0}
ONE = second(1.0, rps=40, p99_ms=2_000.0, tokens=4_000, stages={"ttft": 200.0, "tpot": 20.0})
OTHER = second(2.0, rps=10, p99_ms=4_000.0, tokens=500, stages={"ttft": 900.0, "tpot": 10.0, "itl": 50.0}, name="/b")
PLAIN = second(3.0, rps=10, p99_ms=50.0)


def both(first_ms: float, second_ms: float) -> LatencyHistogram:
    whole = evenly(40, first_ms)[0]
    whole.add(evenly(10, second_ms)[0])
    return whole


def test_a_second_has_percentiles_of_each_stage_over_all_endpoints_and_tokens() -> None:
    whole = replace(ONE, endpoints=ONE.endpoints + OTHER.endpoints)
    found = row(whole)
    assert found["tokens_per_s"] == 4_500.0
    for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert found[percentile_column("ttft", name)] == pytest.approx(both(200.0, 900.0).percentile_ms(q), rel=1e-3)
    assert found["itl_p95_ms"] == pytest.approx(evenly(10, 50.0)[0].percentile_ms(0.95), rel=1e-3)
    assert found["ttfb_p95_ms"] is None


def test_a_second_without_streams_has_none_of_it_alone_or_among_others() -> None:
    assert {name for name in OF_STREAMS if row(PLAIN)[name] is not None} == set()
    together, alone = empty(), empty()
    extend(together, rows((ONE, PLAIN, OTHER)))
    for each in (ONE, PLAIN, OTHER):
        extend(alone, rows((each,)))
    assert {name: together[name].tobytes() for name in together} == {name: alone[name].tobytes() for name in alone}
    assert math.isnan(together["ttft_p95_ms"][1])


def test_a_level_has_stages_of_its_settled_seconds_in_total_and_by_endpoint() -> None:
    seconds = [{"rps": 40, "stages": STREAM}, {"rps": 10, "stages": {"ttft": 900.0, "tpot": 10.0}, "name": "/b"}]
    session = Scenario().open(users=4).seconds(1, stages={"ttft": 9_000.0}, settled=False, p99_ms=9.0)
    level = session.seconds(seconds, p99_ms=3_000.0, tokens=250).timeline.levels[-1]
    assert level.figures.tokens_per_s == 250.0
    assert [*level.figures.stages] == ["ttft", "tpot"]
    whole = both(200.0, 900.0)
    shown = latency_of_kind(level.figures, "ttft")
    assert (shown.p95, shown.max) == pytest.approx((whole.percentile_ms(0.95), 900.0), rel=1e-3)
    assert shown.mean == pytest.approx((40 * 150.0 + 10 * 675.0) / 50)
    assert latency_of_kind(level.figures, "itl") == Latency()
    assert [latency_of_kind(each, "ttft").max for each in level.endpoints] == pytest.approx([200.0, 900.0], rel=1e-3)
    assert [each.tokens for each in level.endpoints] == [250, 250]
    assert level.histogram_of("ttft").count == level.histogram.count == 50


def test_a_closed_level_has_the_histograms_of_stages_as_it_had_while_open() -> None:
    session = Scenario().level(users=4, rps=40, p99_ms=2_000.0, stages=STREAM, is_closed=False)
    level = session.timeline.levels[-1]
    figures, histograms = level.figures.stages, {stage: level.histogram_of(stage) for stage in STAGES}
    session.close()
    assert level.figures.stages == figures
    assert {stage: level.histogram_of(stage) for stage in STAGES} == histograms
    assert histograms["itl"].count == 0


def test_stages_of_seconds_after_a_shift_are_not_of_the_level_before() -> None:
    session = Scenario().open(users=4).seconds(8, p99_ms=500.0, stages=STREAM, tokens=10)
    level, before = session.timeline.levels[-1], session.timeline.levels[-1].figures.stages["ttft"].ms
    assert level.fold is not None
    session.seconds(3, p99_ms=500.0, stages={"ttft": 5_000.0}, tokens=900)
    rest = level.fold.without(session.timeline.since(session.t_s - 3.0)).figures()
    assert rest.tokens_per_s == 10.0
    assert rest.stages["ttft"].ms.mean == pytest.approx(before.mean)
    assert rest.stages["ttft"].ms.p99 == before.p99


def test_bins_of_a_ramp_have_stages() -> None:
    session = Scenario().open(users=20, ramp=True).seconds([{"users": each} for each in range(1, 21)], p99_ms=9.0, stages=STREAM)
    bins = session.timeline.levels[-1].bins
    assert [each.figures.stages["tpot"].ms.max for each in bins] == pytest.approx([20.0] * len(bins), rel=1e-3)


def test_counts_of_a_stage_are_the_same_live_and_in_a_replay() -> None:
    seconds: tuple[Sample, ...] = (PLAIN, ONE, OTHER)
    kept, read = KeptLatencies(), ReadLatencies(seconds.__getitem__)
    for each in seconds:
        kept.add(each)
    for tick in range(3):
        for kind in LATENCY_KINDS:
            assert kept.counts(tick, kind).tolist() == read.counts(tick, kind).tolist()
            p95s = [each.p95_ms(tick, ("GET", "/"), kind) for each in (kept, read)]
            assert p95s[0] == pytest.approx(p95s[1], nan_ok=True)
    assert [int(kept.counts(tick, "ttft").sum()) for tick in range(3)] == [0, 40, 10]


def test_a_session_has_the_stages_that_a_second_or_a_closed_level_has() -> None:
    session = Scenario().level(users=4, p99_ms=9.0)
    assert not session.timeline.stages
    streams = session.open(users=8).seconds(1, p99_ms=900.0, stages={"tpot": 20.0, "ttft": 200.0}, settled=False)
    assert streams.timeline.stages == ("ttft", "tpot")
    imported = LevelFigures(settled=True, stages={"itl": StageFigures(ms=Latency(p95=9.0))})
    assert Scenario().measured(4, imported).timeline.stages == ("itl",)


def test_a_log_without_streams_has_no_word_of_stages() -> None:
    closed = Scenario().level(users=4, rps=40, p99_ms=20.0).timeline.levels[-1].closed
    assert closed is not None
    assert (closed.figures.stages, closed.figures.tokens_per_s, closed.endpoints[0].stages) == ({}, None, {})
    assert Timeline(Scenario().events).columns["tokens_per_s"].tolist() == []
