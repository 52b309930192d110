"""Latency as a heatmap over the seconds' own histograms, and by level, with a baseline behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from textual.geometry import Size

from capexplorer.errors import InputError
from capexplorer.model.events import EndpointTick, Event, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.latency_seconds import EDGES_MS, KeptLatencies, ReadLatencies
from capexplorer.model.timeline import Timeline
from capexplorer.report.compare import SecondLatencies, curve_of_last
from capexplorer.report.compare import Session as Compared
from capexplorer.report.compare.comparison import Curve
from capexplorer.tui.actions.steering import Steer
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.live_feed import LiveFeed
from capexplorer.tui.look import Look, Palette
from capexplorer.tui.panes.baseline_curve import difference_at
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.screens.baseline_choice import Baselines
from capexplorer.wording.quantities import latency_cell

from .fake_controls import FakeControls
from .fake_source import FakeSource
from .session_events import SessionMaker, header, session

SIZES = [Size(38, 6), Size(58, 10), Size(118, 30), Size(24, 3), Size(1, 1)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def folded(levels: list[tuple[int, int]]) -> Timeline:
    """As the live feed folds it."""
    feed = LiveFeed(FakeSource(session(levels)))
    feed.take()
    return feed.timeline


def curve_of(levels: list[tuple[int, int]], seed: int = 3) -> Curve:
    maker = SessionMaker(seed, hostile=False)
    events: list[Event] = [header()]
    for users, seconds in levels:
        events += [*maker.open(users), *(maker.tick() for _ in range(seconds))]
    latencies = SecondLatencies()
    return curve_of_last(Compared(Timeline(latencies.collecting([*events, *maker.close()])), latencies=latencies))


def drawn(pane: Pane, timeline: Timeline, look: Look, size: Size) -> str:
    strips = pane.draw(timeline, len(timeline) - 1, look, size)
    assert len(strips) <= size.height and all(strip.cell_length <= size.width for strip in strips)
    return "\n".join(strip.text for strip in strips)


# -- the seconds


def test_kept_and_read_counts_are_those_of_the_second() -> None:
    maker = SessionMaker()
    list(maker.open(10))
    samples = [maker.tick() for _ in range(3)]
    kept, read = KeptLatencies(), ReadLatencies(samples.__getitem__)
    for sample in samples:
        kept.add(sample)
    for tick, sample in enumerate(samples):
        counts = kept.counts(tick)
        assert np.array_equal(counts, read.counts(tick))
        assert int(counts.sum()) == sum(each.requests - each.failures for each in sample.endpoints)
        filled = np.flatnonzero(counts)
        if filled.size:
            assert EDGES_MS[filled[-1]] <= (sample.max_ms or 0.0) <= EDGES_MS[filled[-1] + 1] * 1.001
    assert kept.counts(99).sum() == 0


def test_the_p95_of_an_endpoint_in_a_second_is_that_of_the_histogram_of_that_second() -> None:
    def second(*ticks: EndpointTick) -> Sample:
        return Sample(t_s=1.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", endpoints=ticks)

    def endpoint(name: str, *latencies_ms: float, measured: bool = False) -> EndpointTick:
        histogram = LatencyHistogram()
        histogram.record_us([1000 * each for each in latencies_ms])
        p95_ms = histogram.percentiles_ms((0.95,))[0] if measured else None
        return EndpointTick(name=name, requests=len(latencies_ms), latency=histogram.encode(), p95_ms=p95_ms)

    fast, slow = [float(each) for each in range(1, 101)], [10.0] * 19 + [500.0] * 2
    samples = [second(endpoint("/a", *fast, measured=True)), second(), second(endpoint("/b", 3.0), endpoint("/a", *slow))]
    kept, read = KeptLatencies(), ReadLatencies(samples.__getitem__)
    for sample in samples:
        kept.add(sample)
    for found in (kept, read):
        of_a = [found.p95_ms(tick, ("GET", "/a")) for tick in range(3)]
        assert of_a[0] == pytest.approx(95.0, rel=0.01)
        assert np.isnan(of_a[1])
        assert of_a[2] == pytest.approx(500.0, rel=0.01)
        assert np.isnan(found.p95_ms(0, ("GET", "/b"))) and found.p95_ms(2, ("GET", "/b")) == pytest.approx(3.0, rel=0.01)
    assert np.isnan(kept.p95_ms(99, ("GET", "/a")))


# -- the heatmap


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("markers", ["braille", "ascii"])
def test_the_heatmap_is_well_formed(size: Size, markers: str) -> None:
    timeline = folded([(10, 12), (80, 12)])
    look = Look(palette=Palette(markers=markers), latency_form="heatmap", inspected=15)  # type: ignore[arg-type]
    text = drawn(LatencyPane(), timeline, look, size)
    if size.height >= 6:
        assert ("#" if markers == "ascii" else "█") in text


def test_at_the_cursor_the_right_scale_gives_the_share_of_each_row() -> None:
    timeline = folded([(10, 12)])
    text = drawn(LatencyPane(), timeline, Look(latency_form="heatmap", inspected=8), Size(118, 20))
    shares = [float(line.rpartition("├")[2].strip("% <")) for line in text.splitlines() if "├" in line and "%" in line]
    assert sum(shares) == pytest.approx(100.0, abs=3.0)


def test_a_timeline_without_kept_seconds_shows_a_message() -> None:
    timeline = Timeline(session([(10, 8)]))
    assert "not kept" in drawn(LatencyPane(), timeline, Look(latency_form="heatmap"), Size(58, 10))


def test_a_long_page_draws_every_nth_second_and_the_legend_names_it() -> None:
    timeline = folded([(10, 300)])
    text = drawn(LatencyPane(), timeline, Look(latency_form="heatmap", window_s=None), Size(30, 10))
    assert "█" in text
    wide = drawn(LatencyPane(), timeline, Look(latency_form="heatmap", window_s=None), Size(118, 10))
    assert "every" not in wide


# -- by level


@pytest.mark.parametrize("size", SIZES)
def test_latency_by_level_shows_the_level_at_the_cursor(size: Size) -> None:
    timeline = folded([(10, 12), (80, 12)])
    look = Look(latency_form="levels", inspected=6, baseline=curve_of([(10, 10), (100, 10)]))
    text = drawn(LatencyPane(), timeline, look, size)
    if size.width >= 58:
        assert "10 users" in text and latency_cell(timeline.levels[0].figures.latency_ms.p95) in text


# -- the baseline


def test_the_baseline_is_drawn_under_the_capacity_curve_and_within_its_scale() -> None:
    timeline = folded([(10, 12), (30, 12)])
    with_it = drawn(CurvePane(), timeline, Look(baseline=curve_of([(10, 10), (120, 10)])), Size(118, 30))
    without = drawn(CurvePane(), timeline, Look(), Size(118, 30))
    assert "baseline 20260101-120000-mixed" in with_it and "baseline" not in without
    assert "150" in with_it.splitlines()[-1] and "150" not in without.splitlines()[-1]


def test_the_difference_is_that_at_the_same_load_and_says_whether_it_is_noise() -> None:
    timeline = folded([(10, 20), (30, 20)])
    same, fewer = curve_of([(30, 20), (10, 20)]), curve_of([(10, 20)])
    words = difference_at(timeline, None, same)
    assert words.startswith("30 users: goodput ")
    assert "within noise" in words
    assert "p95" in words
    assert "about" in words
    assert difference_at(timeline, 5, same).startswith("10 users: ")
    assert difference_at(timeline, None, fewer) == "no settled level of 30 users"
    assert difference_at(Timeline(), None, same) == "no level yet"


def test_a_difference_beyond_noise_has_no_remark_about_noise() -> None:
    timeline = folded([(80, 30)])
    half = curve_of([(20, 30)])
    other = Curve(**{name: getattr(half, name) for name in Curve.__slots__} | {"points": tuple(_at(half, 80))})
    words = difference_at(timeline, None, other)
    assert "within noise" not in words.partition("p95")[0] and "(+" in words


def _at(curve: Curve, users: int) -> list[object]:
    """The curve's points as if they were of this many users."""
    return [replace(point, users=users) for point in curve.points]


@pytest.mark.anyio
async def test_keys_choose_a_baseline_switch_it_and_change_the_form_of_latency() -> None:
    def read(name: str) -> Curve:
        if name != "good":
            raise InputError(f"no session {name}")
        return curve_of([(10, 10), (30, 10)])

    source = FakeSource(session([(10, 12), (30, 12)]))
    app = ExplorerApp(LiveFeed(source), Steer(FakeControls(30)), baselines=Baselines(read))

    def text() -> str:
        return "\n".join(strip.text for strip in app.screen._compositor.render_strips())

    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("b", "ctrl+u", *"bad", "enter")
        await pilot.pause()
        assert "no session bad" in text()
        await pilot.press("ctrl+u", *"good", "enter")
        await pilot.pause()
        assert "BASELINE" in text() and "30 users: goodput" in text()
        await pilot.press("L")
        assert "Latency heatmap" in text()
        await pilot.press("L", "b")
        await pilot.pause()
        assert "Latency by users" in text() and "BASELINE" not in text()
        await pilot.press("2", "i", "left")
        assert app.explorer.shown.level_at(app.explorer.inspecting.tick or 0) is app.explorer.shown.levels[0]
