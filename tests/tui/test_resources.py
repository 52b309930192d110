"""The pane of resources: rows of the generator, the target, the host, ports, TCP and other processes; warnings; spark lines."""

from __future__ import annotations

import pytest
from textual.geometry import Size

from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.resource_rows import Row, row_lines
from capexplorer.tui.panes.resources import ResourceHistory, ResourcesPane, spark_cells
from capexplorer.wording import units
from capexplorer.wording.units import LatencyUnits, Units

from .drawn import LARGE, SMALL, drawn
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
