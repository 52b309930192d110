"""What the table panes say, as lines of text: aligned, whole, and never steered by foreign text."""

from __future__ import annotations

from collections.abc import Callable

import pytest
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
from capexplorer.tui.frozen_timeline import moment
from capexplorer.tui.look import Look, Palette
from capexplorer.tui.panes.endpoints import EndpointsPane
from capexplorer.tui.panes.failures import FailuresPane
from capexplorer.tui.panes.journal import JournalPane
from capexplorer.tui.panes.log import LogPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.resources import ResourcesPane
from trials.marked import marked

from .drawn import LARGE, SMALL, drawn, status_lines, with_last
from .session_events import HOSTILE_TEXT, SessionMaker, died, header, ready, session

TABLES: list[Callable[[], Pane]] = [ResourcesPane, EndpointsPane, JournalPane, FailuresPane, LogPane]


# -- all of them


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("size", [LARGE, SMALL, Size(20, 4), Size(1, 1), Size(200, 60)])
def test_lines_fill_the_pane_exactly_and_no_more(kind: Callable[[], Pane], size: Size) -> None:
    for timeline in (Timeline(), Timeline([header(), ready()]), Timeline([*session(), died(70.0)])):
        lines = drawn(kind(), timeline, size)
        assert len(lines) <= size.height
        assert all(cell_len(line) == size.width for line in lines)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("size", [LARGE, SMALL])
def test_drawing_is_pure(kind: Callable[[], Pane], size: Size) -> None:
    timeline = Timeline(session())
    assert drawn(kind(), timeline, size) == drawn(kind(), timeline, size)


@pytest.mark.parametrize("kind", TABLES)
def test_foreign_text_is_inert(kind: Callable[[], Pane]) -> None:
    timeline = Timeline([*session(), died(70.0)])
    signature = FailureSignature(types=(HOSTILE_TEXT,), text=HOSTILE_TEXT)
    tick = EndpointTick(name=HOSTILE_TEXT, method=HOSTILE_TEXT, requests=1, failures=1)
    with_last(
        timeline,
        phase="settling",
        endpoints=(tick,),
        failures=(FailureTick(name="/", method="GET", signature=signature, count=1),),
    )
    text = "\n".join([*drawn(kind(), timeline), *status_lines(timeline)])
    assert not any(character in text for character in "\x1b\x9b\x07\u202e")


def test_escapes_and_markup_are_shown_as_text() -> None:
    text = " ".join(drawn(JournalPane(), Timeline([Note(t_s=1.0, text="\x1b[31mred [bold]b[/bold]")])))
    assert "␛[31mred [bold]b[/bold]" in text


# -- endpoints


def test_a_settled_level_shows_its_settled_seconds() -> None:
    timeline = Timeline(session([(50, 20)]))
    lines = drawn(EndpointsPane(), timeline)
    assert lines[0].strip() == "level 0, 50 users: settled 16 s"
    assert lines[1].split() == ["requests", "req/s", "failed", "%", "p50", "p95", "p99", "max", "bytes"]
    assert lines[2].split()[:2] == ["GET", "/health"]
    assert lines[5].split()[0] == "all"


def test_a_settling_level_shows_the_last_second_labelled_as_such() -> None:
    lines = drawn(EndpointsPane(), Timeline(session([(50, 3)])))
    assert lines[0].strip() == "level 0, 50 users: the last second, settling"


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
def test_the_endpoint_that_degrades_first_has_a_mark_and_the_titles_explain_it(size: Size) -> None:
    timeline = Timeline(session([(50, 20)]))
    first = EndpointDegradation(method="GET", name="/health", users=30, column="latency", before=12, after=480)
    timeline.apply(Verdict(t_s=timeline.last_s, first_endpoint=first))
    _, titles, *rows = drawn(EndpointsPane(), timeline, size)
    assert titles.split()[:3] == ["▸", "degrades", "first"]
    assert [row.split()[1:3] for row in rows if row.strip().startswith("▸")] == [["GET", "/health"]]


def test_figures_stand_under_their_titles() -> None:
    for size in (LARGE, SMALL):
        titles, *rows = drawn(EndpointsPane(), Timeline(session([(50, 20)])), size)[1:6]
        ends = {title: titles.index(title) + len(title) for title in titles.split()}
        for row in rows:
            assert all(row[end - 1] != " " and row[end : end + 1] in (" ", "") for end in ends.values())


