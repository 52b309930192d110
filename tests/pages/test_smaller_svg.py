"""docs/smaller_svg.py makes SVG pictures of Textual smaller: adjacent backgrounds are merged, clip paths are removed."""

from __future__ import annotations

from docs.smaller_svg import smaller

CLIP_PATH = '<clipPath id="terminal-42-line-{}"><rect x="0" y="1.5" width="2440" height="24.65"/></clipPath>'
BACKGROUND = '<rect fill="{}" x="{}" y="{}" width="{}" height="24.65" shape-rendering="crispEdges"/>'
CLIPPED_TEXT = '<text class="terminal-42-r1" x="0" y="20" textLength="36.6" clip-path="url(#terminal-42-line-0)">&#160;p50</text>'


def test_adjacent_backgrounds_of_one_colour_are_merged() -> None:
    row = (
        BACKGROUND.format("#1", 0, 1.5, 12.2)
        + BACKGROUND.format("#1", 12.2, 1.5, 24.4)
        + BACKGROUND.format("#2", 36.6, 1.5, 12.2)
    )
    below = BACKGROUND.format("#2", 0, 25.9, 48.8)
    expected = BACKGROUND.format("#1", 0, 1.5, 36.6) + BACKGROUND.format("#2", 36.6, 1.5, 12.2) + below
    assert smaller(f"<svg>{row}{below}</svg>") == f'<svg xml:space="preserve">{expected}</svg>'


def test_text_keeps_its_position_and_style_and_loses_its_clip_path() -> None:
    text = '<text class="r1" x="0" y="20" textLength="36.6">\N{NO-BREAK SPACE}p50</text>'
    assert smaller(f"<defs>\n  {CLIP_PATH.format(0)}\n  {CLIP_PATH.format(1)}</defs>{CLIPPED_TEXT}") == f"<defs></defs>{text}"
