"""A grid of terminal cells on which dots, lines, shapes and text are drawn. It contains nothing about charts.

A cell has 2 x 4 dots, one ink (a style) for all of them, or a character. Dots are counted from the top left. Dots drawn into a
cell of the background (grid, boundaries) replace its dots; in a cell with other data the dots of both remain, in the later ink.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from enum import Enum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment
from rich.style import Style

from ...configuration import Markers

# -- octants -------------------------------------------------------------------------------------------------------------------
# Block octants (Unicode 16): 2 x 4 dots per cell as in braille, but filled, for terminals whose font has them.
#
# 26 of the 256 combinations were in Unicode before (space, quadrants, quarter blocks, ...). The block of octants, from U+1CD00
# on, contains only the other 230, ordered by the number that their dots make in binary.


_FIRST = 0x1CD00
"""Code point of the first octant."""

_QUADRANTS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""The older characters by filled quadrants: bit 0 upper left, 1 upper right, 2 lower left, 3 lower right."""
_QUADRANT_DOTS = (0x05, 0x0A, 0x50, 0xA0)
"""The dots of each quadrant; bit 0 is the upper left dot, then from left to right and downwards."""
_OTHERS = {
    0x01: 0x1CEA8, 0x02: 0x1CEAB, 0x40: 0x1CEA3, 0x80: 0x1CEA0,
    0x03: 0x1FB82, 0x3F: 0x1FB85, 0xC0: 0x2582, 0xFC: 0x2586,
    0x14: 0x1FBE6, 0x28: 0x1FBE7,
}  # fmt: skip
"""The other older characters by their dots: single dots at the corners, rows at the top or at the bottom, and the middle of a
side.
"""

_BRAILLE_BITS = (0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80)
"""The bit of braille for each dot, in the order of octants."""


def octants() -> Sequence[str]:
    """The 256 characters, indexed by their dots as bits of braille."""
    older = {mask: chr(code) for mask, code in _OTHERS.items()}
    for bits, character in enumerate(_QUADRANTS):
        older[sum(dots for index, dots in enumerate(_QUADRANT_DOTS) if bits >> index & 1)] = character
    by_dots: list[str] = []
    code = _FIRST
    for dots in range(256):
        by_dots.append(older[dots] if dots in older else chr(code))
        code += dots not in older
    found = [""] * 256
    for dots, character in enumerate(by_dots):
        found[sum(bit for index, bit in enumerate(_BRAILLE_BITS) if dots >> index & 1)] = character
    return found


# -- spans ---------------------------------------------------------------------------------------------------------------------
# A line through dots as one vertical span a dot column; neighbouring spans touch.


Dots = NDArray[np.float64]
"""Whole numbers, as floats, since NaN lifts the pen."""

_BEYOND = 1 << 30
"""No dot is as far from the first one."""


