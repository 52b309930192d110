"""The forms of the latency chart (heatmap of each second, percentiles by level), and a baseline behind the charts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace
from textual.geometry import Size

from capexplorer.errors import InputError
from capexplorer.model.events import EndpointTick, Sample
from capexplorer.model.histogram import LatencyHistogram
from capexplorer.model.load import Users
from capexplorer.model.timeline import EDGES_MS, KeptLatencies, ReadLatencies, Timeline
from capexplorer.report.compare.comparison import Curve
from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.panes.baseline_curve import difference_at
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.screens.view_options import Baselines

from .baselines import baseline_of, live_timeline
from .drawn import pane_text
from .fake_controls import FakeControls
from .fake_source import FakeSource
from .session_events import SessionMaker, session

# -- the distribution of each second


def test_counts_in_memory_and_read_from_the_log_are_those_of_the_histogram_of_the_second() -> None:
    maker = SessionMaker()
    list(maker.open(10))
    samples = [maker.tick() for _ in range(3)]
    in_memory, from_log = KeptLatencies(), ReadLatencies(samples.__getitem__)
    for sample in samples:
        in_memory.add(sample)
    for tick, sample in enumerate(samples):
        counts = in_memory.counts(tick)
        assert np.array_equal(counts, from_log.counts(tick))
        assert int(counts.sum()) == sum(each.requests - each.failures for each in sample.endpoints)
        filled = np.flatnonzero(counts)
        assert filled.size > 0
        lower_ms, upper_ms = EDGES_MS[filled[-1] : filled[-1] + 2]
        assert lower_ms <= (sample.max_ms or 0.0) <= upper_ms * 1.001, "the slowest request is not in the highest filled bucket"
    assert in_memory.counts(99).sum() == 0, "a second that does not exist has requests"


def test_the_p95_of_an_endpoint_in_a_second_is_that_of_the_histogram_of_that_second() -> None:
    def second(*ticks: EndpointTick) -> Sample:
        return Sample(t_s=1.0, duration_s=1.0, level=0, users=1, wanted=1, phase="settled", endpoints=ticks)

    def endpoint(name: str, *latencies_ms: float) -> EndpointTick:
        histogram = LatencyHistogram()
        histogram.record_us([1000 * each for each in latencies_ms])
        return EndpointTick(name=name, requests=len(latencies_ms), latency=histogram.encode())

    fast, slow = [float(each) for each in range(1, 101)], [10.0] * 19 + [500.0] * 2
    samples = [second(endpoint("/a", *fast)), second(), second(endpoint("/b", 3.0), endpoint("/a", *slow))]
    in_memory, from_log = KeptLatencies(), ReadLatencies(samples.__getitem__)
    for sample in samples:
        in_memory.add(sample)
    a, b = ("GET", "/a"), ("GET", "/b")
    for seconds in (in_memory, from_log):
        assert [seconds.p95_ms(tick, a) for tick in range(3)] == pytest.approx([95.0, math.nan, 500.0], rel=0.01, nan_ok=True)
        assert [seconds.p95_ms(tick, b) for tick in range(3)] == pytest.approx([math.nan, math.nan, 3.0], rel=0.01, nan_ok=True)
    assert math.isnan(in_memory.p95_ms(99, a)), "a second that does not exist has a p95"


# -- the heatmap


def test_at_the_cursor_the_shares_on_the_right_scale_add_up_to_100_percent() -> None:
    timeline = live_timeline([(10, 12)])
    text = pane_text(LatencyPane(), timeline, Size(118, 20), DisplayOptions(latency_form="heatmap", inspected=8))
    shares = [float(line.rpartition("├")[2].strip("% <")) for line in text.splitlines() if "├" in line and "%" in line]
    assert sum(shares) == pytest.approx(100.0, abs=3.0)


# -- the baseline


def test_the_difference_from_the_baseline_is_that_at_the_same_load_and_names_noise() -> None:
    timeline = live_timeline([(10, 20), (30, 20)])
    both_loads = baseline_of([(30, 20), (10, 20)])
    sentence = difference_at(timeline, None, both_loads)
    assert sentence.startswith("30 users: goodput ")
    assert "within noise" in sentence
    assert "p95" in sentence
    assert "about" in sentence
    assert difference_at(timeline, 5, both_loads).startswith("10 users: "), "not the load at the cursor"


def test_without_a_common_load_the_difference_is_the_reason() -> None:
    timeline, only_10_users = live_timeline([(10, 20), (30, 20)]), baseline_of([(10, 20)])
    assert difference_at(timeline, None, only_10_users) == "no settled level of 30 users"
    assert difference_at(Timeline(), None, only_10_users) == "no level yet"


def test_a_difference_beyond_noise_has_no_remark_about_noise() -> None:
    timeline = live_timeline([(80, 30)])
    sentence = difference_at(timeline, None, _relabelled(baseline_of([(20, 30)]), users=80))
    goodput, _, _ = sentence.partition("p95")
    assert "within noise" not in goodput
    assert "(+" in sentence


def _relabelled(curve: Curve, users: int) -> Curve:
    """The curve with the figures of its points, but as if they had been measured with this many users."""
    return replace(curve, points=tuple(replace(point, load=Users(users)) for point in curve.points))


async def test_keys_choose_a_baseline_hide_it_and_change_the_form_of_the_latency_chart() -> None:
    def read(name: str) -> Curve:
        if name != "good":
            raise InputError(f"no session {name}")
        return baseline_of([(10, 10), (30, 10)])

    source = FakeSource(session([(10, 12), (30, 12)]))
    app = ExplorerApp(LiveFeed(source), LiveRunActions(FakeControls(30)), baselines=Baselines(read))

    def text() -> str:
        return "\n".join(strip.text for strip in app.screen._compositor.render_strips())

    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.press("b", "ctrl+u", *"bad", "enter")
        await pilot.pause()
        assert "no session bad" in text()
        await pilot.press("ctrl+u", *"good", "enter")
        await pilot.pause()
        assert "BASELINE" in text()
        assert "30 users: goodput" in text()
        await pilot.press("L")
        assert "Latency heatmap" in text()
        await pilot.press("L", "b")
        await pilot.pause()
        assert "Latency by users" in text()
        assert "BASELINE" not in text()
        await pilot.press("2", "i", "left")
        timeline, tick = app.explorer.shown, app.explorer.inspecting.tick
        assert tick is not None
        assert timeline.level_at(tick) is timeline.levels[0], "left does not go to the previous level"
