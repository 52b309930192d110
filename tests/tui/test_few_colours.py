"""On terminals with 16 colours, without braille or without colours, series are distinct and labels touch no line."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec.structs import fields, replace
from rich.color import Color, ColorSystem
from rich.style import Style
from textual.geometry import Size
from textual.theme import Theme

from capexplorer.configuration import Markers
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.base_app import DARK, SIXTEEN, dress, palette_of
from capexplorer.tui.display_options import Palette
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.panes.resource_rows import Row, row_lines
from capexplorer.tui.render.axis import Axis
from capexplorer.tui.render.chart import Band, Boundary, Chart, Point, Series
from capexplorer.tui.render.draw import blend, draw_chart
from capexplorer.tui.render.raster import Pattern, Raster, Shape, octants

from .fake_source import FakeSource
from .session_events import session
from .stage import NARROW, Stage

SERIES = ("primary", "secondary", "accent", "error")
"""Colours of lines that share a chart."""


def nearest(color: str) -> int | None:
    return Color.parse(color).downgrade(ColorSystem.STANDARD).number


def test_series_have_colours_of_their_own_among_sixteen_also_where_they_are_faded() -> None:
    palette = palette_of(SIXTEEN)
    others = {nearest(palette.text), nearest(palette.muted), nearest(palette.faint), nearest(palette.background)}
    for shown in (
        [getattr(palette, name) for name in SERIES],
        [blend(getattr(palette, name), "#000000", 0.5) for name in SERIES],
    ):
        found = [nearest(color) for color in shown]
        assert len(set(found)) == len(SERIES)
        assert not others & set(found)


def test_text_is_readable_on_the_bars_of_the_screen() -> None:
    theme, palette = SIXTEEN, palette_of(SIXTEEN)
    behind = {nearest(theme.panel or ""), nearest(theme.background or "")}
    shown = {nearest(getattr(palette, field.name)) for field in fields(Palette) if field.name in ("text", "muted", *SERIES)}
    assert not behind & shown


@pytest.mark.parametrize(("system", "theme"), [(ColorSystem.STANDARD, SIXTEEN), (ColorSystem.EIGHT_BIT, DARK), (None, DARK)])
def test_the_theme_is_one_that_the_terminal_can_show(system: ColorSystem | None, theme: Theme) -> None:
    app = ExplorerApp(LiveFeed(FakeSource()), ViewOnlyActions())
    app.console._color_system = system
    dress(app)
    assert app.theme == theme.name


@pytest.mark.parametrize(("term", "markers"), [("linux", "blocks"), ("screen", "braille"), ("xterm-256color", "braille")])
def test_the_linux_console_has_no_braille(term: str, markers: Markers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    assert palette_of(SIXTEEN).markers == markers
    assert palette_of(SIXTEEN, "ascii").markers == "ascii"


def drawn(chart: Chart, palette: Palette) -> list[str]:
    return [strip.text for strip in draw_chart(chart, palette, Size(60, 14))]


def flat(*patterns: Pattern) -> Chart:
    """A chart of flat lines at different heights, one for each pattern."""
    xs = [float(x) for x in range(100)]
    lines = (Series(xs, [10.0 * (index + 1)] * 100, "#ffffff", pattern) for index, pattern in enumerate(patterns))
    return Chart(Axis(0, 99), Axis(0, 40), series=tuple(lines))


@pytest.mark.parametrize("markers", get_args(Markers))
def test_lines_differ_without_colour_and_without_braille(markers: Markers) -> None:
    rows = drawn(flat(Pattern.SOLID, Pattern.DASHED), replace(Palette(), markers=markers))
    lines = [row.strip(" │┤0123456789") for row in rows if len(row.strip(" │┤└┬─0123456789")) > 10]
    dashed, solid = lines
    assert " " not in solid and dashed.count(" ") >= 10
    if markers != "braille":
        assert not any(0x2800 <= ord(character) < 0x2900 for row in rows for character in row)


def test_without_colours_lines_that_coincide_show_their_letters_in_turns_and_at_their_end() -> None:
    xs = [float(x) for x in range(80)]
    lines = [Series(xs, [10.0] * 80, "#ffffff", letter=letter) for letter in "abc"]
    chart = Chart(Axis(0, 99), Axis(0, 40), series=(*lines, Series(xs, [30.0] * 80, "#ffffff", letter="d")))
    rows = drawn(chart, replace(Palette(), colours=False))
    together, alone = (next(row for row in rows if letter in row) for letter in "ad")
    assert "".join(filter(str.isalpha, together)) == "abcabcabcabc"[: sum(map(str.isalpha, together)) - 3] + "abc"
    assert set(filter(str.isalpha, alone)) == {"d"} and alone.count("d") >= 3
    assert not any(character.isalpha() for row in drawn(chart, Palette()) for character in row)


async def test_a_screen_without_colours_has_letters_for_the_lines_of_a_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stage = Stage(session())
    async with stage.run(NARROW) as pilot:
        await pilot.press("2", "z")
        await pilot.pause()
        lines = stage.screen_text().splitlines()
        legend = next(line for line in lines if "p50" in line)
        assert all(f"{letter} {name}" in legend for letter, name in (("a", "p50"), ("b", "p95"), ("c", "p99")))
        plot = [line for line in lines[lines.index(legend) + 1 :] if "│" in line]
        assert all(any(letter in line for line in plot) for letter in "abc")


def test_half_blocks_light_the_half_that_has_dots() -> None:
    raster = Raster(4, 1, "blocks")
    ink = raster.ink(Style(color="red"))
    raster.span(2, 0, 1, ink)
    raster.span(4, 3, 3, ink)
    raster.span(6, 0, 3, ink)
    assert "".join(segment.text for segment in raster.lines()[0]) == " ▀▄█"


def test_the_ascii_form_has_only_ascii_characters() -> None:
    rows = drawn(flat(Pattern.SOLID, Pattern.DASHED), replace(Palette(), markers="ascii"))
    inside = "".join(row[4:-1] for row in rows[:-2])
    assert inside.isascii()


def test_octants_are_the_256_patterns_of_eight_dots() -> None:
    found = octants()
    assert len(set(found)) == 256
    assert (found[0], found[255]) == (" ", "█")
    assert sum(0x1CD00 <= ord(each) <= 0x1CDE5 for each in found) == 230
    upper_left = 0x01  # of braille and of octants
    second_left = 0x02  # of braille: the third dot of octants
    assert (found[upper_left], found[second_left]) == ("\U0001cea8", "\U0001cd00")


# -- labels


@pytest.mark.parametrize("markers", get_args(Markers))
@pytest.mark.parametrize("x", [5.0, 30.0, 50.0, 95.0])
def test_a_label_never_touches_a_bar_or_a_line(x: float, markers: Markers) -> None:
    chart = Chart(
        Axis(0, 100),
        Axis(0, 100, ticks=((0.0, "0"), (50.0, "50"), (100.0, "100"))),
        series=(Series([0.0, 100.0], [0.0, 100.0], "#ff0000"),),
        points=(Point(x, x, Shape.FILLED, "#00ff00", x - 9, x + 9, label="LABEL"),),
        boundaries=(Boundary(20.0, "BOUND"), Boundary(60.0, "KNEE", "#0000ff", solid=True)),
    )
    rows = drawn(chart, replace(Palette(), markers=markers))
    found = [(row, word) for row in rows for word in ("LABEL", "BOUND", "KNEE") if word in row]
    assert {"BOUND", "KNEE"} <= {word for _, word in found}
    for row, word in found:
        before, _, after = row.partition(word)
        assert before[-1:] in ("", " ", "│", "┤") and after[:1] in ("", " ")


def test_the_label_of_a_resource_never_touches_its_bar() -> None:
    row = Row("accept que", "█" * 40, "1.00", "of 2 cores", color="#00ff00")
    (line,) = row_lines(row, Palette(), 78, 13, more=0)
    assert line.text.startswith(" accept que █")


def test_a_band_is_hatched_in_half_blocks_and_not_filled() -> None:
    chart = Chart(Axis(0, 100), Axis(0, 100), bands=(Band(0.0, 100.0, "#ff0000"),))
    rows = [row for row in drawn(chart, replace(Palette(), markers="blocks")) if "│" in row or "┤" in row]
    lit = sum(row.count(block) for row in rows for block in "▀▄█")
    assert 0 < lit < 0.6 * sum(len(row) - 4 for row in rows)
