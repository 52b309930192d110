"""A grid of terminal cells on which dots, lines, shapes and text are drawn. It contains nothing about charts.

A cell has 2 x 4 dots, one ink (a style) for all of them, or a character. Dots are counted from the top left. Dots drawn into a
cell of the background (grid, boundaries) replace its dots; in a cell with other data the dots of both remain, in the later ink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

from rich.segment import Segment
from rich.style import Style

from ...configuration import Markers
from .octants import octants

DOTS_X, DOTS_Y = 2, 4
"""Dots of a cell, across and down."""

_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bit of each dot in Unicode braille, by side (0 left, 1 right) and dot from the top."""

_MASKS = [[[sum(side[top : bottom + 1]) for bottom in range(4)] for top in range(4)] for side in _BITS]
"""The bits of a vertical run of dots, by side, first dot and last dot."""

_BRAILLE = [" ", *(chr(0x2800 + mask) for mask in range(1, 256))]

_UPPER = sum(bit for side in _BITS for bit in side[:2])
_BLOCKS = [" ▀▄█"[bool(mask & _UPPER) + 2 * bool(mask & ~_UPPER)] for mask in range(256)]
"""For fonts without braille: half of a cell is filled if one of its four dots is set."""

_ASCII = [" '.:"[bool(mask & _UPPER) + 2 * bool(mask & ~_UPPER)] for mask in range(256)]
"""For terminals and logs that have ASCII only: a sign for the upper half, the lower half, or both."""

CHARACTERS: Mapping[Markers, Sequence[str]] = {"braille": _BRAILLE, "octants": octants(), "blocks": _BLOCKS, "ascii": _ASCII}
"""256 characters for each set of markers, indexed by the bits of a cell's dots."""


class Pattern(Enum):
    """The pattern of a line as (dots that are set, period in dots), which distinguishes lines without colours. Applied only where
    the line is horizontal.
    """

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
        """Whether a character shows only the halves of its cell, not each dot."""
        self._characters = CHARACTERS[markers]
        self.width, self.height = columns * DOTS_X, rows * DOTS_Y
        self._masks = bytearray(columns * rows)
        self._inks = bytearray(columns * rows)
        self._texts: dict[int, str] = {}
        self._styles: list[Style] = [Style()]
        self._known: dict[Style, int] = {}
        self._behind = 0

    def ink(self, style: Style) -> int:
        """The number of a style. Equal styles have the same number, unless `lay_behind` was called between them."""
        if style not in self._known:
            self._known[style] = len(self._styles)
            self._styles.append(style)
        return self._known[style]

    def lay_behind(self) -> None:
        """Declare all that was drawn so far to be background."""
        self._behind = len(self._styles) - 1
        self._known.clear()

    def span(self, x: int, top: int, bottom: int, ink: int) -> None:
        """Set the dots of column `x` from `top` to `bottom`, both included; dots outside of the grid are ignored."""
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
        """Draw a line through dots (x, y) in order of x; None is a gap. A pattern applies to horizontal parts only, so that it
        removes no spike. Returns the highest dot of each column of dots that the line crosses.
        """
        on, period = pattern.value
        found = spans(points, self.width)
        for x, (top, bottom) in found.items():
            if top != bottom or x % period < on:
                self.span(x, top, bottom, ink)
        return {x: top for x, (top, _) in found.items()}

    def shape(self, x: int, y: int, shape: Shape, ink: int) -> None:
        """Draw a shape whose middle is this dot."""
        for top, line in enumerate(shape.value, y - 1):
            for left, lit in enumerate(line, x - 1):
                if lit == "#":
                    self.span(left, top, top, ink)

    def text(self, column: int, row: int, text: str, ink: int, *, over: bool = False, apart: bool = False) -> bool:
        """Write characters of one cell each. Writes nothing outside of the grid or, without `over`, over data; returns whether it
        wrote.

        `apart`: the cells at either side must be free of data too; their background is erased.
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
        """The segments of one row, one for each run of equal style. `style_of(column, style)` gives the style of dots of data."""
        segments: list[Segment] = []
        run: list[str] = []
        current = self._styles[0]
        first = row * self.columns
        inks = self._inks[first : first + self.columns]
        for column, ink in enumerate(inks):
            cell = first + column
            if not ink and 0 < column < self.columns - 1 and inks[column - 1] == inks[column + 1]:
                ink = inks[column + 1]  # a single empty cell of a dotted line: one run instead of three, a third of the bytes
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
    """The line through `points` (x, y; None is a gap) as (top, bottom) of each column of dots in 0..width-1. Spans of
    neighbouring columns touch.
    """
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
    """Cover in each column of dots the part of the segment that lies within half a dot of its middle."""
    (x0, y0), (x1, y1) = start, end
    slope = (y1 - y0) / (x1 - x0)
    for x in range(max(x0, 0), min(x1, width - 1) + 1):
        left, right = max(x - 0.5, x0), min(x + 0.5, x1)
        a, b = round(y0 + slope * (left - x0)), round(y0 + slope * (right - x0))
        if a != b and x != x1:  # only the later of two columns has the dot in which they meet, which makes lines thinner
            b += 1 if b < a else -1
        cover(x, a, b)
