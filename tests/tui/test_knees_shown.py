"""What the pane of the capacity curve shows of a verdict: knee, fitted curves, advice, objectives. At 80x24 and 120x40."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.geometry import Size

from capexplorer.model.events import LevelOpened, Mark, Verdict
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeKind, KneeVerdict, Missing, Peak, SloVerdict, UslFit
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.curve import CurvePane, level_points
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.protocols import View
from capexplorer.tui.screens.view_options import frozen_copy

from .drawn import LARGE, MAXIMISED, SMALL, fitting_strips, pane_text
from .gallery import CLIMB, header, judged, sample, session, sessions
from .knee_verdicts import CURVE, KNEE, USL

EMPTY_BRAILLE, LAST_BRAILLE = "⠀", "⣿"
"""Charts are drawn with the characters after the first of these, up to the last."""


def curve_text(verdict: CapacityVerdict, size: Size = SMALL, objectives: tuple[SloVerdict, ...] = ()) -> str:
    """The pane of the capacity curve with levels of 5, 20 and 60 users and this verdict."""
    events = [*session(((5, 20), (20, 20), (60, 20))), Verdict(t_s=60.0, capacity=verdict, slo=objectives)]
    return pane_text(CurvePane(), Timeline(events), size)


# -- the knee and the fitted curves


@pytest.mark.parametrize("size", [SMALL, LARGE, MAXIMISED])
def test_the_curve_shows_the_knee_with_its_interval_and_capacity(size: Size) -> None:
    assert "knee 47 [43–52] at 122/s" in curve_text(CapacityVerdict(knee=KNEE, curve=CURVE), size)


def test_the_knee_is_labelled_at_its_users_and_its_interval_is_hatched() -> None:
    curve = replace(CURVE, usl=None)
    with_knee = curve_text(CapacityVerdict(knee=KNEE, curve=curve), MAXIMISED)
    with_bend = curve_text(CapacityVerdict(knee=replace(KNEE, kind="bend"), curve=curve), MAXIMISED)
    first_lines_of_plot = "".join(with_knee.split("\n")[2:4])
    assert "knee" in first_lines_of_plot
    assert _drawn_characters(with_knee) > _drawn_characters(with_bend) + 200, "the interval of the knee is not hatched"


def _drawn_characters(text: str) -> int:
    return sum(EMPTY_BRAILLE < character <= LAST_BRAILLE for character in text)


def test_the_figures_of_the_low_load_line_the_capacity_and_the_usl_fit_are_shown() -> None:
    text = curve_text(CapacityVerdict(knee=KNEE, curve=CURVE), MAXIMISED)
    assert "low load 2.60/s per user" in text
    assert "capacity 122/s" in text
    assert "λ 2.7/s  σ 0.031  κ 0.0004  peak 49 users" in text


@pytest.mark.parametrize(
    ("reason", "words"), [("few_levels", "too few levels"), ("no_bend", "no saturation yet"), ("poor_fit", "fits poorly")]
)
def test_an_unreliable_usl_fit_is_grey_and_its_legend_has_the_reason(reason: str, words: str) -> None:
    text = curve_text(CapacityVerdict(knee=KNEE, curve=replace(CURVE, usl=replace(USL, unreliable_why=reason))), MAXIMISED)
    assert f"(grey: {words})" in text


def test_without_a_knee_the_pane_names_the_highest_load_and_draws_no_knee() -> None:
    curve = replace(CURVE, capacity_rps=None, usl=None)
    text = curve_text(CapacityVerdict(knee=KneeVerdict(kind="no_knee", users=60), curve=curve))
    assert "no knee up to 60 users" in text
    assert "┃" not in text, "the vertical line of a knee is drawn"


def test_with_a_knee_at_or_below_the_lowest_level_no_low_load_line_is_drawn() -> None:
    text = curve_text(CapacityVerdict(knee=KneeVerdict(kind="at_or_below", users=5, users_high=6), curve=CURVE), MAXIMISED)
    assert "knee at or below 5 users" in text
    assert "low load" not in text
    assert "linear" in text


def test_the_latency_knee_and_the_peak_have_labels_of_their_own() -> None:
    peak = Peak(users=55, goodput_rps=125.0, shape="retrograde", fall_ratio=0.2)
    latency = KneeVerdict(kind="latency_knee", users=20, confidence="high")
    text = curve_text(CapacityVerdict(knee=replace(KNEE, peak=peak), latency_knee=latency, curve=CURVE), MAXIMISED)
    assert "◆ latency climbs" in text
    assert "▵ peak" in text
    assert "latency climbs from 20" in text
    assert "peak 125/s at 55, then it falls" in text


# -- advice and objectives


def test_with_too_few_levels_the_pane_names_the_levels_to_measure() -> None:
    verdict = CapacityVerdict(missing=(Missing(kind="lower_levels", count=2, users_below=20.0),), curve=CURVE)
    assert "→ 2 more levels below 20 users would give a baseline" in curve_text(verdict)


def test_advice_too_long_for_the_pane_loses_its_reasons_first() -> None:
    steps = (
        Missing(kind="soak", seconds=20.0, users_above=33.0, users_below=33.0),
        Missing(kind="beyond", seconds=6.0, users_above=57.0, users_below=57.0),
        Missing(kind="return_to_first", seconds=6.0, users_above=5.0, users_below=5.0),
    )
    verdict = CapacityVerdict(knee=KNEE, curve=CURVE, missing=steps)
    assert "→ soak 20 s at 33 users  then 57 users" in curve_text(verdict)
    assert "would verify the knee" in curve_text(replace(verdict, missing=steps[:1]), MAXIMISED)


def test_advice_of_an_older_log_without_durations_is_shown() -> None:
    steps = (Missing(kind="soak", users_above=30.0, users_below=36.0), Missing(kind="return_to_first", users_below=5.0))
    text = curve_text(CapacityVerdict(knee=KNEE, curve=CURVE, missing=steps))
    assert "→ soak a minute at 30–36 users  then return to 5 users" in text


def test_objectives_are_listed_below_the_curve() -> None:
    objective = SloVerdict(name="p95_ms", limit=300, state="crossed", users=41, users_low=40, users_high=45, goodput_rps=118.0)
    text = curve_text(CapacityVerdict(knee=KNEE, curve=CURVE), MAXIMISED, (objective,))
    assert "p95 ≤ 300 ms up to 41 users [40–45] at 118/s" in text


# -- the points


def test_a_log_without_verdicts_has_a_linear_scaling_line_and_no_low_load_line() -> None:
    text = pane_text(CurvePane(), Timeline(sessions()["explored"]), MAXIMISED)
    assert "linear scaling from" in text
    assert "low load" not in text


def test_each_bin_of_a_ramp_is_a_point() -> None:
    timeline = Timeline(sessions()["ramp"])
    points = level_points(timeline, timeline.levels, len(timeline) - 1)
    assert {point.kind for point in points} == {"ramp"}
    assert len(points) > 10
    assert "◇ ramp" in pane_text(CurvePane(), timeline, SMALL)


def test_levels_of_an_imported_table_are_points_of_closed_levels() -> None:
    timeline = Timeline(sessions()["table"])
    points = level_points(timeline, timeline.levels, -1)
    assert len(points) == 7
    assert [point for point in points if point.current or not point.certain] == []
    text = pane_text(CurvePane(), timeline, SMALL)
    assert "so far" not in text, "a level is labelled as open"
    assert "knee 31" in text


def test_levels_of_a_recovery_from_overload_have_a_glyph_of_their_own_and_are_not_fitted() -> None:
    timeline = Timeline(sessions()["recovery"])
    points = level_points(timeline, timeline.levels, len(timeline) - 1)
    assert [(point.users, point.kind) for point in points[-3:]] == [(110, "step"), (60, "recovery"), (20, "recovery")]
    assert not points[-1].fitted
    assert "× recovery" in pane_text(CurvePane(), timeline, LARGE)


def test_after_a_restart_of_the_target_the_knee_of_the_new_epoch_is_shown() -> None:
    events = sessions()["two"]
    first_epoch = [event for event in events if event.t_s < 180.0]
    assert "knee 6" in pane_text(CurvePane(), Timeline(first_epoch), SMALL)
    assert "knee 36" in pane_text(CurvePane(), Timeline(events), SMALL)


def test_a_frozen_timeline_keeps_its_verdict_and_its_bins() -> None:
    pause_s = 239.0
    timeline = Timeline([event for event in sessions()["ramp"] if event.t_s < pause_s])
    frozen = frozen_copy(timeline)
    before = pane_text(CurvePane(), frozen, SMALL)
    for event in sessions()["ramp"]:
        if event.t_s >= pause_s:
            timeline.apply(event)
    timeline.apply(Verdict(t_s=241.0, capacity=CapacityVerdict(knee=KNEE, curve=CURVE)))
    assert pane_text(CurvePane(), frozen, SMALL) == before
    assert "knee 47" in pane_text(CurvePane(), timeline, SMALL)


def test_a_knee_is_marked_within_the_first_two_levels_beyond_it() -> None:
    """The service saturates at 170/s, near 70 users; the levels beyond are of 80 and of 110 users."""
    events = sessions()["knee"]
    first_mark = next(event for event in events if isinstance(event, Mark) and event.kind == "knee")
    opened = [event for event in events if isinstance(event, LevelOpened) and event.t_s < first_mark.t_s]
    assert opened[-1].users in (80, 110)


# -- any verdict, any size

finite_numbers = st.floats(allow_nan=False, allow_infinity=False)
optional_numbers = st.none() | finite_numbers


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    """Verdicts of all kinds with any finite figures, as a damaged or foreign log may have them."""
    kinds: tuple[KneeKind, ...] = ("knee", "at_or_below", "bend", "no_knee")
    kind = draw(st.sampled_from(kinds))
    peaks = st.builds(
        Peak, users=finite_numbers, goodput_rps=finite_numbers, shape=st.just("collapse"), fall_ratio=finite_numbers
    )
    knee = KneeVerdict(
        kind=kind,
        peak=draw(st.none() | peaks),
        users=draw(optional_numbers),
        users_low=draw(optional_numbers),
        users_high=draw(optional_numbers),
        capacity_rps=draw(optional_numbers),
    )
    usl = UslFit(
        lambda_rps=draw(finite_numbers),
        sigma=draw(finite_numbers),
        kappa=draw(finite_numbers),
        peak_users=draw(optional_numbers),
        peak_rps=draw(optional_numbers),
        r_squared=0.5,
    )
    curve = CurveFit(
        low_load_rps_per_user=draw(finite_numbers),
        low_load_se=0.0,
        baseline_users=(),
        capacity_rps=draw(optional_numbers),
        usl=usl,
    )
    missing = (Missing(kind="between_levels", users_above=draw(optional_numbers), users_below=draw(optional_numbers)),)
    latency = KneeVerdict(kind="latency_knee", users=draw(optional_numbers))
    return Verdict(t_s=1.0, capacity=CapacityVerdict(knee=knee, latency_knee=latency, curve=curve, missing=missing))


@given(verdicts(), st.integers(1, 130), st.integers(1, 45), st.booleans())
def test_any_verdict_is_drawn_at_any_size(verdict: Verdict, width: int, height: int, large: bool) -> None:
    opened = LevelOpened(t_s=0, index=0, users=20, spawn_rate=1, by="user")
    second = sample(1.0, 0, 20, 20, "settled", 30, 20.0, 0, random.Random(1))
    timeline = Timeline([header(), opened, second, verdict])
    fitting_strips(CurvePane(), timeline, Size(width, height), DisplayOptions(large=large))
    status(timeline, View(load=Users(20)), Palette(), max(width, 40))


def test_equal_events_are_drawn_equally() -> None:
    """Two timelines of the same events give the same cells, so that between two seconds no cell changes."""
    events = judged(session(CLIMB[:8]))
    timeline = Timeline(events)
    for size, pane in itertools.product((SMALL, LARGE), (CurvePane, LatencyPane, ThroughputPane)):
        assert fitting_strips(pane(), timeline, size) == fitting_strips(pane(), Timeline(events), size), pane.__name__