def spans(xs: Dots, ys: Dots, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The line through the dots (xs, ys), in order of x, as (tops, bottoms) of the dot columns 0..width-1. Where the line does
    not cross a column, its top lies below its bottom.
    """
    tops, bottoms = np.full(width, _BEYOND), np.full(width, -_BEYOND)
    inside = ~np.isnan(ys) & (xs >= 0) & (xs < width)
    _cover(tops, bottoms, xs[inside], ys[inside], ys[inside])
    joined = np.flatnonzero(~np.isnan(ys[:-1]) & ~np.isnan(ys[1:]) & (xs[1:] > xs[:-1]))
    if joined.size:
        _cover(tops, bottoms, *_segments(xs[joined], ys[joined], xs[joined + 1], ys[joined + 1], width))
    return tops, bottoms


def _segments(x0: Dots, y0: Dots, x1: Dots, y1: Dots, width: int) -> tuple[Dots, Dots, Dots]:
    """(columns, from, to) of segments from (x0, y0) to (x1, y1): each column takes the part within half a dot of it."""
    first = np.maximum(x0, 0)
    counts = np.maximum(np.minimum(x1, width - 1) - first + 1, 0).astype(np.int64)
    each = np.repeat(np.arange(len(x0)), counts)
    x = first[each] + np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)
    x0, y0, x1, slope = x0[each], y0[each], x1[each], ((y1 - y0) / (x1 - x0))[each]
    a = np.rint(y0 + slope * (np.maximum(x - 0.5, x0) - x0))
    b = np.rint(y0 + slope * (np.minimum(x + 0.5, x1) - x0))
    thinner = (a != b) & (x != x1)  # the dot where columns meet belongs to the later one
    return x, a, np.where(thinner, b - np.sign(b - a), b)


def _cover(tops: NDArray[np.int64], bottoms: NDArray[np.int64], xs: Dots, a: Dots, b: Dots) -> None:
    columns = xs.astype(np.int64)
    np.minimum.at(tops, columns, np.minimum(a, b).astype(np.int64))
    np.maximum.at(bottoms, columns, np.maximum(a, b).astype(np.int64))


DOTS_X, DOTS_Y = 2, 4
"""Dots of a cell, across and down."""

_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bit of each dot in Unicode braille, by side (0 left, 1 right) and dot from the top."""

_MASKS = [[[sum(side[top : bottom + 1]) for bottom in range(4)] for top in range(4)] for side in _BITS]
"""The bits of a vertical run of dots, by side, first dot and last dot."""

_WEIGHTS = np.array(_BITS, np.uint8).T
"""The bits by [dot from the top, side]."""

_BRAILLE = [" ", *(chr(0x2800 + mask) for mask in range(1, 256))]

_UPPER = sum(bit for side in _BITS for bit in side[:2])
_BLOCKS = [" ▀▄█"[bool(mask & _UPPER) + 2 * bool(mask & ~_UPPER)] for mask in range(256)]
"""For fonts without braille: half of a cell is filled if one of its four dots is set."""

_ASCII = [" '.:"[bool(mask & _UPPER) + 2 * bool(mask & ~_UPPER)] for mask in range(256)]
"""For terminals and logs that have ASCII only: a sign for the upper half, the lower half, or both."""

CHARACTERS: Mapping[Markers, Sequence[str]] = {"braille": _BRAILLE, "octants": octants(), "blocks": _BLOCKS, "ascii": _ASCII}
"""256 characters for each set of markers, indexed by the bits of a cell's dots."""


@lru_cache
def _codes(markers: Markers) -> NDArray[np.uint32]:
    """The codes of CHARACTERS."""
    return np.array([ord(character) for character in CHARACTERS[markers]], np.uint32)


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
    TRIANGLE = (" # ", "# #", "###")


CURSOR_INK = 1
"""The ink of the cursor, which is drawn last and yet lies behind data."""


class Raster:
    """A grid of `columns` x `rows` cells that is drawn on once, then read row by row."""

    def __init__(self, columns: int, rows: int, markers: Markers = "braille") -> None:
        self.columns, self.rows = columns, rows
        self.is_coarse = markers in ("blocks", "ascii")
        """Whether a character shows only the halves of its cell, not each dot."""
        self._codes = _codes(markers)
        self.width, self.height = columns * DOTS_X, rows * DOTS_Y
        self._masks = bytearray(columns * rows)
        self._inks = bytearray(columns * rows)
        self._texts = array("I", bytes(4 * columns * rows))
        """The code of the character that is written over each cell; 0: none."""
        self._styles: list[Style] = [Style(), Style()]
        self._known: dict[Style, int] = {}
        self._behind = self._ground = CURSOR_INK
        """The last inks of what lies behind: of all drawn before the latest `lay_behind`, and before the first one."""

    @property
    def _cells(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The memory of masks and inks [row, column], for what lights many dots at once."""
        masks, inks = (np.frombuffer(each, np.uint8).reshape(self.rows, self.columns) for each in (self._masks, self._inks))
        return masks, inks

    def ink(self, style: Style) -> int:
        """The number of a style. Equal styles have the same number, unless `lay_behind` was called between them."""
        if style not in self._known:
            self._known[style] = len(self._styles)
            self._styles.append(style)
        return self._known[style]

    def lay_behind(self) -> None:
        """Declare all that was drawn so far to be background."""
        self._behind = len(self._styles) - 1
        if self._ground == CURSOR_INK:
            self._ground = self._behind
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

    def line(self, xs: Dots, ys: Dots, ink: int, pattern: Pattern = Pattern.SOLID) -> dict[int, int]:
        """Draw a line through dots (x, y) in order of x; NaN is a gap. A pattern applies to horizontal parts only, so that it
        removes no spike. Returns the highest dot of each column of dots that the line crosses.
        """
        on, period = pattern.value
        tops, bottoms = spans(xs, ys, self.width)
        columns = np.arange(self.width)
        y = np.arange(self.height)[:, np.newaxis]
        self.light((tops <= y) & (y <= bottoms) & ((tops != bottoms) | (columns % period < on)), ink)
        crossed = np.flatnonzero(tops <= bottoms)
        return dict(zip(crossed.tolist(), tops[crossed].tolist(), strict=True))

    def bars(self, xs: Dots, ys: Dots, ink: int) -> None:
        """Bars from dots down to the lowest row; none of a dot in that row."""
        seen = (xs >= 0) & (xs < self.width) & (ys < self.height - 1)  # False for NaN
        tops = np.full(self.width, float(self.height))
        np.minimum.at(tops, xs[seen].astype(np.int64), ys[seen])
        self.light(np.arange(self.height)[:, np.newaxis] >= tops, ink)

    def with_cursor(self, x: int, style: Style) -> Raster:
        """A copy with a cursor in a column of dots, wherever there is neither data nor text."""
        laid = copy(self)
        laid._masks, laid._inks, laid._styles = self._masks[:], self._inks[:], self._styles[:]
        laid._styles[CURSOR_INK] = style
        full = _MASKS[x % DOTS_X][0][DOTS_Y - 1]
        for cell in range(x // DOTS_X, len(self._inks), self.columns):
            if self._inks[cell] <= self._ground and not self._texts[cell]:
                laid._masks[cell] |= full
                laid._inks[cell] = CURSOR_INK
        return laid

    def light(self, lit: NDArray[np.bool_], ink: int) -> None:
        """Light the dots [y, x], as `span` does."""
        masks, inks = self._cells
        dots = lit.view(np.uint8).reshape(self.rows, DOTS_Y, self.columns, DOTS_X)
        found = np.einsum("rdcs,ds->rc", dots, _WEIGHTS)
        kept = np.where((inks <= self._behind) & (self._behind < ink), 0, masks)
        np.copyto(masks, kept | found, where=found > 0)
        np.copyto(inks, ink, where=found > 0)

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
        if not over and any(self._texts[cell] or self._inks[cell] > self._behind for cell in around):
            return False
        for cell in around:
            self._masks[cell] = 0
        for cell, character in zip(cells, text, strict=True):
            self._texts[cell] = ord(character)
            self._inks[cell] = ink
        return True

    def lines(self, unsettled: Collection[int] = (), fade: Callable[[Style], Style] | None = None) -> list[list[Segment]]:
        """The segments of each row, one for each run of equal style. `fade` changes the style of dots of data in the columns
        `unsettled`.
        """
        masks, inks = self._cells
        texts = np.frombuffer(self._texts, np.uint32).reshape(inks.shape)
        lone = (inks[:, 1:-1] == 0) & (inks[:, :-2] == inks[:, 2:])
        style_indices = inks.astype(np.int64)
        style_indices[:, 1:-1] += lone * inks[:, 2:]  # one empty cell of a dotted line: one run, not three
        if fade is not None and unsettled:
            faded = (inks > self._behind) & (texts == 0)
            style_indices[:, list(unsettled)] += len(self._styles) * faded[:, list(unsettled)]
        styles = self._styles if fade is None else [*self._styles, *map(fade, self._styles)]
        written = np.where(texts, texts, self._codes[masks]).astype("<u4").tobytes().decode("utf-32-le")
        turns = np.ones(style_indices.shape, np.bool_)
        turns[:, 1:] = style_indices[:, 1:] != style_indices[:, :-1]
        starts = np.flatnonzero(turns).tolist()
        lines: list[list[Segment]] = [[] for _ in range(self.rows)]
        for start, end, style_index in zip(starts, [*starts[1:], len(written)], style_indices[turns].tolist(), strict=True):
            line, drawn = lines[start // self.columns], written[start:end]
            if line and line[-1].style == styles[style_index]:
                drawn = line.pop().text + drawn
            line.append(Segment(drawn, styles[style_index]))
        return lines
