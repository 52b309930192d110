"""Cells of a plot: dots (2 x 4 a cell, in one of several sets of characters) with one ink a cell, and text over them.
Knows pixels, not charts.

Dots are counted from the top left. Where data meets what lies behind it (grid, boundaries) the data's dots replace those; where
data meets data both keep their dots and the later ink wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

from rich.segment import Segment
from rich.style import Style

from ...configuration import Markers
from .octants import octants

DOTS_X, DOTS_Y = 2, 4

_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Unicode braille: bit of each dot by (side, dot from the top)."""

_MASKS = [[[sum(side[top : bottom + 1]) for bottom in range(4)] for top in range(4)] for side in _BITS]
"""By side, first dot, last dot."""

_BRAILLE = [" ", *(chr(0x2800 + mask) for mask in range(1, 256))]

_UPPER = sum(bit for side in _BITS for bit in side[:2])
_BLOCKS = [" ▀▄█"[bool(mask & _UPPER) + 2 * bool(mask & ~_UPPER)] for mask in range(256)]
"""Where there is no braille: half a cell is lit when any of its four dots is."""


_ASCII = [" '.:"[bool(mask & _UPPER) + 2 * bool(mask & ~_UPPER)] for mask in range(256)]
"""For fonts and logs that have nothing else: the upper half, the lower half, or both."""

CHARACTERS: Mapping[Markers, Sequence[str]] = {"braille": _BRAILLE, "octants": octants(), "blocks": _BLOCKS, "ascii": _ASCII}
"""By the mask of a cell's dots."""


class Pattern(Enum):
    """Dot pattern of a line, which distinguishes lines without colour. Applies where the line is flat."""

    SOLID = (1, 1)
    DASHED = (6, 10)
    DOTTED = (1, 2)


class Shape(Enum):
    """A point of three by three dots."""

    FILLED = ("###", "###", "###")
    HOLLOW = ("###", "# #", "###")
    CROSS = (" # ", "###", " # ")
    SALTIRE = ("# #", " # ", "# #")
    RING = (" # ", "# #", " # ")


