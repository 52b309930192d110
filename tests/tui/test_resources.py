"""The pane of resources: rows of the generator, the target, the host, ports, TCP and other processes; warnings; spark lines."""

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
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.resource_rows import Row, row_lines
from capexplorer.tui.panes.resources import ResourceHistory, ResourcesPane, spark_cells, tcp_rows
from capexplorer.wording import units
from capexplorer.wording.units import LatencyUnits, Units

from .drawn import LARGE, SMALL, drawn, with_last
from .session_events import session


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
def test_each_figure_of_the_resources_has_its_unit(size: Size) -> None:
    text = "\n".join(drawn(ResourcesPane(), Timeline(session()), size))
    units_shown = ("of 2 cores", "of 1 core", "MiB", "of 8 GiB", "ms p99", "of 28.2k", "TIME_WAIT", "KiB/s in")
    assert [unit for unit in units_shown if unit not in text] == []


@pytest.mark.parametrize("window_s", [None, 300.0, 30.0], ids=["whole session", "longer window", "shorter window"])
def test_a_spark_line_of_a_session_of_one_minute_is_filled(window_s: float | None) -> None:
    timeline = Timeline(session())
    spark = ResourceHistory(timeline, len(timeline) - 1, window_s, cells=10).spark("target_cpu_ratio")
    assert len(spark.lstrip()) >= 9, spark


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["large", "small"])
def test_details_that_do_not_fit_are_left_out_and_not_cut(size: Size) -> None:
    def details(of_size: Size, first: int) -> set[str]:
        """The parts of each line between commas, from the part with this index on."""
        lines = drawn(ResourcesPane(), Timeline(session()), of_size)
        return {part.strip() for line in lines for part in line.split(",")[first:]}

    uncut = details(Size(200, 60), first=0)
    assert [part for part in details(size, first=1) if not any(part in each for each in uncut)] == []


def test_with_workers_the_generator_row_is_of_the_busiest_and_the_rows_of_workers_are_last() -> None:
    rows = (
        WorkerReading(name="1", users=10, requests=40, cpu_ratio=0.2, loop_lag_p99_ms=1.0, fds=30, fds_limit=1_024),
        WorkerReading(name="2@box", users=10, requests=38, cpu_ratio=0.95, loop_lag_p99_ms=9.0, is_late=True),
    )
    workers = WorkersReading(count=12, fullest="2@box", late=1, plain=1, cpu_ratio=1.15, rows=rows)
    lines = drawn(ResourcesPane(), with_last(Timeline(session()), workers=workers), Size(118, 40))
    filled = [line for line in lines if line.strip()]
    (generator,) = [line for line in filled if line.split()[0] == "generator"]
    assert "worker 2@box is the busiest of 12" in generator
    summary, plain, first, second = [line.split() for line in filled[-4:]]
    assert summary[:2] == ["workers", "12"]
    assert plain[:3] == ["1", "plain", "Locust:"], "the number of workers that run Locust alone is missing"
    assert first[0] == "1"
    assert second[0] == "2@box"
    assert "late" in second


def test_readings_that_were_not_measured_are_dashes_and_not_zeros() -> None:
    timeline = with_last(Timeline(session()), generator=None, host=None, ports=None, tcp=None, targets=())
    text = "\n".join(drawn(ResourcesPane(), timeline))
    assert "–" in text
    assert [word for word in text.split() if word.strip("%,") in ("0", "0.00")] == []


@pytest.mark.parametrize(
    ("ports", "has_warning"),
    [
        (PortsReading(capacity=1_000, used=100), False),
        (PortsReading(capacity=1_000, used=801), True),
        (PortsReading(capacity=1_000, used=100, burn_rate_per_s=8.0, exhausted_in_s=119.0), True),
        (PortsReading(capacity=1_000, used=100, burn_rate_per_s=1.0, exhausted_in_s=900.0), False),
    ],
    ids=["10% used", "80% used", "exhausted in 2 minutes", "exhausted in 15 minutes"],
)
def test_ports_have_a_warning_from_80_percent_or_2_minutes_before_exhaustion(ports: PortsReading, has_warning: bool) -> None:
    lines = drawn(ResourcesPane(), with_last(Timeline(session()), ports=ports))
    row = next(line for line in lines if line.startswith(" ports"))
    assert (" !" in row) is has_warning


