"""Block octants (Unicode 16): 2 x 4 dots per cell as in braille, but filled, for terminals whose font has them.

26 of the 256 combinations were in Unicode before (space, quadrants, quarter blocks, ...). The block of octants, from U+1CD00 on,
contains only the other 230, ordered by the number that their dots make in binary.
"""

from __future__ import annotations

from collections.abc import Sequence

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
