"""Bars of every finder: knees within 15%, and false knees on services that change."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .totals import Totals

LEFT, WIDTH, ROW, TOP = 240, 300, 34, 56
GOOD, BAD, TEXT = "#2b7a4b", "#b3372f", "#1f2328"


def draw(rows: Sequence[Totals]) -> str:
    """An SVG document."""
    width, height = LEFT + 2 * WIDTH + 130, TOP + ROW * len(rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' font-family="sans-serif" font-size="13" fill="{TEXT}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-weight="bold">knees within 15% of N*</text>',
        f'<text x="{LEFT + WIDTH + 70}" y="24" font-weight="bold">false knees, moving services</text>',
    ]
    for index, row in enumerate(rows):
        y = TOP + ROW * index
        of = row.false_moving[1]
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(row.finder)}</text>',
            *_bar(LEFT, y, row.near_ratio, GOOD),
            *_bar(LEFT + WIDTH + 70, y, row.false_moving[0] / of if of else None, BAD),
        ]
    return "\n".join([*parts, "</svg>", ""])


def _bar(x: int, y: int, ratio: float | None, colour: str) -> list[str]:
    if ratio is None:
        return [f'<text x="{x}" y="{y + 15}">not measured</text>']
    length = round(WIDTH * ratio)
    return [
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="20" fill="#eef0f2"/>',
        f'<rect x="{x}" y="{y}" width="{length}" height="20" fill="{colour}"/>',
        f'<text x="{x + WIDTH + 8}" y="{y + 15}">{ratio:.0%}</text>',
    ]
