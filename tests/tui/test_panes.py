"""The panes of text and tables: alignment, contents, scrolling; text of targets and user code cannot control the terminal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from marked import marked
from rich.cells import cell_len
from textual.geometry import Size

from capexplorer.model.events import (
    Command,
    EndpointTick,
    FailureSignature,
    FailureTick,
    Log,
    Note,
    Sample,
    Target,
    Verdict,
)
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import EndpointDegradation
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.endpoints import EndpointsPane
from capexplorer.tui.panes.failures import FailuresPane
from capexplorer.tui.panes.journal import JournalPane, LogPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.resources import ResourcesPane
from capexplorer.tui.screens.view_options import frozen_copy

from .drawn import LARGE, SMALL, drawn, status_lines, with_last
from .session_events import HOSTILE_TEXT, SessionMaker, died, header, ready, session

TABLES: list[Callable[[], Pane]] = [ResourcesPane, EndpointsPane, JournalPane, FailuresPane, LogPane]


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
@pytest.mark.parametrize("size", [LARGE, SMALL])
def test_two_new_panes_draw_a_timeline_alike(pane_class: Callable[[], Pane], size: Size) -> None:
    timeline = Timeline(session())
    assert drawn(pane_class(), timeline, size) == drawn(pane_class(), timeline, size)


@pytest.mark.parametrize("pane_class", TABLES)
def test_no_control_character_of_a_target_or_of_user_code_reaches_the_terminal(pane_class: Callable[[], Pane]) -> None:
    timeline = Timeline([*session(), died(70.0)])
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


def test_endpoints_of_a_settled_level_are_those_of_its_settled_seconds() -> None:
    timeline = Timeline(session([(50, 20)]))
    lines = drawn(EndpointsPane(), timeline)
    assert lines[0].strip() == "level 0, 50 users: settled 16 s"
    assert lines[1].split() == ["requests", "req/s", "failed", "%", "p50", "p95", "p99", "max", "bytes"]
    assert lines[2].split()[:2] == ["GET", "/health"]
    assert lines[5].split()[0] == "all"


def test_endpoints_of_a_settling_level_are_those_of_the_last_second() -> None:
    lines = drawn(EndpointsPane(), Timeline(session([(50, 3)])))
    assert lines[0].strip() == "level 0, 50 users: the last second, settling"


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
def test_the_endpoint_that_degrades_first_has_a_sign_which_the_line_of_titles_explains(size: Size) -> None:
    timeline = Timeline(session([(50, 20)]))
    first = EndpointDegradation(method="GET", name="/health", users=30, column="latency", before=12, after=480)
    timeline.apply(Verdict(t_s=timeline.last_s, first_endpoint=first))
    _, titles, *rows = drawn(EndpointsPane(), timeline, size)
    assert titles.split()[:3] == ["▸", "degrades", "first"]
    assert [row.split()[1:3] for row in rows if row.strip().startswith("▸")] == [["GET", "/health"]]


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
def test_each_figure_ends_below_the_end_of_its_title(size: Size) -> None:
    titles, *rows = drawn(EndpointsPane(), Timeline(session([(50, 20)])), size)[1:6]
    ends = {title: titles.index(title) + len(title) for title in titles.split()}
    for row in rows:
        not_aligned = [title for title, end in ends.items() if row[end - 1] == " " or row[end : end + 1] not in (" ", "")]
        assert not_aligned == [], row


def test_a_narrow_table_of_endpoints_has_rates_failures_and_percentiles() -> None:
    titles = drawn(EndpointsPane(), Timeline(session([(50, 20)])), SMALL)[1].split()
    assert titles == ["requests", "req/s", "%", "p50", "p95", "p99"]


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


def test_a_long_name_of_an_endpoint_is_shortened_in_the_middle() -> None:
    timeline = Timeline(session([(10, 3)]))
    name = "/api/v1/customers/{id}/orders/{id}/lines"
    with_last(timeline, phase="settling", endpoints=(EndpointTick(name=name, method="GET", requests=1),))
    row = drawn(EndpointsPane(), timeline, SMALL)[2]
    assert "…" in row
    assert row.split("…")[1].split()[0].endswith("lines"), "the end of the name is cut"


# -- journal and log


def test_the_journal_lists_commands_notes_marks_and_states_of_the_target() -> None:
    timeline = Timeline(
        [
            Target(t_s=0.1, state="starting", params={"threads": 8}),
            Command(t_s=1.0, name="users", args={"users": 10}),
            Command(t_s=3.0, name="note", args={"text": "mine"}),
            Note(t_s=3.0, text="mine"),
            marked(
                t_s=5.0, key="k", state="open", kind="cause", id="ports_exhausted", users=120, severity="error", confidence="high"
            ),
            died(70.0),
        ]
    )
    assert [line.strip() for line in drawn(JournalPane(), timeline)] == [
        "00:00 ■ target starting: threads=8",
        "00:01 › users → 10",
        "00:03 ✎ mine",
        "00:05 ◆ cause: ports exhausted at 120 users (high confidence)",
        "01:10 ✗ target died (exit code 3): ended by itself",
    ]


def test_steps_in_quick_succession_are_one_entry_of_the_journal() -> None:
    steps = [Command(t_s=1 + index / 10, name="users", args={"users": index}) for index in range(10)]
    later = Command(t_s=9.0, name="users", args={"users": 50})
    assert [line.strip() for line in drawn(JournalPane(), Timeline([*steps, later]))] == [
        "00:01 › users → 9",
        "00:09 › users → 50",
    ]


def test_the_journal_shows_its_newest_entries_and_scrolls_by_pages() -> None:
    pane, timeline = JournalPane(), Timeline([Note(t_s=float(index), text=f"note {index}") for index in range(60)])
    assert drawn(pane, timeline)[-1].strip().endswith("note 59")
    pane.action_page(-1)
    assert drawn(pane, timeline)[-1].strip().endswith("note 43")
    pane.action_edge(-1)
    assert drawn(pane, timeline)[0].strip().endswith("note 0")
    pane.action_edge(1)
    assert drawn(pane, timeline)[-1].strip().endswith("note 59")


def test_long_entries_of_the_journal_wrap_and_are_indented_below_their_text() -> None:
    lines = drawn(JournalPane(), Timeline([Note(t_s=1.0, text="word " * 40)]))
    assert len(lines) > 2
    assert [line for line in lines[1:] if not line.startswith(" " * 10)] == []


def test_a_log_line_has_its_time_its_source_and_how_often_it_was_repeated() -> None:
    timeline = Timeline([Log(t_s=5.0, source="stderr", level="error", text="boom\n", repeated=3)])
    assert drawn(LogPane(), timeline)[0].split() == ["00:05", "stderr", "boom", "×3"]


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
