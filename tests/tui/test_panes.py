"""The panes of text and tables: alignment, contents, scrolling; text of targets and user code cannot control the terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rich.cells import cell_len
from textual.geometry import Size

from capexplorer.model.events import (
    EndpointTick,
    FailureSignature,
    FailureTick,
    Log,
    Note,
    Sample,
)
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.endpoints import EndpointsPane
from capexplorer.tui.panes.failures import FailuresPane
from capexplorer.tui.panes.journal import JournalPane, LogPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.resources import ResourcesPane
from capexplorer.tui.screens.view_options import frozen_copy

from .drawn import LARGE, SMALL, drawn, status_lines, with_last
from .session_events import HOSTILE_TEXT, SessionMaker, died, header, ready, session
from .troubles import troubled


def raw_errors() -> Pane:
    pane = FailuresPane()
    pane.toggle_raw(True)
    return pane


TABLES: list[Callable[[], Pane]] = [ResourcesPane, EndpointsPane, JournalPane, FailuresPane, raw_errors, LogPane]


# -- all of these panes


@pytest.mark.parametrize("pane_class", TABLES)
@pytest.mark.parametrize("size", [LARGE, SMALL, Size(20, 4), Size(1, 1), Size(200, 60)])
def test_each_line_is_as_wide_as_the_pane_and_there_are_no_more_lines_than_its_height(
    pane_class: Callable[[], Pane], size: Size
) -> None:
    for timeline in (Timeline(), Timeline([header(), ready()]), Timeline([*session(), died(70.0)])):
        lines = drawn(pane_class(), timeline, size)
        assert len(lines) <= size.height
        assert [line for line in lines if cell_len(line) != size.width] == []


@pytest.mark.parametrize("pane_class", TABLES)
def test_no_control_character_of_a_target_or_of_user_code_reaches_the_terminal(pane_class: Callable[[], Pane]) -> None:
    timeline = Timeline([*session(), *troubled(), died(70.0)])
    signature = FailureSignature(types=(HOSTILE_TEXT,), text=HOSTILE_TEXT)
    tick = EndpointTick(name=HOSTILE_TEXT, method=HOSTILE_TEXT, requests=1, failures=1)
    with_last(
        timeline,
        phase="settling",
        endpoints=(tick,),
        failures=(FailureTick(name="/", method="GET", signature=signature, count=1),),
    )
    text = "\n".join([*drawn(pane_class(), timeline), *status_lines(timeline)])
    assert [character for character in "\x1b\x9b\x07\u202e" if character in text] == []


def test_escapes_and_markup_are_shown_as_text() -> None:
    text = " ".join(drawn(JournalPane(), Timeline([Note(t_s=1.0, text="\x1b[31mred [bold]b[/bold]")])))
    assert "␛[31mred [bold]b[/bold]" in text


# -- endpoints


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
def test_each_figure_ends_below_the_end_of_its_title(size: Size) -> None:
    titles, *rows = drawn(EndpointsPane(), Timeline(session([(50, 20)])), size)[1:6]
    ends = {title: titles.index(title) + len(title) for title in titles.split()}
    for row in rows:
        not_aligned = [title for title, end in ends.items() if row[end - 1] == " " or row[end : end + 1] not in (" ", "")]
        assert not_aligned == [], row


@pytest.mark.parametrize(("seconds", "grey"), [(6, {"p95", "p99"}), (14, {"p99"}), (60, set())])
def test_percentiles_of_too_few_values_are_grey(seconds: int, grey: set[str]) -> None:
    """10 users make 27 requests per second, of which the first 4 seconds do not count; p95 needs 200 values and p99 1,000."""
    palette = Palette()
    strips = EndpointsPane().draw(Timeline(session([(10, seconds)])), seconds - 1, DisplayOptions(large=True), LARGE)
    total = next(strip for strip in strips if strip.text.strip().startswith("all"))
    figures = [segment for segment in total if segment.text.strip()][1:]
    titles = ["requests", "req/s", "failed", "%", "p50", "p95", "p99"]
    colors = {
        title: segment.style and segment.style.color and segment.style.color.name
        for title, segment in zip(titles, figures, strict=False)
    }
    assert {title for title in ("p50", "p95", "p99") if colors[title] == palette.muted} == grey


def test_keys_scroll_a_table_of_more_endpoints_than_lines() -> None:
    timeline = Timeline(session([(10, 3)]))
    with_last(
        timeline, phase="settling", endpoints=tuple(EndpointTick(name=f"/{i:03}", method="GET", requests=1) for i in range(60))
    )
    pane = EndpointsPane()
    assert "/000" in "\n".join(drawn(pane, timeline))
    pane.action_edge(1)
    assert "all" in drawn(pane, timeline)[-1]
    pane.action_page(-1)
    assert "all" not in drawn(pane, timeline)[-1]
    pane.action_edge(-1)
    assert "/000" in drawn(pane, timeline)[2]


# -- journal and log


def test_the_journal_shows_its_newest_entries_and_scrolls_by_pages() -> None:
    pane, timeline = JournalPane(), Timeline([Note(t_s=float(index), text=f"note {index}") for index in range(60)])
    assert drawn(pane, timeline)[-1].strip().endswith("note 59")
    pane.action_page(-1)
    assert drawn(pane, timeline)[-1].strip().endswith("note 43")
    pane.action_edge(-1)
    assert drawn(pane, timeline)[0].strip().endswith("note 0")
    pane.action_edge(1)
    assert drawn(pane, timeline)[-1].strip().endswith("note 59")


def test_the_log_can_be_scrolled_to_its_first_line() -> None:
    pane, timeline = LogPane(), Timeline([Log(t_s=0.0, source="stdout", text=f"line {index}") for index in range(100)])
    for _ in range(10):
        drawn(pane, timeline)
        pane.action_page(-1)
    assert drawn(pane, timeline)[0].strip().endswith("line 0")


# -- a paused display


def test_panes_of_a_frozen_timeline_do_not_change_while_the_session_continues() -> None:
    maker = SessionMaker()
    timeline = Timeline([header(), *maker.open(10), *(maker.tick() for _ in range(8))])
    frozen = frozen_copy(timeline)
    before = [drawn(pane_class(), frozen) for pane_class in TABLES]
    for event in [*(maker.tick() for _ in range(5)), *maker.open(20), maker.tick(), Note(t_s=30.0, text="later")]:
        timeline.apply(event)
    assert isinstance(timeline.last, Sample)
    assert timeline.last.level == 1, "the session did not continue"
    assert [drawn(pane_class(), frozen) for pane_class in TABLES] == before
    assert len(frozen) == 8
    assert frozen.level is not None
    assert frozen.level.ended_s is None
