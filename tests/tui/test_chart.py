"""Charts as characters: spikes, gaps, staircases, error bars, scales and labels."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from msgspec.structs import replace
from textual.geometry import Size
from textual.strip import Strip

from capexplorer.tui.display_options import Palette
from capexplorer.tui.render.axis import Axis, duration_axis, linear_axis, log_axis
from capexplorer.tui.render.chart import DASHED, DOTTED, SOLID, Boundary, Chart, Legend, Point, Series, Tag, legend_segments
from capexplorer.tui.render.draw import Plotter, draw_chart, pieces
from capexplorer.tui.render.raster import Pattern, Shape, spans

PALETTE = Palette()
RED, BLUE = "#ff0000", "#0000ff"


def text(strips: list[Strip]) -> list[str]:
    return [strip.text for strip in strips]


def plot(chart: Chart, columns: int, rows: int) -> list[str]:
    """The characters of the plot alone: it is too narrow for gutters and too low for an axis line."""
    assert columns < 24
    assert rows < 5
    assert not chart.legend
    return text(draw_chart(chart, PALETTE, Size(columns, rows)))


def dots(cells: list[str]) -> set[tuple[int, int]]:
    """(x, y) of the dots that are lit, from the top left."""
    places = {1: (0, 0), 2: (0, 1), 4: (0, 2), 64: (0, 3), 8: (1, 0), 16: (1, 1), 32: (1, 2), 128: (1, 3)}
    return {
        (column * 2 + dx, row * 4 + dy)
        for row, line in enumerate(cells)
        for column, character in enumerate(line)
        for bit, (dx, dy) in places.items()
        if 0x2800 < ord(character) < 0x2900 and (ord(character) - 0x2800) & bit
    }


def line(xs: list[float], ys: list[float], pattern: Pattern = Pattern.SOLID) -> Series:
    return Series(xs, ys, RED, pattern, gap=2.5)


def columns_lit(chart: Chart, columns: int = 10, rows: int = 4) -> set[int]:
    return {x for x, _ in dots(plot(chart, columns, rows))}


def test_a_one_second_spike_in_a_day_survives_60_columns() -> None:
    times = array("d", range(1, 86_401))
    values = array("d", [10.0]) * 86_400
    values[43_210] = 100.0
    chart = Chart(Axis(0, 86_400), Axis(0, 100), series=(Series(times, values, RED, gap=2.5),))
    rows = text(draw_chart(chart, PALETTE, Size(60, 12)))
    assert any(character != " " for character in rows[0][2:])


def test_a_one_second_dip_survives_too() -> None:
    times, values = array("d", range(10_000)), array("d", [50.0]) * 10_000
    values[5_000] = 0.0
    _, found = pieces(times, values, 0, 10_000, 20, 2.5)
    assert np.count_nonzero(~np.isnan(found)) <= 4 * 20 and np.nanmin(found) == 0.0


def test_nan_is_a_gap_and_neither_a_line_nor_zero() -> None:
    xs = [float(x) for x in range(20)]
    ys = [5.0] * 8 + [math.nan] * 4 + [5.0] * 8
    chart = Chart(Axis(0, 19), Axis(0, 10), series=(line(xs, ys),))
    assert columns_lit(chart) == set(range(8)) | set(range(12, 20))


def test_lost_ticks_are_a_gap() -> None:
    chart = Chart(Axis(0, 19), Axis(0, 10), series=(line([0, 1, 2, 17, 18, 19], [5.0] * 6),))
    assert columns_lit(chart) == {0, 1, 2, 17, 18, 19}


def test_nan_at_either_end_of_a_crowded_column_does_not_hide_its_spike() -> None:
    values = array("d", [math.nan, 5.0, 90.0, math.nan] * 1000)
    _, found = pieces(array("d", range(4000)), values, 0, 4000, 10, 2.5)
    assert np.nanmax(found) == 90.0 and np.nanmin(found) == 5.0


def test_a_lone_second_between_gaps_is_a_dot() -> None:
    chart = Chart(Axis(0, 19), Axis(0, 10), series=(line([4, 5, 6], [math.nan, 5.0, math.nan]),))
    assert columns_lit(chart) == {5}


def test_a_staircase_holds_its_value_then_jumps() -> None:
    stairs = Series([0, 10, 19], [0.0, 10.0, 10.0], RED, staircase=True)
    lit = dots(plot(Chart(Axis(0, 19), Axis(0, 10), series=(stairs,)), 10, 4))
    assert {y for x, y in lit if x < 10} == {15}
    assert {y for x, y in lit if x == 10} == set(range(16))
    assert {y for x, y in lit if x > 10} == {0}


def test_bars_start_at_the_lower_bound() -> None:
    bars = Series([3, 8], [10.0, 0.0], RED, bars=True)
    assert dots(plot(Chart(Axis(0, 19), Axis(0, 10), series=(bars,)), 10, 4)) == {(3, y) for y in range(16)}


def test_an_error_bar_spans_its_interval_around_its_shape() -> None:
    point = Point(10, 50, Shape.FILLED, RED, low=25, high=75)
    lit = dots(plot(Chart(Axis(0, 20), Axis(0, 100), points=(point,)), 11, 4))
    assert {y for x, y in lit if x == 10} == set(range(4, 12))
    assert {y for x, y in lit if x == 9} == {y for x, y in lit if x == 11} == {7, 8, 9}


def test_shapes_show_points_apart_without_colour() -> None:
    def lit(shape: Shape) -> int:
        return len(dots(plot(Chart(Axis(0, 20), Axis(0, 100), points=(Point(10, 50, shape, RED),)), 11, 4)))

    assert [lit(shape) for shape in (Shape.FILLED, Shape.HOLLOW, Shape.CROSS)] == [9, 8, 5]


def test_a_point_outside_the_axes_is_not_drawn() -> None:
    assert not dots(plot(Chart(Axis(0, 20), Axis(0, 100), points=(Point(10, 150, Shape.FILLED, RED),)), 11, 4))


def test_equal_factors_are_equal_distances_on_a_logarithmic_axis() -> None:
    values = [1.0, 100.0, 10_000.0]
    lone = tuple(Series([float(x)], [y], RED) for x, y in enumerate(values))
    chart = Chart(Axis(0, 2), replace(log_axis(1, 10_000, 4), ticks=()), series=lone)
    assert sorted(y for _, y in dots(plot(chart, 3, 4))) in ([0, 7, 15], [0, 8, 15])


def test_zero_has_no_place_on_a_logarithmic_axis() -> None:
    series = line([float(x) for x in range(20)], [10.0] * 5 + [0.0] * 5 + [10.0] * 10)
    chart = Chart(Axis(0, 19), replace(log_axis(1, 100, 4), ticks=()), series=(series,))
    assert columns_lit(chart) == set(range(5)) | set(range(10, 20))


def test_a_pattern_thins_flat_lines_and_never_a_jump() -> None:
    xs, flat = [float(x) for x in range(20)], [5.0] * 20
    assert len(columns_lit(Chart(Axis(0, 19), Axis(0, 10), series=(line(xs, flat, Pattern.DOTTED),)))) == 10
    spike = [*flat[:7], 10.0, *flat[8:]]
    lit = dots(plot(Chart(Axis(0, 19), Axis(0, 10), series=(line(xs, spike, Pattern.DOTTED),)), 10, 4))
    assert 0 in {y for _, y in lit}


def test_neighbouring_columns_of_a_line_touch() -> None:
    tops, bottoms = spans(np.array([0.0, 3.0, 9.0]), np.array([0.0, 30.0, 2.0]), 20)
    for x in range(9):
        assert tops[x + 1] <= bottoms[x] + 1 and tops[x] <= bottoms[x + 1] + 1
    assert all(tops[10:] > bottoms[10:])


def test_a_cell_shared_by_two_series_has_the_dots_of_both() -> None:
    xs = [float(x) for x in range(20)]
    over = Chart(Axis(0, 19), Axis(0, 10), series=(line(xs, [9.0] * 20), replace(line(xs, [7.0] * 20), color=BLUE)))
    strips = draw_chart(over, PALETTE, Size(10, 2))
    assert len({y for _, y in dots(text(strips))}) == 2
    assert {segment.style.color.name for strip in strips for segment in strip if segment.style and segment.style.color} == {BLUE}


def labelled() -> Chart:
    xs = [float(x) for x in range(61)]
    return Chart(
        x=duration_axis(0, 60, 3),
        y=linear_axis(100, 3),
        right=linear_axis(50, 3),
        legend=(Legend(SOLID, "goodput", "50.0", RED, short="good"), Legend(DOTTED, "throughput", "51.0", BLUE, short="all")),
        series=(Series(xs, [50.0] * 61, RED),),
        boundaries=(Boundary(0.0, "1"), Boundary(30.0, "20")),
        tags=(Tag(15.0, "▲", RED, "note"),),
        unsettled=((0.0, 10.0), (30.0, 40.0)),
        settled=((10.0, 30.0),),
    )


def test_a_chart_has_legend_scales_boundaries_axis_and_round_times() -> None:
    rows = text(draw_chart(labelled(), PALETTE, Size(60, 12)))
    assert rows[0] == "── goodput  50.0  ┈┈ throughput  51.0"
    assert [row[:4] for row in rows[1:10]] == ["100┤", "   │", "   │", "   │", " 50┤", "   │", "   │", "   │", "  0┤"]
    assert [row[-3:] for row in (rows[1], rows[2], rows[9])] == ["├50", "│  ", "├0 "]
    assert "20" in rows[1]
    assert "▲ note" in rows[10]
    assert "━" in rows[10]
    assert "╌" in rows[10]
    assert "─" in rows[10]
    assert rows[11].split() == ["00:00", "00:30", "01:00"]


def test_lines_of_unsettled_seconds_are_faint() -> None:
    strips = draw_chart(labelled(), PALETTE, Size(60, 12))
    colors = {segment.style.color.name for segment in strips[5] if segment.style and segment.style.color}
    assert RED in colors and len([color for color in colors if color.startswith("#8") and color != RED]) >= 1


def test_a_boundary_label_is_left_out_where_data_is_drawn() -> None:
    xs = [float(x) for x in range(61)]
    crowded = replace(labelled(), series=(Series(xs, [100.0] * 61, RED),))
    assert "20" not in text(draw_chart(crowded, PALETTE, Size(60, 12)))[1]


SERIES = (
    Legend(SOLID, "from plan p50", "30.5", RED, short="p50"),
    Legend(DASHED, "p95", "200.6", RED),
    Legend(DOTTED, "p99", "1.21k", RED),
    Legend("", "loop lag p99", "3.30", RED, short="loop lag", aside=True),
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "── from plan p50  30.5  ╌╌ p95 200.6  ┈┈ p99 1.21k  loop lag p99  3.30"),
        (60, "── p50  30.5  ╌╌ p95 200.6  ┈┈ p99 1.21k  loop lag  3.30"),
        (50, "── p50  30.5  ╌╌ p95 200.6  ┈┈ p99 1.21k"),
        (38, "─ p50  30.5 ╌ p95 200.6 ┈ p99 1.21k"),
        (32, "─p50 30.5 ╌p95 200.6 ┈p99 1.21k"),
        (26, "─p50 30.5 ╌p95 200.6 ┈p99"),
        (20, "─p50 30.5 ╌p95 ┈p99"),
        (15, "─p50 30.5 ╌p95"),
        (5, ""),
        (0, ""),
    ],
)
def test_a_legend_names_every_series_as_long_as_the_names_fit(width: int, shown: str) -> None:
    assert "".join(segment.text for segment in legend_segments(SERIES, PALETTE, width)) == shown


def test_the_letter_of_a_line_never_touches_its_name() -> None:
    legends = [replace(legend, letter=letter) for legend, letter in zip(SERIES[:3], "abc", strict=True)]
    for width in range(10, 60):
        shown = "".join(segment.text for segment in legend_segments(legends, replace(PALETTE, colours=False), width))
        assert shown.startswith("a p50") or shown.startswith("a from plan p50")


@pytest.mark.parametrize("width", range(1, 40, 3))
@pytest.mark.parametrize("height", range(1, 14))
def test_a_chart_fits_its_size(width: int, height: int) -> None:
    strips = draw_chart(labelled(), PALETTE, Size(width, height))
    assert 0 < len(strips) <= height
    assert all(strip.cell_length <= width for strip in strips)


def test_equal_charts_are_equal_strips() -> None:
    assert draw_chart(labelled(), PALETTE, Size(60, 12)) == draw_chart(labelled(), PALETTE, Size(60, 12))


def test_a_chart_with_a_moved_cursor_equals_one_that_is_drawn_without_a_cache() -> None:
    plotter = Plotter()
    gaps = replace(line([float(x) for x in range(61)], [50.0, math.nan, 80.0] * 20 + [10.0]), letter="a")
    for chart in (labelled(), replace(labelled(), series=(gaps,)), replace(labelled(), x=Axis(0, 120))):
        for cursor in (None, 10.0, 33.0, 60.0, 500.0, None):
            moved = replace(chart, cursor=cursor, cursor_label="0:33")
            for size in (Size(60, 12), Size(40, 8)):
                assert draw_chart(moved, PALETTE, size, plotter) == draw_chart(moved, PALETTE, size)


def test_the_cursor_lies_behind_data_and_text() -> None:
    flat = line([float(x) for x in range(20)], [5.0] * 20)
    strips = draw_chart(Chart(Axis(0, 19), Axis(0, 10), series=(flat,), cursor=10.0), PALETTE, Size(10, 3))
    assert [row[5] for row in text(strips)] == ["⡇", "⠤", "⡇"]
