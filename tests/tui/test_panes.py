"""What the table panes say, as lines of text: aligned, whole, and never steered by foreign text."""

from __future__ import annotations

import errno
from collections.abc import Callable

import msgspec
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
    TargetFacts,
    Verdict,
)
from capexplorer.model.readings import (
    NeighboursReading,
    PortsReading,
    TargetReading,
    TargetTcpReading,
    TcpReading,
    WorkerReading,
    WorkersReading,
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
from capexplorer.tui.panes.resource_row import Row
from capexplorer.tui.panes.resources import ResourcesPane, tcp_rows
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.status_view import View
from trials.marked import marked

from .fakes import HOSTILE, Session, died, header, ready, session

LARGE, SMALL = Size(78, 18), Size(58, 10)
"""Insides of a pane at 80x24, and of one of six at 120x40."""

TABLES: list[Callable[[], Pane]] = [ResourcesPane, EndpointsPane, JournalPane, FailuresPane, LogPane]


def drawn(pane: Pane, timeline: Timeline, size: Size = LARGE) -> list[str]:
    look = Look(large=size == LARGE)
    return [strip.text for strip in pane.draw(timeline, len(timeline) - 1, look, size)]


def status_lines(timeline: Timeline, view: View | None = None, width: int = 78) -> list[str]:
    return [strip.text for strip in status(timeline, view or View(wanted=timeline.wanted, max_users=2_000), Palette(), width)]


def with_last(timeline: Timeline, **changes: object) -> Timeline:
    assert timeline.last is not None
    timeline.apply(msgspec.structs.replace(timeline.last, t_s=timeline.last.t_s + 1, **changes))
    return timeline


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
    signature = FailureSignature(types=(HOSTILE,), text=HOSTILE)
    tick = EndpointTick(name=HOSTILE, method=HOSTILE, requests=1, failures=1)
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


def test_a_settling_level_shows_the_last_second_and_says_so() -> None:
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


# -- resources


def test_resources_show_every_part_with_its_unit() -> None:
    for size in (LARGE, SMALL):
        text = "\n".join(drawn(ResourcesPane(), Timeline(session()), size))
        for shown in ("of 2 cores", "of 1 core", "MiB", "of 8.00 GiB", "ms p99", "of 28.2k", "TIME_WAIT", "KiB/s in"):
            assert shown in text, (shown, size)


def test_no_detail_is_cut() -> None:
    whole = {part.strip() for line in drawn(ResourcesPane(), Timeline(session()), Size(200, 60)) for part in line.split(",")}
    for size in (LARGE, SMALL):
        for line in drawn(ResourcesPane(), Timeline(session()), size):
            for part in line.split(",")[1:]:
                assert any(part.strip() in each for each in whole)


def test_with_workers_the_generator_is_the_fullest_one_and_each_has_a_row_below_all_others() -> None:
    rows = (
        WorkerReading(name="1", users=10, requests=40, cpu_ratio=0.2, loop_lag_p99_ms=1.0, fds=30, fds_limit=1_024),
        WorkerReading(name="2@box", users=10, requests=38, cpu_ratio=0.95, loop_lag_p99_ms=9.0, is_late=True),
    )
    workers = WorkersReading(count=12, fullest="2@box", late=1, plain=1, cpu_ratio=1.15, rows=rows)
    lines = drawn(ResourcesPane(), with_last(Timeline(session()), workers=workers), Size(118, 40))
    assert any(line.split()[0] == "generator" and "worker 2@box is the fullest of 12" in line for line in lines if line.strip())
    summary, plain, first, second = [line.split() for line in lines if line.strip()][-4:]
    assert summary[:2] == ["workers", "12"]
    assert plain[:3] == ["1", "plain", "Locust:"]
    assert (first[0], second[0], "late" in second) == ("1", "2@box", True)


def test_unmeasured_is_a_dash_never_a_zero() -> None:
    timeline = with_last(Timeline(session()), generator=None, host=None, ports=None, tcp=None, targets=())
    text = "\n".join(drawn(ResourcesPane(), timeline))
    assert "–" in text
    assert not any(word.strip("%,") in ("0", "0.00") for word in text.split())


@pytest.mark.parametrize(
    ("ports", "warned"),
    [
        (PortsReading(capacity=1_000, used=100), False),
        (PortsReading(capacity=1_000, used=801), True),
        (PortsReading(capacity=1_000, used=100, burn_rate_per_s=8.0, exhausted_in_s=119.0), True),
        (PortsReading(capacity=1_000, used=100, burn_rate_per_s=1.0, exhausted_in_s=900.0), False),
    ],
)
def test_ports_warn_when_nearly_full_or_soon_full(ports: PortsReading, warned: bool) -> None:
    lines = drawn(ResourcesPane(), with_last(Timeline(session()), ports=ports))
    row = next(line for line in lines if line.startswith(" ports"))
    assert (" !" in row) is warned


def test_tcp_counts_of_the_whole_host_are_named_so_and_do_not_warn() -> None:
    quiet = with_last(Timeline(session()), tcp=TcpReading(listen_overflows=0, active_opens=9))
    assert not any("tcp" in line for line in drawn(ResourcesPane(), quiet))
    neighbours = with_last(Timeline(session()), tcp=TcpReading(attempt_fails=143, target=TargetTcpReading(segments_sent=900)))
    [row] = _tcp_rows(neighbours)
    assert (row.label, row.details, row.warned) == ("host tcp", ("failed connects +143",), False)


def test_tcp_trouble_of_the_service_and_its_users_warns() -> None:
    refused = FailureTick(
        name="/a", method="GET", signature=FailureSignature(types=("ConnectionRefusedError",), errno=errno.ECONNREFUSED), count=5
    )
    reset = FailureTick(name="/a", method="GET", signature=FailureSignature(types=("ConnectionResetError",), errno=104), count=7)
    tcp = TcpReading(listen_drops=9, target=TargetTcpReading(listen_drops=3, segments_retransmitted=2))
    own, of_host = _tcp_rows(with_last(Timeline(session()), tcp=tcp, failures=(refused, reset)))
    assert own.label == "tcp" and own.warned
    assert own.details == ("service's listen drops +3", "service's retransmits +2", "users' failed connects +5")
    assert of_host.details == ("listen drops +9",) and not of_host.warned


def _tcp_rows(timeline: Timeline) -> list[Row]:
    assert timeline.last is not None
    return list(tcp_rows(timeline.last, Palette()))


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


# -- status


def test_the_status_says_what_and_how_far() -> None:
    timeline = Timeline(session([(50, 20)]))
    first, second, following = status_lines(timeline, width=118)
    assert first.split("   ")[0].strip() == "● 00:21"
    for shown in ("mixed", "ready", "http://127.0.0.1:18080", "users 50", "of 2,000 allowed", "step 1"):
        assert shown in first
    for shown in ("level 0, settled 16 s", "FastHttpUser overhead 0.42 ms", "loop lag p99"):
        assert shown in second
    assert following.startswith(" NEXT  ")


def test_the_status_names_every_client_class_in_use() -> None:
    timeline = Timeline(session([(50, 20)]))
    assert timeline.header is not None
    timeline.header = msgspec.structs.replace(timeline.header, clients=("FastHttpUser", "User"))
    second = status_lines(timeline, width=140)[1]
    assert "FastHttpUser overhead 0.42 ms" in second and " User (overhead unknown)" in second


@pytest.mark.parametrize("width", [78, 118, 40])
def test_status_lines_are_never_cut(width: int) -> None:
    view = View(wanted=1_900, max_users=2_000, step=500, paused=True, spawn_rate=12.5)
    for line in status_lines(Timeline(session()), view, width):
        assert cell_len(line) == width
    assert "users 80 → 1,900" in status_lines(Timeline(session()), view, width)[0]


@pytest.mark.parametrize(("seconds", "shown"), [(1, "spawning 50 of 50"), (3, "settling 3 s"), (9, "settled 5 s")])
def test_the_phase_says_how_long(seconds: int, shown: str) -> None:
    assert shown in status_lines(Timeline(session([(50, seconds)])))[1]


def test_the_status_says_which_share_of_its_users_is_warm_while_too_few_are() -> None:
    timeline = with_last(Timeline(session([(50, 3)])), warm_users=20)
    assert "level 0, settling 4 s   40% of its users warm" in status_lines(timeline)[1]
    assert cell_len(status_lines(timeline, width=40)[1]) == 40
    assert "users warm" not in status_lines(with_last(timeline, warm_users=50))[1]


def test_a_service_that_ran_already_is_ready_once_it_was_asked() -> None:
    head = msgspec.structs.replace(header(), target=TargetFacts(name="shop", url="http://127.0.0.1:80"))
    assert "mixed   shop starting" in status_lines(Timeline([head]))[0]
    assert "mixed   shop ready" in status_lines(Timeline([head, Target(t_s=0.1, state="ready")]))[0]


def test_a_service_that_cannot_be_reached_is_reported_with_why() -> None:
    failed = Target(t_s=0.1, state="failed", reason="cannot reach 127.0.0.1:18080: connection refused")
    lines = status_lines(Timeline([header(), failed]))
    assert "✗ target failed: cannot reach 127.0.0.1:18080: connection refused; retrying" in lines[-1]


PLAN_OVER = Command(t_s=9.0, name="plan", by="plan", args={"on": False, "what": "plan", "why": "finished", "users": 50})


def test_a_plans_end_is_reported_with_the_keys_that_continue_until_someone_steps() -> None:
    reported = " PLAN ENDED  50 users keep running; + - load, a autopilot, p plan, x zero"
    ended = [*session([(50, 9)]), PLAN_OVER]
    assert any(reported in line for line in status_lines(Timeline(ended)))
    for name in ("users", "autopilot", "restart"):
        after = Timeline([*ended, Command(t_s=9.5, name=name, args={})])
        assert not any("PLAN ENDED" in line for line in status_lines(after))


def test_a_level_that_was_closed_is_not_counted_on() -> None:
    timeline = Timeline(session([(50, 9)]))
    timeline.apply(timeline.levels[-1].ending(9.5))
    assert "settled 5 s, ended" in status_lines(timeline)[1]


def test_a_late_loop_is_marked() -> None:
    timeline = Timeline(session())
    assert timeline.last is not None and timeline.last.generator is not None
    late = msgspec.structs.replace(timeline.last.generator, loop_lag_p99_ms=12.0)
    assert "loop lag p99 12.0 ms !" in status_lines(with_last(timeline, generator=late))[1]


# -- hold


def test_a_held_moment_does_not_move() -> None:
    made = Session()
    timeline = Timeline([header(), *made.open(10), *(made.tick() for _ in range(8))])
    held = moment(timeline)
    before = [drawn(kind(), held) for kind in TABLES]
    for event in [*(made.tick() for _ in range(5)), *made.open(20), made.tick(), Note(t_s=30.0, text="later")]:
        timeline.apply(event)
    assert isinstance(timeline.last, Sample) and timeline.last.level == 1
    assert [drawn(kind(), held) for kind in TABLES] == before
    assert len(held) == 8 and held.level is not None and held.level.ended_s is None


def _others(cpu_ratio: float | None, delay: float, **processes: float) -> Timeline:
    targets = (TargetReading(pid=7, cpu_ratio=0.3, run_delay_ratio=delay),)
    return with_last(Timeline(session()), targets=targets, neighbours=NeighboursReading(cpu_ratio=cpu_ratio, processes=processes))


def test_other_processes_have_a_row_with_their_names_and_who_waits_for_a_core() -> None:
    lines = drawn(ResourcesPane(), _others(1.6, 0.4, cc1plus=1.31, chrome=0.24), Size(160, 40))
    at = next(index for index, line in enumerate(lines) if line.startswith(" others cpu"))
    shown = " ".join(" ".join(lines[at : at + 2]).split())
    assert "1.60 of 2 cores !" in shown and "cc1plus 1.31, chrome 0.24, waits: target 0.40" in shown


def test_other_processes_that_nobody_waits_for_do_not_warn_and_unmeasured_ones_have_no_row() -> None:
    (row,) = [line for line in drawn(ResourcesPane(), _others(1.6, 0.01), LARGE) if line.startswith(" others cpu")]
    assert " !" not in row
    assert not any("others cpu" in line for line in drawn(ResourcesPane(), _others(None, 0.4), LARGE))


def test_a_name_of_another_process_cannot_steer_the_terminal() -> None:
    text = "\n".join(drawn(ResourcesPane(), _others(1.6, 0.4, **{"a\x1b[2Jb": 1.0}), Size(160, 40)))
    assert "\x1b" not in text and "␛[2Jb" in text
