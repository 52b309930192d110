"""The log: lines that Locust, user code, the target and the app logged or printed, each with its source."""

from __future__ import annotations

from itertools import islice

from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from ... import wording
from ...model.events import Log
from ...model.timeline import Timeline
from ..display_options import DisplayOptions, Palette
from ..render import text
from .pane import ScrollingPane

_TIME_CELLS, _SOURCE_CELLS = 9, 12


class LogPane(ScrollingPane):
    """A list of lines with time, source and text, the newest last."""

    TITLE = "Log"
    AT_END = True

    def draw(self, timeline: Timeline, cursor: int, options: DisplayOptions, size: Size) -> list[Strip]:
        """The lines at the scroll position; only these and newer ones are laid out."""
        if not timeline.log:
            words = "  no output yet (locust, user code, target, capexplorer)"
            wrapped = text.wrap(words, size.width)[: size.height]
            return [text.line([(part, Style(color=options.palette.muted))], size.width) for part in wrapped]
        wanted = min(self.scrolled, len(timeline.log)) + 2 * size.height
        tail = reversed(list(islice(reversed(timeline.log), wanted)))  # every entry has at least one line
        lines = [strip for entry in tail for strip in log_lines(entry, options.palette, size.width)]
        first, last = self.window(len(lines), size.height)
        return lines[first:last]


def log_lines(entry: Log, palette: Palette, width: int) -> list[Strip]:
    """The lines of one entry, wrapped with an indent."""
    muted, style = Style(color=palette.muted), level_style(entry, palette)
    repeated = f" ×{entry.repeated}" if entry.repeated > 1 else ""
    indent = _TIME_CELLS + _SOURCE_CELLS
    wrapped = text.wrap(text.safe(entry.text.rstrip("\r\n")) + repeated, width - indent)
    head = text.pad(wording.session_time(entry.t_s), _TIME_CELLS - 1, right=True) + " " + text.pad(entry.source, _SOURCE_CELLS)
    first = text.line([(head, muted), (wrapped[0], style)], width)
    return [first, *(text.line([(" " * indent, style), (more, style)], width) for more in wrapped[1:])]


def level_style(entry: Log, palette: Palette) -> Style:
    """The style of a level; errors are bold too."""
    match entry.level:
        case "critical" | "error":
            return Style(color=palette.error, bold=True)
        case "warning":
            return Style(color=palette.warning)
        case "debug":
            return Style(color=palette.muted)
        case "info":
            return Style(color=palette.text)
