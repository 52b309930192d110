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
    TargetTcpReading,
    TcpReading,
)
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.resource_rows import Row, row_lines
from capexplorer.tui.panes.resources import ResourceHistory, ResourcesPane, spark_cells, tcp_rows
from capexplorer.wording import units
from capexplorer.wording.units import LatencyUnits, Units

from .drawn import LARGE, SMALL, drawn, with_last
from .session_events import session


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


def test_bytes_that_wait_for_the_network_stand_beside_the_services_tcp() -> None:
    [row] = _tcp_rows(with_last(Timeline(session()), tcp=TcpReading(unsent_bytes=1 << 19, queued_bytes=1 << 19)))
    assert (row.label, row.details) == ("tcp", ("1 MiB wait to be sent",))


def _tcp_rows(timeline: Timeline) -> list[Row]:
    assert timeline.last is not None
    return list(tcp_rows(timeline.last, Palette()))


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
