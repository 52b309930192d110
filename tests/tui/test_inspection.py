"""The inspection cursor: the second to which keys move it, the time window that charts show around it, and the values at it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from textual.geometry import Region
from textual.widget import Widget

from capexplorer.model.controls import StepTo
from capexplorer.model.events import Header, LevelOpened, Sample
from capexplorer.model.load import Users
from capexplorer.model.readings import HostReading
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.inspected import inspected
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.screens import inspecting
from capexplorer.tui.screens.inspecting import TimeWindow

from . import gallery
from .session_events import SessionMaker, session
from .stage import NARROW, WIDE, Stage

NARROW_CELLS = 78
"""Width of the table of inspected values at 80 columns."""


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    """Levels of 10, 30, 50 and 80 users, 15 s each; the first tick ends at 2 s."""
    return Timeline(session())


def users_at(timeline: Timeline, tick: int | None) -> int | None:
    """The users of the level that a second belongs to."""
    level = None if tick is None else timeline.level_at(tick)
    return None if level is None else level.users


# -- moves of the cursor


@pytest.mark.parametrize(
    ("tick", "seconds", "expected"), [(5, 1, 6), (5, -1, 4), (0, -1, 0), (59, 1, 59), (5, 10, 15), (5, -10, 0), (55, 1800, 59)]
)
def test_the_cursor_moves_by_seconds_and_stays_within_the_session(
    timeline: Timeline, tick: int, seconds: float, expected: int
) -> None:
    assert inspecting.moved(timeline, tick, seconds) == expected


def test_a_move_to_the_next_level_ends_at_a_settled_second_of_it(timeline: Timeline) -> None:
    settled = 1.0
    visited, tick = [], inspecting.adjacent_level(timeline, 0, 1)
    while tick is not None:
        visited.append((users_at(timeline, tick), timeline.columns["settled"][tick]))
        tick = inspecting.adjacent_level(timeline, tick, 1)
    assert visited == [(30, settled), (50, settled), (80, settled)]


def test_a_move_to_the_previous_level_ends_before_the_first(timeline: Timeline) -> None:
    assert users_at(timeline, inspecting.adjacent_level(timeline, 50, -1)) == 50
    assert inspecting.adjacent_level(timeline, 3, -1) is None


def test_moves_along_the_capacity_curve_are_ordered_by_load_and_not_by_time() -> None:
    timeline = Timeline(session([(30, 8), (10, 8), (50, 8), (10, 8)]))
    visited, tick = [], inspecting.stop_at(timeline, 8.0)
    while tick is not None:
        visited.append(users_at(timeline, tick))
        tick = inspecting.adjacent_stop(timeline, tick, 1)
    assert visited == [10, 10, 30, 50]


def test_each_bin_of_a_ramp_is_a_stop_of_its_own() -> None:
    timeline = Timeline(gallery.ramped())
    stops = inspecting.stops(timeline)
    assert len(stops) == len(timeline.levels[0].bins)
    users = [timeline.columns["users"][stop.tick] for stop in stops]
    assert users == sorted(set(users))


def test_a_level_that_a_shift_opens_has_the_seconds_since_the_shift() -> None:
    """The shift is found after 10 s, and is dated 4 s back."""
    maker = SessionMaker()
    events = [*maker.open(10), *(maker.tick() for _ in range(10))]
    events.append(LevelOpened(t_s=maker.t_s, index=1, users=10, spawn_rate=1.0, by="shift", since_s=maker.t_s - 4))
    timeline = Timeline(events)
    before, after = timeline.levels
    assert [tick for tick in range(10) if timeline.level_at(tick) is before] == [0, 1, 2, 3, 4, 5]
    assert [tick for tick in range(10) if timeline.level_at(tick) is after] == [6, 7, 8, 9]


# -- the time window that charts show

ALL = TimeWindow(None)
"""The whole session."""

ZOOMS = {
    "in, at the end": (TimeWindow(300.0), 1, 1000.0, None, TimeWindow(120.0)),
    "out, at the end": (TimeWindow(300.0), -1, 1000.0, None, TimeWindow(600.0)),
    "out, to all": (TimeWindow(300.0), -1, 500.0, None, ALL),
    "in, from all": (ALL, 1, 500.0, None, TimeWindow(300.0)),
    "in, around the cursor": (TimeWindow(300.0, 600.0), 1, 4000.0, 750.0, TimeWindow(120.0, 690.0)),
    "in, beside the newest second": (TimeWindow(300.0), 1, 1000.0, 995.0, TimeWindow(120.0)),
    "not below 10 s": (TimeWindow(10.0), 1, 1000.0, None, None),
    "not beyond all": (ALL, -1, 1000.0, None, None),
}
"""(window, 1: in or -1: out, time of the newest second, time at the cursor or None, the new window or None)."""


@pytest.mark.parametrize(("window", "direction", "now_s", "cursor_s", "expected"), ZOOMS.values(), ids=ZOOMS)
def test_zoom_in_or_out_gives_the_next_length_around_the_cursor(
    window: TimeWindow, direction: int, now_s: float, cursor_s: float | None, expected: TimeWindow | None
) -> None:
    assert window.zoomed(direction, now_s, cursor_s) == expected


PANS = {
    "cursor on the page": (TimeWindow(300.0), 850.0, TimeWindow(300.0)),
    "cursor left of the page": (TimeWindow(300.0), 749.0, TimeWindow(300.0, 600.0)),
    "cursor left of an earlier page": (TimeWindow(300.0, 600.0), 599.0, TimeWindow(300.0, 450.0)),
    "cursor right of an earlier page": (TimeWindow(300.0, 300.0), 601.0, TimeWindow(300.0, 450.0)),
    "cursor on the newest page again": (TimeWindow(300.0, 450.0), 751.0, TimeWindow(300.0)),
}
"""(window, time at the cursor, the new window) of a session whose newest second is 1000."""


@pytest.mark.parametrize(("window", "cursor_s", "expected"), PANS.values(), ids=PANS)
def test_the_window_moves_by_half_its_length_to_include_the_cursor(
    window: TimeWindow, cursor_s: float, expected: TimeWindow
) -> None:
    assert window.showing(cursor_s, now_s=1000.0) == expected


# -- the values at the cursor


def values_at(timeline: Timeline, tick: int, width: int = NARROW_CELLS) -> str:
    """The text of the inspected values of one second, whose lines have exactly the width."""
    lines = inspected(timeline, len(timeline) - 1, DisplayOptions(inspected=tick), width)
    assert [line.text for line in lines if line.cell_length != width] == []
    return "\n".join(line.text for line in lines)


def test_the_host_memory_has_the_same_unit_as_in_the_resources() -> None:
    used, whole = 0.66 * 2**30, 23.5 * 2**30
    events = [
        msgspec.structs.replace(each, host=msgspec.structs.replace(each.host, memory_bytes=int(whole)))
        if isinstance(each, Header)
        else msgspec.structs.replace(each, host=msgspec.structs.replace(each.host or HostReading(), memory_used_bytes=int(used)))
        if isinstance(each, Sample)
        else each
        for each in session()
    ]
    timeline = Timeline(events)
    assert "0.66 GiB" in values_at(timeline, 10)
    assert "676 MiB" not in values_at(timeline, 10)


def test_the_number_of_lines_does_not_depend_on_the_second() -> None:
    timeline = Timeline(session([(10, 8), (80, 8)]))
    for width in (78, 118, 198):
        line_counts = {len(values_at(timeline, tick, width).splitlines()) for tick in range(len(timeline))}
        assert len(line_counts) == 1, f"{line_counts} lines at {width} columns"


# -- keys on the live screen


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_during_inspection_new_seconds_do_not_move_the_cursor_and_arrows_do_not_change_the_load(
    size: tuple[int, int],
) -> None:
    maker = SessionMaker()
    stage = Stage([*maker.open(10), *(maker.tick() for _ in range(20))], wanted=10)
    async with stage.run(size) as pilot:
        await pilot.press("left", "left", "left")
        assert stage.app.explorer.inspecting.tick == 17
        text = stage.screen_text()
        assert "INSPECT" in text
        assert "00:19" in text
        assert "Esc leave" in text
        stage.source.send(*(maker.tick() for _ in range(5)))
        await pilot.pause()
        assert stage.app.explorer.inspecting.tick == 17
        assert "00:19" in stage.screen_text()
        await pilot.press("up", "down", "shift+left")
        assert stage.controls.calls == []
        assert stage.app.explorer.inspecting.tick is not None
        await pilot.press("+", "escape", "up")
        assert stage.controls.calls == [StepTo(Users(11)), StepTo(Users(12))]
        assert "INSPECT" not in stage.screen_text()


async def test_on_the_capacity_curve_arrows_move_from_point_to_point_and_stop_at_the_first() -> None:
    stage = Stage(session([(30, 8), (10, 8), (50, 8)]))
    async with stage.run() as pilot:
        explorer = stage.app.explorer
        await pilot.press("3", "i")
        visited = []
        for _ in range(3):
            await pilot.press("left")
            visited.append(users_at(explorer.shown, explorer.inspecting.tick))
        assert visited == [30, 10, 10]
        assert "the first point" in stage.screen_text()


async def test_a_new_second_and_a_move_of_the_cursor_repaint_no_whole_pane() -> None:
    """A pane that sets its title again is repainted: done each second, that is half of what the screen writes to the terminal."""
    maker = SessionMaker()
    stage = Stage([*maker.open(10), *(maker.tick() for _ in range(20))], wanted=10)
    async with stage.run(WIDE) as pilot:
        await pilot.press("i")
        await pilot.pause()
        repainted: list[str] = []
        for pane in stage.app.explorer.arrangement.panes[:4]:
            original = pane.refresh

            def refresh(
                *regions: Region, pane: Pane = pane, original: Callable[..., Widget] = original, **options: bool
            ) -> Widget:
                if not regions:
                    repainted.append(str(pane.id))
                return original(*regions, **options)

            pane.refresh = refresh  # type: ignore[method-assign, assignment]
        stage.source.send(maker.tick())
        await pilot.press("left")
        await pilot.pause()
        assert repainted == []
        assert stage.app.explorer.inspecting.tick == 18
