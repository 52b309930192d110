"""Panes and the status as lines of text."""

from __future__ import annotations

import msgspec
from textual.geometry import Size
from textual.strip import Strip

from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.status import status
from capexplorer.tui.protocols import View

LARGE, SMALL, MAXIMISED = Size(78, 18), Size(58, 10), Size(118, 33)
"""Sizes of the inside of a pane: alone at 80x24, one of six at 120x40, and maximised at 120x40."""

WHOLE_SESSION = DisplayOptions(window_s=None)
"""Charts over time show the whole session, not its last minutes."""


def drawn(pane: Pane, timeline: Timeline, size: Size = LARGE) -> list[str]:
    """The lines of a pane at the newest second."""
    options = DisplayOptions(large=size == LARGE)
    return [strip.text for strip in pane.draw(timeline, len(timeline) - 1, options, size)]


def fitting_strips(pane: Pane, timeline: Timeline, size: Size, options: DisplayOptions = WHOLE_SESSION) -> list[Strip]:
    """The strips of a pane at the newest second, which must not exceed the size."""
    strips = pane.draw(timeline, len(timeline) - 1, options, size)
    assert len(strips) <= size.height, "more lines than the pane has"
    assert all(strip.cell_length <= size.width for strip in strips), "a line is wider than the pane"
    return strips


def pane_text(pane: Pane, timeline: Timeline, size: Size, options: DisplayOptions = WHOLE_SESSION) -> str:
    """The text of a pane at the newest second, which must not exceed the size."""
    return "\n".join(strip.text for strip in fitting_strips(pane, timeline, size, options))


def status_lines(timeline: Timeline, view: View | None = None, width: int = 78) -> list[str]:
    """The status lines at the newest second."""
    return [
        strip.text for strip in status(timeline, view or View(load=Users(timeline.wanted), max_users=2_000), Palette(), width)
    ]


def with_last(timeline: Timeline, **changes: object) -> Timeline:
    """The timeline with one more second: a copy of its last sample with `changes`."""
    assert timeline.last is not None
    timeline.apply(msgspec.structs.replace(timeline.last, t_s=timeline.last.t_s + 1, **changes))
    return timeline
