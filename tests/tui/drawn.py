"""Panes and the status as lines of text."""

from __future__ import annotations

import msgspec
from textual.geometry import Size

from capexplorer.model.timeline import Timeline
from capexplorer.tui.look import Look, Palette
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.status_view import View

LARGE, SMALL = Size(78, 18), Size(58, 10)
"""Sizes of the inside of a pane: alone at 80x24, and one of six at 120x40."""


def drawn(pane: Pane, timeline: Timeline, size: Size = LARGE) -> list[str]:
    look = Look(large=size == LARGE)
    return [strip.text for strip in pane.draw(timeline, len(timeline) - 1, look, size)]


def status_lines(timeline: Timeline, view: View | None = None, width: int = 78) -> list[str]:
    return [strip.text for strip in status(timeline, view or View(wanted=timeline.wanted, max_users=2_000), Palette(), width)]


def with_last(timeline: Timeline, **changes: object) -> Timeline:
    assert timeline.last is not None
    timeline.apply(msgspec.structs.replace(timeline.last, t_s=timeline.last.t_s + 1, **changes))
    return timeline
