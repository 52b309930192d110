"""What time charts, the status line and the journal show of a knee and of other marks about capacity."""

from __future__ import annotations

import pytest
from marked import marked
from msgspec.structs import replace
from textual.geometry import Size

from capexplorer.model.events import Event, LevelOpened, Mark, Verdict
from capexplorer.model.findings import Bend, Recovered
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, KneeVerdict, Missing, Recovery
from capexplorer.tui.display_options import Palette
from capexplorer.tui.panes.journal import JournalPane
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.protocols import View
from capexplorer.tui.render.chart import Tag
from capexplorer.tui.render.timepage import TimePage, boundaries, page_at, tags

from .drawn import SMALL, pane_text, status_lines
from .gallery import session, sessions
from .knee_verdicts import CURVE, KNEE

WIDE_STATUS, NARROW_STATUS = 118, 78
"""Columns of the status line at 120x40 and at 80x24."""


# -- charts over time


def test_the_throughput_chart_labels_the_knee_in_a_small_pane() -> None:
    text = pane_text(ThroughputPane(), Timeline(sessions()["knee"]), SMALL)
    assert "◆" in text
    assert "knee 68" in text


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
    page = page_at(timeline, len(timeline) - 1, None)
    assert page is not None
    return page


def tags_of(events: list[Event]) -> tuple[Tag, ...]:
    """The tags of marks on the time charts of the whole session."""
    return tags(whole_page(events), Palette(), words=True)


# -- the status line


def status_with(width: int, knee: KneeVerdict | None, *more: Event, message: str = "") -> list[str]:
    """The status of a session of 5 and 60 users with this knee in its verdict, and with more events after it."""
    verdict = Verdict(t_s=40.0, capacity=CapacityVerdict(knee=knee, curve=CURVE))
    timeline = Timeline([*session(((5, 20), (60, 20))), verdict, *more])
    return status_lines(timeline, View(load=Users(60), max_users=2_000, message=message), width)


def test_the_status_line_shows_the_knee_its_limit_and_that_it_is_provisional() -> None:
    assert "knee 47 [43–52] at 122/s, queueing, provisional" in status_with(WIDE_STATUS, KNEE)[1]
    assert "provisional" not in status_with(WIDE_STATUS, replace(KNEE, provisional=False))[1]


def test_at_80_columns_the_knee_fits_beside_users_level_phase_and_loop_lag() -> None:
    first, second, *_ = status_with(NARROW_STATUS, KNEE)
    assert "users 60" in first
    assert "level 1, settled 16 s" in second
    assert "knee 47 [43–52] at 122/s" in second
    assert "loop lag" in second
    assert len(first) == len(second) == NARROW_STATUS


@pytest.mark.parametrize(
    ("knee", "sentence"),
    [
        (KneeVerdict(kind="no_knee", users=60), "no knee up to 60 users"),
        (KneeVerdict(kind="bend", users=80, users_low=60), "scaling flattens from 80 users"),
        (KneeVerdict(kind="at_or_below", users=5, users_high=5), "knee at or below 5 users"),
        (replace(KNEE, limit="generator"), "knee 47 [43–52] at 122/s, generator"),
    ],
)
def test_the_status_line_shows_every_kind_of_knee_verdict(knee: KneeVerdict, sentence: str) -> None:
    assert sentence in status_with(WIDE_STATUS, knee)[1]


def test_the_status_line_has_no_knee_before_a_verdict_and_after_a_restart_of_the_target() -> None:
    assert "knee" not in status_with(WIDE_STATUS, None)[1]
    level_of_next_epoch = LevelOpened(t_s=50.0, index=2, users=5, spawn_rate=5, by="user", epoch=1)
    assert "knee" not in status_with(WIDE_STATUS, KNEE, level_of_next_epoch)[1]


def test_the_answer_to_a_key_has_priority_over_the_knee() -> None:
    second = status_with(NARROW_STATUS, KNEE, message="saved: sessions/20260101-120000-mixed.md")[1]
    assert "saved: sessions/20260101-120000-mixed.md" in second
    assert "level 1, settled 16 s" in second


# -- the journal


def knee_mark(t_s: float, revision: int, users: float, **changes: object) -> Mark:
    """A revision of the mark of one knee, with other fields changed."""
    evidence = {"users_low": users - 4, "users_high": users + 5, "capacity_rps": 122.0, "limit": "queueing"}
    mark = marked(
        t_s=t_s, key="knee:epoch0", revision=revision, state="open" if revision == 1 else "updated", kind="knee", id="knee",
        users=users, severity="warning", confidence="medium", evidence=evidence,
    )  # fmt: skip
    return replace(mark, **changes)


def journal(*entries: Event) -> str:
    return pane_text(JournalPane(), Timeline(entries), Size(140, 20))


def test_the_journal_lists_a_knee_when_it_is_found_and_once_more_with_its_newest_users() -> None:
    text = journal(*(knee_mark(10.0 * n, n, 46.0 + n) for n in range(1, 9)))
    assert text.count("knee") == 2
    assert "knee at 47 users [43–52] and 122/s, limited by queueing" in text
    assert "01:20 ◆ knee now 54 [50–59] at 122/s, queueing" in text


def test_the_journal_does_not_list_a_revision_with_the_same_sentence() -> None:
    assert journal(knee_mark(10.0, 1, 47.0), knee_mark(20.0, 2, 47.2, confidence="high")).count("knee") == 1


def test_the_journal_lists_a_bend_and_the_knee_that_it_becomes() -> None:
    verdict = KneeVerdict(kind="bend", users=40.0)
    missing = (Missing(kind="higher_levels", count=2, users_above=80.0),)
    bend = knee_mark(10.0, 1, 40.0, finding=Bend(verdict=verdict, missing=missing))
    text = journal(bend, knee_mark(20.0, 2, 47.0), knee_mark(30.0, 3, 45.0))
    assert "scaling flattens from 40 users (medium confidence). 2 more levels above 80 users would show the maximum" in text
    assert "knee at 47 users" in text
    assert "knee now 45" in text


def test_the_journal_lists_that_a_mark_is_retracted() -> None:
    text = journal(knee_mark(10.0, 1, 47.0), knee_mark(20.0, 2, 47.0, state="retracted"))
    assert text.count("knee") == 1
    assert "00:20 ◇ knee at 47 users (medium confidence): retracted" in text


def test_the_journal_lists_a_recovery_in_place_of_the_failed_one_that_it_contradicts() -> None:
    recoveries = [
        replace(knee_mark(t_s, revision, 20.0), key="recovery:level7", finding=Recovered(recovery=found))
        for t_s, revision, found in (
            (10.0, 1, Recovery(from_users=80, to_users=20, recovered=False, latency_ratio=1.5)),
            (20.0, 2, Recovery(from_users=80, to_users=20, recovered=True, after_s=9.0)),
        )
    ]
    assert "did not recover" in journal(recoveries[0])
    text = journal(*recoveries)
    assert "did not recover" not in text
    assert "recovered 9 s after stepping down" in text