class Raster:
    """A grid of `columns` x `rows` cells that is drawn on once, then read row by row."""

    def __init__(self, columns: int, rows: int, markers: Markers = "braille") -> None:
        self.columns, self.rows = columns, rows
        self.is_coarse = markers in ("blocks", "ascii")
        """A cell shows only its halves."""
        self._characters = CHARACTERS[markers]
        self.width, self.height = columns * DOTS_X, rows * DOTS_Y
        self._masks = bytearray(columns * rows)
        self._inks = bytearray(columns * rows)
        self._texts: dict[int, str] = {}
        self._styles: list[Style] = [Style()]
        self._known: dict[Style, int] = {}
        self._behind = 0

    def ink(self, style: Style) -> int:
        """A number for a style; equal styles share one on the same side of `lay_behind`."""
        if style not in self._known:
            self._known[style] = len(self._styles)
            self._styles.append(style)
        return self._known[style]

    def lay_behind(self) -> None:
        """All that was drawn so far is background."""
        self._behind = len(self._styles) - 1
        self._known.clear()

    def span(self, x: int, top: int, bottom: int, ink: int) -> None:
        """Dots of column `x` from `top` to `bottom`, both included, as far as they lie inside."""
        if not 0 <= x < self.width:
            return
        top, bottom = max(top, 0), min(bottom, self.height - 1)
        if top > bottom:
            return
        masks, inks, behind = self._masks, self._inks, self._behind
        side = _MASKS[x & 1]
        for row in range(top >> 2, (bottom >> 2) + 1):
            cell = row * self.columns + (x >> 1)
            mask = side[max(top - row * 4, 0)][min(bottom - row * 4, 3)]
            masks[cell] = mask if inks[cell] <= behind < ink else masks[cell] | mask
            inks[cell] = ink

    def line(self, points: Iterable[tuple[int, int] | None], ink: int, pattern: Pattern = Pattern.SOLID) -> dict[int, int]:
        """A line through dots in order of x; None lifts the pen. A pattern thins flat parts only: no spike is dashed away.
        Returns the highest dot of each dot column that the line crosses.
        """
        on, period = pattern.value
        found = spans(points, self.width)
        for x, (top, bottom) in found.items():
            if top != bottom or x % period < on:
                self.span(x, top, bottom, ink)
        return {x: top for x, (top, _) in found.items()}

    def shape(self, x: int, y: int, shape: Shape, ink: int) -> None:
        """A shape around a dot."""
        for top, line in enumerate(shape.value, y - 1):
            for left, lit in enumerate(line, x - 1):
                if lit == "#":
                    self.span(left, top, top, ink)

    def text(self, column: int, row: int, text: str, ink: int, *, over: bool = False, apart: bool = False) -> bool:
        """Write single-width characters unless that leaves the grid or (without `over`) covers data; returns whether it did.

        `apart`: nor where they would touch data; background at either side is wiped out.
        """
        if not (0 <= row < self.rows and 0 <= column and column + len(text) <= self.columns):
            return False
        line, end = row * self.columns, column + len(text)
        cells = range(line + column, line + end)
        around = range(line + max(column - apart, 0), line + min(end + apart, self.columns))
        if not over and any(cell in self._texts or self._inks[cell] > self._behind for cell in around):
            return False
        for cell in around:
            self._masks[cell] = 0
        for cell, character in zip(cells, text, strict=True):
            self._texts[cell] = character
            self._inks[cell] = ink
        return True

    def row(self, row: int, style_of: Callable[[int, Style], Style] | None = None) -> list[Segment]:
        """Segments of one row, runs of one style together. `style_of` (column, style) may change the style of data's dots."""
        segments: list[Segment] = []
        run: list[str] = []
        current = self._styles[0]
        first = row * self.columns
        inks = self._inks[first : first + self.columns]
        for column, ink in enumerate(inks):
            cell = first + column
            if not ink and 0 < column < self.columns - 1 and inks[column - 1] == inks[column + 1]:
                ink = inks[column + 1]  # a lone blank in a dotted line: one run instead of three, a third of the bytes
            style = self._styles[ink]
            if style_of is not None and self._inks[cell] > self._behind and cell not in self._texts:
                style = style_of(column, style)
            if style is not current and style != current:
                if run:
                    segments.append(Segment("".join(run), current))
                run, current = [], style
            run.append(self._texts.get(cell) or self._characters[self._masks[cell]])
        if run:
            segments.append(Segment("".join(run), current))
        return segments


def spans(points: Iterable[tuple[int, int] | None], width: int) -> dict[int, tuple[int, int]]:
    """The line through `points` as (top, bottom) of each dot column in 0..width-1; neighbouring spans touch."""
    found: dict[int, tuple[int, int]] = {}

    def cover(x: int, a: int, b: int) -> None:
        top, bottom = (a, b) if a <= b else (b, a)
        if x in found:
            top, bottom = min(top, found[x][0]), max(bottom, found[x][1])
        found[x] = top, bottom

    before: tuple[int, int] | None = None
    for point in points:
        if point is not None and before is not None and point[0] > before[0]:
            _segment(before, point, width, cover)
        elif point is not None:
            cover(point[0], point[1], before[1] if before is not None else point[1])
        before = point
    return found


def _segment(start: tuple[int, int], end: tuple[int, int], width: int, cover: Callable[[int, int, int], None]) -> None:
    """Each column takes the part of the segment within half a dot of it."""
    (x0, y0), (x1, y1) = start, end
    slope = (y1 - y0) / (x1 - x0)
    for x in range(max(x0, 0), min(x1, width - 1) + 1):
        left, right = max(x - 0.5, x0), min(x + 0.5, x1)
        a, b = round(y0 + slope * (left - x0)), round(y0 + slope * (right - x0))
        if a != b and x != x1:  # the dot where columns meet belongs to the later one: thinner lines
            b += 1 if b < a else -1
        cover(x, a, b)
