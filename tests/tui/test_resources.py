"""What the pane of resources shows of the generator, the target, the host, its ports and other processes."""

from __future__ import annotations

import errno

import pytest
from textual.geometry import Size

from capexplorer.model.events import (
    FailureSignature,
    FailureTick,
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
from capexplorer.tui.look import Look, Palette
from capexplorer.tui.panes.resource_history import ResourceHistory
from capexplorer.tui.panes.resource_row import Row, row_lines
from capexplorer.tui.panes.resources import ResourcesPane, picture_cells, tcp_rows
from capexplorer.wording import units
from capexplorer.wording.units import LatencyUnits, Units

from .drawn import LARGE, SMALL, drawn, with_last
from .session_events import session


def test_resources_show_every_part_with_its_unit() -> None:
    for size in (LARGE, SMALL):
        text = "\n".join(drawn(ResourcesPane(), Timeline(session()), size))
        for shown in ("of 2 cores", "of 1 core", "MiB", "of 8 GiB", "ms p99", "of 28.2k", "TIME_WAIT", "KiB/s in"):
            assert shown in text, (shown, size)


@pytest.mark.parametrize("window_s", [None, 300.0, 30.0], ids=["whole session", "longer window", "shorter window"])
def test_a_spark_line_is_filled_however_young_the_session_is(window_s: float | None) -> None:
    timeline = Timeline(session())
    spark = ResourceHistory(timeline, len(timeline) - 1, window_s, cells=10).spark("target_cpu_ratio")
    assert len(spark.lstrip()) >= 9, spark


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
    assert any(line.split()[0] == "generator" and "worker 2@box is the busiest of 12" in line for line in lines if line.strip())
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


def _others(cpu_ratio: float | None, delay: float, **processes: float) -> Timeline:
    targets = (TargetReading(pid=7, cpu_ratio=0.3, run_delay_ratio=delay),)
    return with_last(Timeline(session()), targets=targets, neighbours=NeighboursReading(cpu_ratio=cpu_ratio, processes=processes))


def test_other_processes_have_a_row_with_their_names_and_who_waits_for_a_core() -> None:
    lines = drawn(ResourcesPane(), _others(1.6, 0.4, cc1plus=1.31, chrome=0.24), Size(160, 40))
    at = next(index for index, line in enumerate(lines) if line.startswith(" others cpu"))
    shown = " ".join(" ".join(lines[at : at + 2]).split())
    assert "1.60 of 2 cores !" in shown and "cc1plus 1.31, chrome 0.24, waits: target 0.40" in shown


def test_other_processes_without_waiting_threads_do_not_warn_and_unmeasured_ones_have_no_row() -> None:
    (row,) = [line for line in drawn(ResourcesPane(), _others(1.6, 0.01), LARGE) if line.startswith(" others cpu")]
    assert " !" not in row
    assert not any("others cpu" in line for line in drawn(ResourcesPane(), _others(None, 0.4), LARGE))


def test_a_name_of_another_process_cannot_steer_the_terminal() -> None:
    text = "\n".join(drawn(ResourcesPane(), _others(1.6, 0.4, **{"a\x1b[2Jb": 1.0}), Size(160, 40)))
    assert "\x1b" not in text and "␛[2Jb" in text


@pytest.mark.parametrize("latencies", ["ms", "s", "auto"])
def test_no_figure_is_cut_in_a_quarter_of_80x24(latencies: LatencyUnits) -> None:
    units.choose(Units(latencies=latencies))
    try:
        cells = picture_cells(38)
        (line,) = row_lines(Row("host mem", "▁" * cells, "0.76", "of 23.5 GiB", color="#ffffff"), Palette(), 38, cells, more=0)
    finally:
        units.choose(Units())
    assert line.text.rstrip().endswith(" 0.76 of 23.5 GiB")


def test_at_the_cursor_memory_of_the_host_is_on_the_same_scale_as_without_it() -> None:
    timeline = Timeline(session())
    pane, tick = ResourcesPane(), len(timeline) - 1
    looks = (Look(), Look(inspected=tick))
    texts = [[strip.text for strip in pane.draw(timeline, tick, look, Size(38, 9))] for look in looks]
    now, at_cursor = (next(line for line in lines if "host mem" in line) for lines in texts)
    assert now == at_cursor
