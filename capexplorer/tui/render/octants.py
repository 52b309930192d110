"""Block octants (Unicode 16): 2 x 4 dots a cell as braille has them, but filled, for fonts that have them.

Those that Unicode had under other names before are not in the block of octants, which has the others in the order of their dots.
"""

from __future__ import annotations

from collections.abc import Sequence

_FIRST = 0x1CD00

_QUADRANTS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""By the bits upper left, upper right, lower left, lower right."""
_HALVES = (0x05, 0x0A, 0x50, 0xA0)
"""Dots of each quadrant; dots are numbered from left to right, then downwards."""
_OTHERS = {
    0x01: 0x1CEA8, 0x02: 0x1CEAB, 0x40: 0x1CEA3, 0x80: 0x1CEA0,
    0x03: 0x1FB82, 0x3F: 0x1FB85, 0xC0: 0x2582, 0xFC: 0x2586,
    0x14: 0x1FBE6, 0x28: 0x1FBE7,
}  # fmt: skip
"""Quarters: single ones at the corners, upper and lower rows, the middle of a side."""

_BRAILLE_BITS = (0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80)
"""Bit of braille for each dot in the order of octants."""


def octants() -> Sequence[str]:
    """A character by the mask of its dots, whose bits are those of braille."""
    older = {mask: chr(code) for mask, code in _OTHERS.items()}
    for bits, character in enumerate(_QUADRANTS):
        older[sum(dots for index, dots in enumerate(_HALVES) if bits >> index & 1)] = character
    by_dots: list[str] = []
    code = _FIRST
    for dots in range(256):
        by_dots.append(older[dots] if dots in older else chr(code))
        code += dots not in older
    found = [""] * 256
    for dots, character in enumerate(by_dots):
        found[sum(bit for index, bit in enumerate(_BRAILLE_BITS) if dots >> index & 1)] = character
    return found
