"""The inspection cursor: where keys take it, which time is shown around it, and what is read out at it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from textual.geometry import Region, Size
from textual.widget import Widget

from capexplorer.model.events import LevelOpened, Mark
from capexplorer.model.findings import Recovered
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts.service_changes import Recovery
from capexplorer.tui import inspection
from capexplorer.tui.look import Look
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.inspected import inspected
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.resources import ResourcesPane
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.time_window import TimeWindow
from capexplorer.wording.quantities import latency_cell, rate_cell
from capexplorer.wording.quantities import size as bytes_of

from . import gallery
from .fakes import Session, session
from .stage import NARROW, WIDE, Stage

NARROW_CELLS = 78


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    """Levels of 10, 30, 50 and 80 users, 15 s each; the first tick ends at 2 s."""
    return Timeline(session())


def loads(timeline: Timeline, tick: int | None) -> int | None:
    level = None if tick is None else timeline.level_at(tick)
    return None if level is None else level.users


# -- where the cursor goes


@pytest.mark.parametrize(
    ("tick", "seconds", "expected"), [(5, 1, 6), (5, -1, 4), (0, -1, 0), (59, 1, 59), (5, 10, 15), (5, -10, 0), (55, 1800, 59)]
)
def test_it_moves_by_seconds_and_stays_within_the_session(timeline: Timeline, tick: int, seconds: float, expected: int) -> None:
    assert inspection.moved(timeline, tick, seconds) == expected


def test_it_walks_over_the_levels_and_lands_on_settled_seconds(timeline: Timeline) -> None:
    found, tick = [], inspection.adjacent_level(timeline, 0, 1)
    while tick is not None:
        found.append((loads(timeline, tick), timeline.columns["settled"][tick]))
        tick = inspection.adjacent_level(timeline, tick, 1)
    assert found == [(30, 1.0), (50, 1.0), (80, 1.0)]
    assert loads(timeline, inspection.adjacent_level(timeline, 50, -1)) == 50
    assert inspection.adjacent_level(timeline, 3, -1) is None


def test_along_the_capacity_curve_it_goes_by_load_not_by_time() -> None:
    timeline = Timeline(session([(30, 8), (10, 8), (50, 8), (10, 8)]))
    first = inspection.stop_at(timeline, 8.0)
    walked, tick = [], first
    while tick is not None:
        walked.append(loads(timeline, tick))
        tick = inspection.adjacent_stop(timeline, tick, 1)
    assert walked == [10, 10, 30, 50]


def test_a_ramp_is_walked_bin_by_bin() -> None:
    timeline = Timeline(gallery.ramped())
    stops = inspection.stops(timeline)
    assert len(stops) == len(timeline.levels[0].bins)
    users = [timeline.columns["users"][stop.tick] for stop in stops]
    assert users == sorted(users) and len(set(users)) == len(users)


def test_a_second_that_a_shift_gave_to_the_next_level_belongs_to_that_one() -> None:
    made = Session()

    events = [*made.open(10), *(made.tick() for _ in range(10))]
    events.append(LevelOpened(t_s=made.t_s, index=1, users=10, spawn_rate=1.0, by="shift", since_s=made.t_s - 4))
    timeline = Timeline(events)
    assert [timeline.level_at(tick) is timeline.levels[1] for tick in range(10)] == [False] * 6 + [True] * 4


# -- which time is shown

ZOOMS = {
    "in, at the end": (TimeWindow(300.0), 1, 1000.0, None, TimeWindow(120.0)),
    "out, at the end": (TimeWindow(300.0), -1, 1000.0, None, TimeWindow(600.0)),
    "out, to all": (TimeWindow(300.0), -1, 500.0, None, TimeWindow(None)),
    "in, from all": (TimeWindow(None), 1, 500.0, None, TimeWindow(300.0)),
    "in, around the cursor": (TimeWindow(300.0, 600.0), 1, 4000.0, 750.0, TimeWindow(120.0, 690.0)),
    "in, beside the newest second": (TimeWindow(300.0), 1, 1000.0, 995.0, TimeWindow(120.0)),
    "not below 10 s": (TimeWindow(10.0), 1, 1000.0, None, None),
    "not beyond all": (TimeWindow(None), -1, 1000.0, None, None),
}


@pytest.mark.parametrize(("shown", "direction", "now_s", "around_s", "expected"), ZOOMS.values(), ids=ZOOMS)
def test_zoom(shown: TimeWindow, direction: int, now_s: float, around_s: float | None, expected: TimeWindow | None) -> None:
    assert shown.zoomed(direction, now_s, around_s) == expected


PANS = {
    "it is on the page": (TimeWindow(300.0), 850.0, TimeWindow(300.0)),
    "over the left edge": (TimeWindow(300.0), 749.0, TimeWindow(300.0, 600.0)),
    "further left": (TimeWindow(300.0, 600.0), 599.0, TimeWindow(300.0, 450.0)),
    "over the right edge": (TimeWindow(300.0, 300.0), 601.0, TimeWindow(300.0, 450.0)),
    "back to the newest page": (TimeWindow(300.0, 450.0), 751.0, TimeWindow(300.0)),
}


@pytest.mark.parametrize(("shown", "t_s", "expected"), PANS.values(), ids=PANS)
def test_the_page_follows_the_cursor_over_its_edges(shown: TimeWindow, t_s: float, expected: TimeWindow) -> None:
    assert shown.showing(t_s, now_s=1000.0) == expected


# -- what is read out


def read_out(timeline: Timeline, tick: int, width: int = NARROW_CELLS) -> str:
    lines = inspected(timeline, len(timeline) - 1, Look(inspected=tick), width)
    assert all(line.cell_length == width for line in lines)
    return "\n".join(line.text for line in lines)


def read(name: str) -> Callable[[float], str]:
    return latency_cell if name.endswith("_ms") else rate_cell


def test_at_80_columns_every_value_of_a_second_is_read_out_with_its_level(timeline: Timeline) -> None:
    tick = 20
    column = timeline.columns
    text = read_out(timeline, tick)
    assert "00:22" in text and "level 1, 30 users (settled), goodput" in text

    names = ("throughput_rps", "goodput_rps", "failures_rps", "p50_ms", "p95_ms", "p99_ms", "max_ms", "loop_lag_p99_ms")
    resources = ("target_cpu_ratio", "host_cpu_ratio", "generator_cpu_ratio")
    assert [name for name in (*names, *resources) if read(name)(column[name][tick]) not in text] == []
    memory = ("target_rss_bytes", "host_memory_bytes", "received_bytes_per_s")
    assert [name for name in memory if bytes_of(column[name][tick]) not in text] == []
    assert f"ports {column['ports_used'][tick]:.0f}" in text and "users 30" in text


def test_failures_of_that_second_and_events_near_it_are_read_out() -> None:
    timeline = Timeline(session([(10, 8), (80, 8)]))
    assert "2 × GET /cpu: HTTP 503" in read_out(timeline, 12, 120)
    assert "×" not in read_out(timeline, 3, 120)
    assert "after 10" in read_out(timeline, 8, 120) and "after 10" not in read_out(timeline, 14, 120)


def test_a_mark_with_newer_evidence_is_listed_once_at_its_time() -> None:
    timeline = Timeline(session([(10, 12)]))
    recovery = Recovery(from_users=80, to_users=10, recovered=True, after_s=1.0)
    found = Mark(t_s=6.0, key="recovery:level0", state="open", finding=Recovered(recovery=recovery), users=10)
    timeline.apply(found)
    timeline.apply(msgspec.structs.replace(found, t_s=9.0, state="updated", revision=2))
    text = read_out(timeline, 8, 198)
    assert "00:06 recovery" in text and "00:09 recovery" not in text


def test_the_number_of_lines_does_not_depend_on_the_second() -> None:
    timeline = Timeline(session([(10, 8), (80, 8)]))
    for width in (78, 118, 198):
        assert len({len(read_out(timeline, tick, width).splitlines()) for tick in range(len(timeline))}) == 1


@pytest.mark.parametrize("size", [Size(38, 6), Size(58, 10), Size(118, 30)])
def test_charts_show_the_cursor_and_their_legends_that_second(timeline: Timeline, size: Size) -> None:
    def text(pane: ThroughputPane | LatencyPane | CurvePane | ResourcesPane, look: Look) -> str:
        return "\n".join(strip.text for strip in pane.draw(timeline, len(timeline) - 1, look, size))

    look = Look(inspected=20)

    column = timeline.columns
    assert rate_cell(column["goodput_rps"][20]) in text(ThroughputPane(), look)
    assert latency_cell(column["p50_ms"][20]) in text(LatencyPane(), look)
    assert "30 users" in text(CurvePane(), look)
    assert f"{column['target_cpu_ratio'][20]:.2f}" in text(ResourcesPane(), look)
    if size.height >= 10:
        assert "║" in text(LatencyPane(), look) and "00:22" in text(LatencyPane(), look)
        assert "║" not in text(LatencyPane(), Look())


# -- keys on the live screen


@pytest.mark.anyio
@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_the_cursor_stays_at_its_second_while_the_session_goes_on_and_no_arrow_steps_the_load(
    size: tuple[int, int],
) -> None:
    made = Session()
    stage = Stage([*made.open(10), *(made.tick() for _ in range(20))], wanted=10)
    async with stage.run(size) as pilot:
        await pilot.press("left", "left", "left")
        assert stage.app.explorer.inspecting.tick == 17
        text = stage.screen_text()
        assert "INSPECT" in text
        assert "00:19" in text
        assert "Esc leave" in text
        stage.source.send(*(made.tick() for _ in range(5)))
        await pilot.pause()
        assert stage.app.explorer.inspecting.tick == 17 and "00:19" in stage.screen_text()
        await pilot.press("up", "down", "shift+left")
        assert stage.controls.calls == [] and stage.app.explorer.inspecting.tick is not None
        await pilot.press("+", "escape", "up")
        assert stage.controls.calls == [("set_users", 11), ("set_users", 12)]
        assert "INSPECT" not in stage.screen_text()


@pytest.mark.anyio
async def test_from_the_capacity_curve_the_arrows_walk_over_its_points() -> None:
    stage = Stage(session([(30, 8), (10, 8), (50, 8)]))
    async with stage.run() as pilot:
        explorer = stage.app.explorer
        await pilot.press("3", "i", "left")
        walked = [loads(explorer.shown, explorer.inspecting.tick)]
        await pilot.press("left")
        walked.append(loads(explorer.shown, explorer.inspecting.tick))
        await pilot.press("left")
        assert [*walked, loads(explorer.shown, explorer.inspecting.tick)] == [30, 10, 10]
        assert "the first point" in stage.screen_text()


@pytest.mark.anyio
async def test_a_second_or_a_move_of_the_cursor_repaints_cells_of_a_pane_not_all_of_it() -> None:
    """Panes once set their titles anew each second, which repaints them: half of what the screen wrote to the terminal."""
    made = Session()
    stage = Stage([*made.open(10), *(made.tick() for _ in range(20))], wanted=10)
    async with stage.run(WIDE) as pilot:
        await pilot.press("i")
        await pilot.pause()
        whole: list[str] = []
        for pane in stage.app.explorer.arrangement.panes[:4]:
            real = pane.refresh

            def refresh(*regions: Region, pane: Pane = pane, real: Callable[..., Widget] = real, **kept: bool) -> Widget:
                if not regions:
                    whole.append(str(pane.id))
                return real(*regions, **kept)

            pane.refresh = refresh  # type: ignore[method-assign, assignment]
        stage.source.send(made.tick())
        await pilot.press("left")
        await pilot.pause()
        assert whole == [] and stage.app.explorer.inspecting.tick == 18
