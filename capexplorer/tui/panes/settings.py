"""The load to operate at, and settings that follow from it, each with its figure and its reason."""

from __future__ import annotations

from collections.abc import Iterator

from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.timeline import Timeline
from ..display_options import DisplayOptions, Palette
from ..render import text
from ..render.text import styled
from .pane import ScrollingPane

NONE_YET = (
    "No load can be recommended yet: that needs a knee, or a capacity as a rate, which later levels do not contradict, and "
    "objectives that are met at some load. The line NEXT says which level comes next."
)


class SettingsPane(ScrollingPane):
    """Lists them, each reason below its figure."""

    TITLE = "Settings: what follows for operation"

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The lines that scrolling has reached."""
        lines = list(_lines(timeline, options.palette, size.width))
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


def _lines(timeline: Timeline, palette: Palette, width: int) -> Iterator[Strip]:
    plain, muted, bold = styled(color=palette.text), styled(color=palette.muted), styled(color=palette.text, bold=True)
    loads, found = wording.operating_loads(timeline), wording.settings(timeline)
    for sentence in loads or [NONE_YET]:
        for line in text.wrap(text.safe(sentence), width - 2):
            yield text.line([(f" {line}", bold if loads else muted)], width)
    names = max((len(each.name) for each in found), default=0)
    for each in found:
        yield Strip.blank(width)
        name = text.pad(text.safe(each.name), names)
        yield text.line([(f" {name}  ", muted), (each.value, plain)], width)
        for line in text.wrap(text.safe(each.why), width - names - 4):
            yield text.line([(" " * (names + 3) + line, muted)], width)
