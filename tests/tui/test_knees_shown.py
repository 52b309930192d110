"""What the screen says of capacity: the curve's verdict, marks over time, the status line, the journal. At 80x24 and 120x40."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.geometry import Size
from textual.strip import Strip

from capexplorer.model.events import Event, LevelOpened, Mark, Verdict
from capexplorer.model.findings import Bend
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeKind, KneeVerdict, Missing, Peak, SloVerdict, UslFit
from capexplorer.tui.frozen_timeline import moment
from capexplorer.tui.look import Look, Palette
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.curve_points import level_points
from capexplorer.tui.panes.journal import JournalPane
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.pane import Pane
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.status_view import View
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.render.chart import Tag
from capexplorer.tui.render.timepage import boundaries, page_at, tags
from trials.marked import marked

from .gallery import CLIMB, header, judged, sample, session, sessions

LOOK = Look(window_s=None)
SMALL, ALONE, WIDE = Size(58, 10), Size(78, 17), Size(118, 33)
"""Inside of a pane: a sixth of 120x40, alone at 80x24, maximised at 120x40."""

KNEE = KneeVerdict(
    kind="knee",
    users=47,
    users_low=43,
    users_high=52,
    capacity_rps=122.0,
    limit="queueing",
    confidence="medium",
    provisional=True,
)
USL = UslFit(lambda_rps=2.7, sigma=0.031, kappa=0.0004, peak_users=49.2, peak_rps=120.0, r_squared=0.99)
CURVE = CurveFit(
    low_load_rps_per_user=2.6, low_load_se=0.03, baseline_users=(5, 10, 20), capacity_rps=122.0, capacity_se_rps=2.0, usl=USL
)


def shown(pane: Pane, timeline: Timeline, size: Size = SMALL, look: Look = LOOK) -> str:
    return "\n".join(strip.text for strip in drawn(pane, timeline, size, look))


def drawn(pane: Pane, timeline: Timeline, size: Size, look: Look = LOOK) -> list[Strip]:
    strips = pane.draw(timeline, len(timeline) - 1, look, size)
    assert len(strips) <= size.height and all(strip.cell_length <= size.width for strip in strips)
    return strips


def curve(verdict: CapacityVerdict, size: Size = SMALL, slo: tuple[SloVerdict, ...] = ()) -> str:
    events = [*session(((5, 20), (20, 20), (60, 20))), Verdict(t_s=60.0, capacity=verdict, slo=slo)]
    return shown(CurvePane(), Timeline(events), size)


def at(width: int, verdict: KneeVerdict | None, *more: Event, **view: object) -> list[str]:
    capacity = CapacityVerdict(knee=verdict, curve=CURVE)
    timeline = Timeline([*session(((5, 20), (60, 20))), Verdict(t_s=40.0, capacity=capacity), *more])
    return [strip.text for strip in status(timeline, View(wanted=60, max_users=2_000, **view), Palette(), width)]  # type: ignore[arg-type]


# -- the capacity curve


@pytest.mark.parametrize("size", [SMALL, ALONE, WIDE])
def test_the_curve_shows_the_knee_with_its_interval_and_capacity(size: Size) -> None:
    assert "knee 47 [43–52] at 122/s" in curve(CapacityVerdict(knee=KNEE, curve=CURVE), size)


def test_the_knee_is_labelled_at_its_users_and_its_interval_is_hatched() -> None:
    with_knee, without = (
        curve(CapacityVerdict(knee=knee, curve=replace(CURVE, usl=None)), WIDE) for knee in (KNEE, replace(KNEE, kind="bend"))
    )
    assert "knee" in with_knee.split("\n")[2] + with_knee.split("\n")[3]
    braille = [sum("⠀" < character <= "⣿" for character in text) for text in (with_knee, without)]
    assert braille[0] > braille[1] + 200  # the band, without any colour


def test_the_lines_and_the_law_are_reported_in_figures() -> None:
    reported = curve(CapacityVerdict(knee=KNEE, curve=CURVE), WIDE)
    assert "low load 2.60/s per user" in reported and "capacity 122/s" in reported
    assert "λ 2.7/s  σ 0.031  κ 0.0004  peak 49 users" in reported


@pytest.mark.parametrize(
    ("grey", "why"), [("few_levels", "too few levels"), ("no_bend", "no saturation yet"), ("poor_fit", "fits poorly")]
)
def test_an_unreliable_fit_is_grey_and_says_why(grey: str, why: str) -> None:
    reported = curve(CapacityVerdict(knee=KNEE, curve=replace(CURVE, usl=replace(USL, grey=grey))), WIDE)
    assert f"(grey: {why})" in reported


def test_the_pane_names_what_is_missing_while_data_is_thin() -> None:
    verdict = CapacityVerdict(missing=(Missing(kind="lower_levels", count=2, users_below=20.0),), curve=CURVE)
    assert "→ 2 more levels below 20 users would give a baseline" in curve(verdict)


def test_advice_that_does_not_fit_is_shortened_by_its_reasons_first() -> None:
    wanted = (
        Missing(kind="soak", seconds=20.0, users_above=33.0, users_below=33.0),
        Missing(kind="beyond", seconds=6.0, users_above=57.0, users_below=57.0),
        Missing(kind="return_to_first", seconds=6.0, users_above=5.0, users_below=5.0),
    )
    verdict = CapacityVerdict(knee=KNEE, curve=CURVE, missing=wanted)
    assert "→ soak 20 s at 33 users  then 57 users" in curve(verdict)
    assert "would verify the knee" in curve(replace(verdict, missing=wanted[:1]), WIDE)


def test_advice_of_a_log_from_before_is_still_read() -> None:
    wanted = (Missing(kind="soak", users_above=30.0, users_below=36.0), Missing(kind="return_to_first", users_below=5.0))
    assert "→ soak a minute at 30–36 users  then return to 5 users" in curve(
        CapacityVerdict(knee=KNEE, curve=CURVE, missing=wanted)
    )


def test_without_a_knee_the_pane_names_the_reason_and_draws_none() -> None:
    reported = curve(
        CapacityVerdict(knee=KneeVerdict(kind="no_knee", users=60), curve=replace(CURVE, capacity_rps=None, usl=None))
    )
    assert "no knee up to 60 users" in reported and "┃" not in reported


def test_a_knee_at_or_below_the_lowest_level_draws_no_low_load_line() -> None:
    reported = curve(CapacityVerdict(knee=KneeVerdict(kind="at_or_below", users=5, users_high=6), curve=CURVE), WIDE)
    assert "knee at or below 5 users" in reported
    assert "low load" not in reported
    assert "linear" in reported


def test_the_latency_knee_and_the_peak_are_marks_of_their_own() -> None:
    peak = Peak(users=55, goodput_rps=125.0, shape="retrograde", fall_ratio=0.2)
    latency = KneeVerdict(kind="latency_knee", users=20, confidence="high")
    reported = curve(CapacityVerdict(knee=replace(KNEE, peak=peak), latency_knee=latency, curve=CURVE), WIDE)
    assert "◆ latency climbs" in reported and "▵ peak" in reported
    assert "latency climbs from 20" in reported and "peak 125/s at 55, then it falls" in reported


def test_objectives_stand_under_the_curve() -> None:
    slo = SloVerdict(name="p95_ms", limit=300, state="crossed", users=41, users_low=40, users_high=45, goodput_rps=118.0)
    assert "p95 ≤ 300 ms up to 41 users [40–45] at 118/s" in curve(CapacityVerdict(knee=KNEE, curve=CURVE), WIDE, (slo,))


def test_a_log_without_verdicts_is_drawn_as_before() -> None:
    reported = shown(CurvePane(), Timeline(sessions()["explored"]), WIDE)
    assert "linear scaling from" in reported and "low load" not in reported


def test_bins_of_a_ramp_are_points_of_their_own() -> None:
    timeline = Timeline(sessions()["ramp"])
    points = level_points(timeline, timeline.levels, len(timeline) - 1)
    assert {point.kind for point in points} == {"ramp"} and len(points) > 10
    assert "◇ ramp" in shown(CurvePane(), timeline)


def test_levels_of_a_table_are_measured_points_not_points_so_far() -> None:
    timeline = Timeline(sessions()["table"])
    points = level_points(timeline, timeline.levels, -1)
    assert len(points) == 7 and all(point.certain and not point.current for point in points)
    reported = shown(CurvePane(), timeline)
    assert "so far" not in reported and "knee 31" in reported


def test_levels_on_the_way_down_from_overload_have_another_glyph_and_join_no_curve() -> None:
    timeline = Timeline(sessions()["recovery"])
    points = level_points(timeline, timeline.levels, len(timeline) - 1)
    assert [(point.users, point.kind) for point in points[-3:]] == [(110, "step"), (60, "recovery"), (20, "recovery")]
    assert not points[-1].fitted
    assert "× recovery" in shown(CurvePane(), timeline, ALONE)


def test_each_epoch_has_its_own_knee() -> None:
    events = sessions()["two"]
    first_epoch = [event for event in events if event.t_s < 180.0]
    assert "knee 6" in shown(CurvePane(), Timeline(first_epoch))
    assert "knee 36" in shown(CurvePane(), Timeline(events))


def test_a_paused_moment_keeps_its_verdict_and_its_bins() -> None:
    timeline = Timeline([event for event in sessions()["ramp"] if event.t_s < 239.0])
    held = moment(timeline)
    before = shown(CurvePane(), held)
    for event in sessions()["ramp"]:
        if event.t_s >= 239.0:
            timeline.apply(event)
    timeline.apply(Verdict(t_s=241.0, capacity=CapacityVerdict(knee=KNEE, curve=CURVE)))
    assert shown(CurvePane(), held) == before and "knee 47" in shown(CurvePane(), timeline)


def test_the_mark_is_there_within_a_level_of_passing_the_knee() -> None:
    """The service saturates at 170/s, near 70 users: 80 users is the first level beyond."""
    events = sessions()["knee"]
    first = next(event for event in events if isinstance(event, Mark) and event.kind == "knee")
    opened = [event for event in events if isinstance(event, LevelOpened)]
    assert [level.users for level in opened if level.t_s < first.t_s][-1] in (80, 110)


# -- over time


def test_marks_stand_over_time_with_their_words_even_where_it_is_narrow() -> None:
    reported = shown(ThroughputPane(), Timeline(sessions()["knee"]))
    assert "◆" in reported and "knee 68" in reported


def test_a_mark_is_drawn_at_the_time_at_which_it_was_found() -> None:
    events = [*session(((20, 60),))]
    marks = [
        marked(t_s=t_s, key="knee:epoch0", revision=revision, state="updated", kind=kind, id=kind, users=users)
        for revision, (t_s, kind, users) in enumerate(((10.0, "bend", 18), (20.0, "knee", 16), (50.0, "knee", 15)), 1)
    ]
    (tag,) = page_tags([*events, *marks])
    assert (tag.x, tag.word) == (20.0, "knee 15")


def test_a_retracted_mark_is_removed_from_the_charts() -> None:
    mark = marked(t_s=10.0, key="knee:epoch0", state="open", kind="bend", id="bend", users=18)
    assert page_tags([*session(((20, 30),)), mark, replace(mark, t_s=20.0, revision=2, state="retracted")]) == ()


def test_a_shift_is_drawn_at_the_time_of_the_change_and_its_level_begins_there() -> None:
    events = session(((20, 30),))
    shift = marked(
        t_s=25.0, key="shift:level1", state="open", kind="shift", id="goodput_fell", users=20, severity="warning",
        evidence={"at_s": 15.0, "level": 1, "column": "goodput", "before": 50.0, "after": 30.0},
    )  # fmt: skip
    opened = LevelOpened(t_s=25.0, index=1, users=20, spawn_rate=1, by="shift", since_s=15.0)
    (tag,) = page_tags([*events, opened, shift])
    assert (tag.x, tag.glyph, tag.word) == (15.0, "↓", "shift")
    timeline = Timeline([*events, opened])
    page = page_at(timeline, len(timeline) - 1, None)
    assert page is not None
    usual, by_shift = boundaries(page, Palette())
    assert (usual.solid, by_shift.x, by_shift.solid, by_shift.color) == (False, 15.0, True, Palette().warning)


@pytest.mark.parametrize(("id_", "tag"), [("think_time_limited", "◇ waits"), ("gil_bound", "■ bottleneck")])
def test_a_finding_without_a_limit_is_not_called_a_bottleneck(id_: str, tag: str) -> None:
    mark = marked(t_s=10.0, key=f"bottleneck:{id_}:epoch0", state="open", kind="bottleneck", id=id_, users=20)
    (found,) = page_tags([*session(((20, 30),)), mark])
    assert f"{found.glyph} {found.word}" == tag


def page_tags(events: list[Event]) -> tuple[Tag, ...]:
    timeline = Timeline(events)
    page = page_at(timeline, len(timeline) - 1, None)
    assert page is not None
    return tags(page, Palette(), words=True)


# -- the status line


def test_the_status_line_shows_the_knee_its_limit_and_that_it_is_provisional() -> None:
    assert "knee 47 [43–52] at 122/s, queueing, provisional" in at(118, KNEE)[1]
    assert "provisional" not in at(118, replace(KNEE, provisional=False))[1]


def test_at_80_columns_the_knee_pushes_out_neither_users_nor_level_nor_phase() -> None:
    first, second, *_ = at(78, KNEE)
    assert "users 60" in first
    assert "level 1, settled 16 s" in second
    assert "knee 47 [43–52] at 122/s" in second
    assert "loop lag" in second
    assert len(first) == len(second) == 78


@pytest.mark.parametrize(
    ("knee", "sentence"),
    [
        (KneeVerdict(kind="no_knee", users=60), "no knee up to 60 users"),
        (KneeVerdict(kind="bend", users=80, users_low=60), "scaling flattens from 80 users"),
        (KneeVerdict(kind="at_or_below", users=5, users_high=5), "knee at or below 5 users"),
        (replace(KNEE, limit="generator"), "knee 47 [43–52] at 122/s, generator"),
    ],
)
def test_the_status_line_shows_the_finding_that_replaces_a_knee(knee: KneeVerdict, sentence: str) -> None:
    assert sentence in at(118, knee)[1]


def test_the_status_line_says_nothing_before_a_verdict_and_after_a_restart() -> None:
    assert "knee" not in at(118, None)[1]
    opened = LevelOpened(t_s=50.0, index=2, users=5, spawn_rate=5, by="user", epoch=1)
    assert "knee" not in at(118, KNEE, opened)[1]


def test_an_answer_to_a_key_has_priority_over_the_knee() -> None:
    second = at(78, KNEE, message="saved: sessions/20260101-120000-mixed.md")[1]
    assert "saved: sessions/20260101-120000-mixed.md" in second and "level 1, settled 16 s" in second


# -- the journal


def knee_mark(t_s: float, revision: int, users: float, **more: object) -> Mark:
    evidence = {"users_low": users - 4, "users_high": users + 5, "capacity_rps": 122.0, "limit": "queueing"}
    made = marked(
        t_s=t_s, key="knee:epoch0", revision=revision, state="open" if revision == 1 else "updated", kind="knee", id="knee",
        users=users, severity="warning", confidence="medium", evidence=evidence,
    )  # fmt: skip
    return replace(made, **more)


def journal(*entries: Event) -> str:
    return shown(JournalPane(), Timeline(entries), Size(140, 20))


def test_a_knee_that_moves_is_reported_once_and_where_it_is_now() -> None:
    reported = journal(*(knee_mark(10.0 * n, n, 46.0 + n) for n in range(1, 9)))
    assert reported.count("knee") == 2
    assert "knee at 47 users [43–52] and 122/s, limited by queueing" in reported
    assert "01:20 ◆ knee now 54 [50–59] at 122/s, queueing" in reported


def test_a_revision_that_says_the_same_is_not_reported() -> None:
    assert journal(knee_mark(10.0, 1, 47.0), knee_mark(20.0, 2, 47.2, confidence="high")).count("knee") == 1


def test_a_bend_that_becomes_a_knee_is_reported_as_both() -> None:
    verdict = KneeVerdict(kind="bend", users=40.0)
    more = (Missing(kind="higher_levels", count=2, users_above=80.0),)
    bend = knee_mark(10.0, 1, 40.0, finding=Bend(verdict=verdict, missing=more))
    reported = journal(bend, knee_mark(20.0, 2, 47.0), knee_mark(30.0, 3, 45.0))
    assert "scaling flattens from 40 users (medium confidence). 2 more levels above 80 users would show the maximum" in reported
    assert "knee at 47 users" in reported and "knee now 45" in reported


def test_a_retracted_mark_is_reported_as_retracted() -> None:
    assert "retracted" in journal(knee_mark(10.0, 1, 47.0), knee_mark(20.0, 2, 47.0, state="retracted"))


# -- whatever a log says


finite = st.floats(allow_nan=False, allow_infinity=False)
some = st.none() | finite


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    kinds: tuple[KneeKind, ...] = ("knee", "at_or_below", "bend", "no_knee")
    kind = draw(st.sampled_from(kinds))
    peak = draw(st.none() | st.builds(Peak, users=finite, goodput_rps=finite, shape=st.just("collapse"), fall_ratio=finite))
    knee = KneeVerdict(
        kind=kind, users=draw(some), users_low=draw(some), users_high=draw(some), capacity_rps=draw(some), peak=peak
    )
    usl = UslFit(
        lambda_rps=draw(finite), sigma=draw(finite), kappa=draw(finite), peak_users=draw(some), peak_rps=draw(some), r_squared=0.5
    )
    fit = CurveFit(low_load_rps_per_user=draw(finite), low_load_se=0.0, baseline_users=(), capacity_rps=draw(some), usl=usl)
    missing = (Missing(kind="between_levels", users_above=draw(some), users_below=draw(some)),)
    latency = KneeVerdict(kind="latency_knee", users=draw(some))
    return Verdict(t_s=1.0, capacity=CapacityVerdict(knee=knee, latency_knee=latency, curve=fit, missing=missing))


@hypothesis_settings(max_examples=150, deadline=None)
@given(verdicts(), st.integers(1, 130), st.integers(1, 45), st.booleans())
def test_no_verdict_and_no_size_break_the_screen(verdict: Verdict, width: int, height: int, large: bool) -> None:
    opened = LevelOpened(t_s=0, index=0, users=20, spawn_rate=1, by="user")
    second = sample(1.0, 0, 20, 20, "settled", 30, 20.0, 0, random.Random(1))
    timeline = Timeline([header(), opened, second, verdict])
    drawn(CurvePane(), timeline, Size(width, height), Look(large=large))
    status(timeline, View(wanted=20), Palette(), max(width, 40))


def test_a_screen_between_two_ticks_is_the_same() -> None:
    """Verdicts that do not change move no cell."""
    events = judged(session(CLIMB[:8]))
    timeline = Timeline(events)
    for size, pane in itertools.product((SMALL, ALONE), (CurvePane, LatencyPane, ThroughputPane)):
        assert drawn(pane(), timeline, size) == drawn(pane(), Timeline(events), size)