def test_narrow_keeps_rates_failures_and_percentiles() -> None:
    titles = drawn(EndpointsPane(), Timeline(session([(50, 20)])), SMALL)[1].split()
    assert titles == ["requests", "req/s", "%", "p50", "p95", "p99"]


@pytest.mark.parametrize(("seconds", "grey"), [(6, {"p95", "p99"}), (14, {"p99"}), (60, set())])
def test_percentiles_on_too_few_values_are_grey(seconds: int, grey: set[str]) -> None:
    palette = Palette()
    strips = EndpointsPane().draw(Timeline(session([(10, seconds)])), seconds - 1, Look(large=True), LARGE)
    total = next(strip for strip in strips if strip.text.strip().startswith("all"))
    figures = [segment for segment in total if segment.text.strip()][1:]
    titles = ["requests", "req/s", "failed", "%", "p50", "p95", "p99"]
    colors = {
        title: segment.style and segment.style.color and segment.style.color.name
        for title, segment in zip(titles, figures, strict=False)
    }
    assert {title for title in ("p50", "p95", "p99") if colors[title] == palette.muted} == grey


def test_many_endpoints_scroll() -> None:
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


def test_a_long_name_is_shortened_in_the_middle() -> None:
    timeline = Timeline(session([(10, 3)]))
    name = "/api/v1/customers/{id}/orders/{id}/lines"
    with_last(timeline, phase="settling", endpoints=(EndpointTick(name=name, method="GET", requests=1),))
    row = drawn(EndpointsPane(), timeline, SMALL)[2]
    assert "…" in row and row.split("…")[1].split()[0].endswith("lines")


# -- journal and log


def test_the_journal_shows_commands_notes_marks_and_the_target() -> None:
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


def test_a_burst_of_steps_is_one_entry() -> None:
    steps = [Command(t_s=1 + index / 10, name="users", args={"users": index}) for index in range(10)]
    later = Command(t_s=9.0, name="users", args={"users": 50})
    assert [line.strip() for line in drawn(JournalPane(), Timeline([*steps, later]))] == [
        "00:01 › users → 9",
        "00:09 › users → 50",
    ]


def test_the_newest_is_seen_and_older_ones_are_a_page_away() -> None:
    pane, timeline = JournalPane(), Timeline([Note(t_s=float(index), text=f"note {index}") for index in range(60)])
    assert drawn(pane, timeline)[-1].strip().endswith("note 59")
    pane.action_page(-1)
    assert drawn(pane, timeline)[-1].strip().endswith("note 43")
    pane.action_edge(-1)
    assert drawn(pane, timeline)[0].strip().endswith("note 0")
    pane.action_edge(1)
    assert drawn(pane, timeline)[-1].strip().endswith("note 59")


def test_long_entries_wrap_under_their_text() -> None:
    lines = drawn(JournalPane(), Timeline([Note(t_s=1.0, text="word " * 40)]))
    assert len(lines) > 2
    assert all(line.startswith(" " * 10) for line in lines[1:])


def test_log_lines_say_where_they_come_from_and_how_often() -> None:
    timeline = Timeline([Log(t_s=5.0, source="stderr", level="error", text="boom\n", repeated=3)])
    assert drawn(LogPane(), timeline)[0].split() == ["00:05", "stderr", "boom", "×3"]


def test_the_log_scrolls_to_its_first_line() -> None:
    pane, timeline = LogPane(), Timeline([Log(t_s=0.0, source="stdout", text=f"line {index}") for index in range(100)])
    for _ in range(10):
        drawn(pane, timeline)
        pane.action_page(-1)
    assert drawn(pane, timeline)[0].strip().endswith("line 0")


# -- hold


def test_a_held_moment_does_not_move() -> None:
    maker = SessionMaker()
    timeline = Timeline([header(), *maker.open(10), *(maker.tick() for _ in range(8))])
    held = moment(timeline)
    before = [drawn(kind(), held) for kind in TABLES]
    for event in [*(maker.tick() for _ in range(5)), *maker.open(20), maker.tick(), Note(t_s=30.0, text="later")]:
        timeline.apply(event)
    assert isinstance(timeline.last, Sample) and timeline.last.level == 1
    assert [drawn(kind(), held) for kind in TABLES] == before
    assert len(held) == 8
    assert held.level is not None
    assert held.level.ended_s is None
