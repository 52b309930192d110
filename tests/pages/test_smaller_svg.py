"""Pictures of the screen without what Textual repeats for each run of cells."""

from __future__ import annotations

from docs.smaller_svg import smaller

CLIP = '<clipPath id="terminal-42-line-{}"><rect x="0" y="1.5" width="2440" height="24.65"/></clipPath>'
BACK = '<rect fill="{}" x="{}" y="{}" width="{}" height="24.65" shape-rendering="crispEdges"/>'
TEXT = '<text class="terminal-42-r1" x="0" y="20" textLength="36.6" clip-path="url(#terminal-42-line-0)">&#160;p50</text>'


def test_backgrounds_of_one_colour_that_stand_side_by_side_become_one() -> None:
    row = BACK.format("#1", 0, 1.5, 12.2) + BACK.format("#1", 12.2, 1.5, 24.4) + BACK.format("#2", 36.6, 1.5, 12.2)
    below = BACK.format("#2", 0, 25.9, 48.8)
    expected = BACK.format("#1", 0, 1.5, 36.6) + BACK.format("#2", 36.6, 1.5, 12.2) + below
    assert smaller(f"<svg>{row}{below}</svg>") == f'<svg xml:space="preserve">{expected}</svg>'


def test_text_keeps_its_place_and_its_style_and_is_not_clipped() -> None:
    text = '<text class="r1" x="0" y="20" textLength="36.6">\N{NO-BREAK SPACE}p50</text>'
    assert smaller(f"<defs>\n  {CLIP.format(0)}\n  {CLIP.format(1)}</defs>{TEXT}") == f"<defs></defs>{text}"
