"""What time charts, the status line and the journal show of a knee and of other marks about capacity."""

from __future__ import annotations

import pytest
from marked import marked
from msgspec.structs import replace

from capexplorer.model.events import Event, LevelOpened
from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.render.chart import Tag
from capexplorer.tui.render.timepage import TimePage, boundaries, page_of, tags

from .gallery import session

WIDE_STATUS, NARROW_STATUS = 118, 78
"""Columns of the status line at 120x40 and at 80x24."""


# -- charts over time


def test_a_mark_is_drawn_at_the_time_at_which_it_was_found() -> None:
    """A bend at 10 s becomes a knee at 20 s, and the knee is revised at 50 s: its tag stays at 20 s with the newest users."""
    revisions = ((10.0, "bend", 18), (20.0, "knee", 16), (50.0, "knee", 15))
    marks = [
        marked(t_s=t_s, key="knee:epoch0", revision=revision, state="updated", kind=kind, id=kind, users=users)
        for revision, (t_s, kind, users) in enumerate(revisions, 1)
    ]
    (tag,) = tags_of([*session(((20, 60),)), *marks])
    assert (tag.x, tag.word) == (20.0, "knee 15")


def test_a_retracted_mark_is_removed_from_the_charts() -> None:
    mark = marked(t_s=10.0, key="knee:epoch0", state="open", kind="bend", id="bend", users=18)
    retracted = replace(mark, t_s=20.0, revision=2, state="retracted")
    assert tags_of([*session(((20, 30),)), mark, retracted]) == ()


def test_a_shift_is_drawn_at_the_time_of_the_change_which_begins_a_level() -> None:
    events = session(((20, 30),))
    shift = marked(
        t_s=25.0, key="shift:level1", state="open", kind="shift", id="goodput_fell", users=20, severity="warning",
        evidence={"at_s": 15.0, "level": 1, "column": "goodput", "before": 50.0, "after": 30.0},
    )  # fmt: skip
    opened = LevelOpened(t_s=25.0, index=1, users=20, spawn_rate=1, by="shift", since_s=15.0)
    (tag,) = tags_of([*events, opened, shift])
    assert (tag.x, tag.glyph, tag.word) == (15.0, "↓", "shift")
    by_user, by_shift = boundaries(whole_page([*events, opened]), Palette())
    assert not by_user.solid
    assert (by_shift.x, by_shift.solid, by_shift.color) == (15.0, True, Palette().warning)


@pytest.mark.parametrize(("id_", "tag"), [("think_time_limited", "◇ waits"), ("gil_bound", "■ bottleneck")])
def test_think_time_is_tagged_as_waits_and_not_as_a_bottleneck(id_: str, tag: str) -> None:
    mark = marked(t_s=10.0, key=f"bottleneck:{id_}:epoch0", state="open", kind="bottleneck", id=id_, users=20)
    (found,) = tags_of([*session(((20, 30),)), mark])
    assert f"{found.glyph} {found.word}" == tag


def whole_page(events: list[Event]) -> TimePage:
    """The whole session as a page of the time charts."""
    timeline = Timeline(events)
    page = page_of(timeline, len(timeline) - 1, DisplayOptions(window_s=None))
    assert page is not None
    return page


def tags_of(events: list[Event]) -> tuple[Tag, ...]:
    """The tags of marks on the time charts of the whole session."""
    return tags(whole_page(events), Palette(), words=True)


# -- the status line


# -- the journal
