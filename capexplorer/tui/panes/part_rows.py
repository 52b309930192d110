"""The rows of watched parts in the resources pane: each shows the resource that is nearest to its limit."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.timeline import Timeline
from ..display_options import Palette
from ..render import text
from .part_uses import PartUse, part_uses
from .resource_row import Row

FULL_RATIO = 0.9
"""Share of a limit from which a resource is yellow."""


def part_rows(timeline: Timeline, cells: int, palette: Palette) -> Iterator[Row]:
    """One row for each part."""
    for part in part_uses(timeline):
        yield _row(part, cells, palette)


def _row(part: PartUse, cells: int, palette: Palette) -> Row:
    if not part.uses:
        details = (part.state,) if part.state else ()
        return Row(text.safe(part.name), "", "", "", details, palette.primary, warned=part.is_missing)
    first, *others = part.uses
    details = (*((part.state,) if part.state else ()), *((first.name,) if first.name else ()), *(use.in_words for use in others))
    bar = text.bar(min(1.0, first.share), cells) if first.share is not None else ""
    return Row(text.safe(part.name), bar, first.number, first.unit, details, palette.primary, part.share >= FULL_RATIO)