def test_tcp_problems_of_other_processes_are_labelled_host_tcp_without_a_warning() -> None:
    without_problems = with_last(Timeline(session()), tcp=TcpReading(listen_overflows=0, active_opens=9))
    assert [line for line in drawn(ResourcesPane(), without_problems) if "tcp" in line] == []
    neighbours = with_last(Timeline(session()), tcp=TcpReading(attempt_fails=143, target=TargetTcpReading(segments_sent=900)))
    [row] = _tcp_rows(neighbours)
    assert row.label == "host tcp"
    assert row.details == ("failed connects +143",)
    assert not row.warned


def test_tcp_problems_of_the_service_and_its_users_have_a_warning() -> None:
    refused = FailureTick(
        name="/a", method="GET", signature=FailureSignature(types=("ConnectionRefusedError",), errno=errno.ECONNREFUSED), count=5
    )
    reset = FailureTick(name="/a", method="GET", signature=FailureSignature(types=("ConnectionResetError",), errno=104), count=7)
    tcp = TcpReading(listen_drops=9, target=TargetTcpReading(listen_drops=3, segments_retransmitted=2))
    own, of_host = _tcp_rows(with_last(Timeline(session()), tcp=tcp, failures=(refused, reset)))
    assert own.label == "tcp"
    assert own.warned
    assert own.details == ("service's listen drops +3", "service's retransmits +2", "users' failed connects +5")
    assert of_host.details == ("listen drops +9",)
    assert not of_host.warned


def _tcp_rows(timeline: Timeline) -> list[Row]:
    assert timeline.last is not None
    return list(tcp_rows(timeline.last, Palette()))


def beside_others(cores_of_others: float | None, target_waits_ratio: float, **processes: float) -> Timeline:
    """A session at whose end other processes use so many cores, and the target waits for a core for this share of the time."""
    targets = (TargetReading(pid=7, cpu_ratio=0.3, run_delay_ratio=target_waits_ratio),)
    others = NeighboursReading(cpu_ratio=cores_of_others, processes=processes)
    return with_last(Timeline(session()), targets=targets, neighbours=others)


def test_the_row_of_other_processes_has_their_names_and_the_target_s_wait_for_a_core() -> None:
    lines = drawn(ResourcesPane(), beside_others(1.6, 0.4, cc1plus=1.31, chrome=0.24), Size(160, 40))
    begin = next(index for index, line in enumerate(lines) if line.startswith(" others cpu"))
    text = " ".join(" ".join(lines[begin : begin + 2]).split())
    assert "1.60 of 2 cores !" in text
    assert "cc1plus 1.31, chrome 0.24, waits: target 0.40" in text


def test_other_processes_for_which_the_target_does_not_wait_have_no_warning() -> None:
    (row,) = [line for line in drawn(ResourcesPane(), beside_others(1.6, 0.01), LARGE) if line.startswith(" others cpu")]
    assert " !" not in row


def test_other_processes_that_were_not_measured_have_no_row() -> None:
    assert [line for line in drawn(ResourcesPane(), beside_others(None, 0.4), LARGE) if "others cpu" in line] == []


def test_the_name_of_another_process_cannot_control_the_terminal() -> None:
    text = "\n".join(drawn(ResourcesPane(), beside_others(1.6, 0.4, **{"a\x1b[2Jb": 1.0}), Size(160, 40)))
    assert "\x1b" not in text
    assert "␛[2Jb" in text


@pytest.mark.parametrize("latencies", ["ms", "s", "auto"])
def test_no_figure_is_cut_in_a_quarter_of_80x24(latencies: LatencyUnits) -> None:
    units.choose(Units(latencies=latencies))
    try:
        cells = spark_cells(38)
        (line,) = row_lines(Row("host mem", "▁" * cells, "0.76", "of 23.5 GiB", color="#ffffff"), Palette(), 38, cells, more=0)
    finally:
        units.choose(Units())
    assert line.text.rstrip().endswith(" 0.76 of 23.5 GiB")


def test_with_an_inspection_cursor_the_spark_line_of_host_memory_has_the_same_scale() -> None:
    timeline = Timeline(session())
    newest = len(timeline) - 1

    def host_memory(options: DisplayOptions) -> str:
        strips = ResourcesPane().draw(timeline, newest, options, Size(38, 9))
        return next(strip.text for strip in strips if "host mem" in strip.text)

    assert host_memory(DisplayOptions(inspected=newest)) == host_memory(DisplayOptions())
