"""Reduces pictures of the screen to a third of their bytes; they look the same. Textual writes a background and a clip path
for each run of cells."""

from __future__ import annotations

import re
from itertools import groupby

_IDS = re.compile(r"terminal-\d+-")
_LINE_CLIP = re.compile(r'\s*<clipPath id="line-\d+">.*?</clipPath>', re.DOTALL)
_LINE_CLIPPED = re.compile(r' clip-path="url\(#line-\d+\)"')
_RECTS = re.compile(r"(?:<rect [^>]*shape-rendering=[^>]*/>)+")
_RECT = re.compile(r'<rect fill="(?P<fill>[^"]*)" x="(?P<x>[^"]*)" y="(?P<y>[^"]*)" width="(?P<width>[^"]*)" (?P<rest>[^>]*)/>')


def smaller(svg: str) -> str:
    """The same picture with short names, neighbouring backgrounds of one colour joined, and no clipping of text that fits its
    cells.

    Spaces at the ends of a text are preserved: librsvg would remove them, and the text after them would move to the left.
    """
    svg = _LINE_CLIPPED.sub("", _LINE_CLIP.sub("", _IDS.sub("", svg)))
    return _RECTS.sub(_merged, svg).replace("&#160;", "\N{NO-BREAK SPACE}").replace("<svg", '<svg xml:space="preserve"', 1)


def _merged(found: re.Match[str]) -> str:
    rects = [rect.groupdict() for rect in _RECT.finditer(found[0])]
    rows = groupby(rects, key=lambda rect: (rect["fill"], rect["y"], rect["rest"]))
    return "".join(_one(fill, y, rest, list(row)) for (fill, y, rest), row in rows)


def _one(fill: str, y: str, rest: str, row: list[dict[str, str]]) -> str:
    """One rectangle in place of `row`, neighbouring rectangles of one line."""
    x, end = float(row[0]["x"]), float(row[-1]["x"]) + float(row[-1]["width"])
    return f'<rect fill="{fill}" x="{x:g}" y="{y}" width="{round(end - x, 1):g}" {rest}/>'
