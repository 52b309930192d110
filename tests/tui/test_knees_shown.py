"""What the pane of the capacity curve shows of a verdict: knee, fitted curves, advice, objectives. At 80x24 and 120x40."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from capexplorer.model.events import LevelOpened, Mark, Verdict
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeKind, KneeVerdict, Missing, Peak, UslFit
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.latency import LatencyPane
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.protocols import View
from capexplorer.tui.screens.view_options import frozen_copy

from .drawn import LARGE, SMALL, fitting_strips, pane_text
from .gallery import CLIMB, header, judged, sample, session, sessions
from .knee_verdicts import CURVE, KNEE

# -- the points


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
