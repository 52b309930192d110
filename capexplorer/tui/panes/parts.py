"""Watched parts in full: their resources, their machines, and how they are read. The part nearest to a limit comes first."""

from __future__ import annotations

from collections.abc import Iterator

from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.events import PartState
from ...model.timeline import Timeline
from ...model.watched import KNOWN_SERVERS
from ...wording import numbers
from ..display_options import DisplayOptions, Palette
from ..render import text
from .pane import ScrollingPane
from .part_rows import FULL_RATIO, PartUse, part_uses
from .resource_row import Row, row_lines
from .resources import spark_cells

NONE = "no part is watched: `--watch NAME=ssh HOST:port N`, or [[watch]] in a profile"

_SHOWN_ELSEWHERE = ("connections", "refused_readings")
"""Prefixes of figures that are not listed among the others: a row, or the part's state, shows them."""


class PartsPane(ScrollingPane):
    """A heading for each part, then a row for each resource."""

    TITLE = "Parts"

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The lines that fit, from the scroll position on."""
        parts = part_uses(timeline)
        if not parts:
            style = Style(color=options.palette.muted)
            return [text.line([(f"  {each}", style)], size.width) for each in text.wrap(NONE, size.width - 2)]
        lines = [strip for part in parts for strip in _part(part, options.palette, size.width)]
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


def _part(part: PartUse, palette: Palette, width: int) -> Iterator[Strip]:
    cells = spark_cells(width)
    heading = Style(color=palette.warning if part.is_missing else palette.primary, bold=True)
    words = f" {text.safe(part.name)}" + (f"  {part.state}" if part.state else "")
    yield text.line([(text.shorten_end(words, width), heading)], width)
    for use in part.uses:
        bar = text.bar(min(1.0, use.share), cells) if use.share is not None else ""
        full = use.share is not None and use.share >= FULL_RATIO
        row = Row("", bar, use.number, use.unit, (use.name,), palette.secondary, full)
        yield from row_lines(row, palette, width, cells, more=0)
    muted = Style(color=palette.muted)
    for line in _about(part):
        yield text.line([(text.shorten_end(f"   {line}", width), muted)], width)


def _about(part: PartUse) -> Iterator[str]:
    """Lines with other processes on the part's machine, with the server's other figures, and on the part itself."""
    reading, known = part.reading, part.known
    others = reading.neighbours.processes if reading.neighbours is not None else {}
    if others:
        yield "others: " + ", ".join(f"{text.safe(name)} {numbers.three_digits(ratio)}" for name, ratio in others.items())
    figures = {name: value for name, value in reading.server.items() if not name.startswith(_SHOWN_ELSEWHERE)}
    if figures:
        yield ", ".join(f"{text.safe(name)} {numbers.three_digits(value)}" for name, value in sorted(figures.items()))
    if known is not None and known.program in KNOWN_SERVERS and part.uses and not reading.server:
        yield wording.figures_of_server(known.program, KNOWN_SERVERS[known.program])
    if known is not None:
        yield ", ".join(_place_and_reader(known, reading.reader_cpu_ratio))


def _place_and_reader(known: PartState, reader_cpu_ratio: float | None) -> Iterator[str]:
    yield text.safe(known.place)
    if known.program:
        yield text.safe(known.program) + (f" {known.pid}" if known.pid is not None else "")
    if known.machine == "generator":
        yield "on the generator's machine"
    if known.clock_offset_s is not None and known.clock_error_s is not None:
        yield f"clock {known.clock_offset_s:+.3f} s ±{known.clock_error_s:.3f}"
    if known.reader is not None:
        cost = f", {text.percent(reader_cpu_ratio)} of a core" if reader_cpu_ratio is not None else ""
        yield f"read by {known.reader}{cost}"
    if known.denied:
        yield f"denied: {', '.join(known.denied)}"
