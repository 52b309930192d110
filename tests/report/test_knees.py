"""Knees in reports: lines and bands in the picture, the table of knees, levels of recovery, and comparisons."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from marked import marked
from msgspec.structs import replace

from capexplorer.model.events import Event, LevelOpened, Mark, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict, CurveFit, KneeVerdict, Peak, SloVerdict, UslFit
from capexplorer.report import capacity
from capexplorer.report.compare import Comparison, Session, compare, sentences
from capexplorer.report.compare.page import render as page
from capexplorer.report.formats import html, markdown
from capexplorer.report.formats.csv import levels as csv_levels
from capexplorer.report.statements import marked_s
from capexplorer.report.tables import knees

from .compared import LevelSpec, timeline
from .compared import knee as knee_mark
from .exported_sessions import ramp, session

KNEE = KneeVerdict(
    kind="knee",
    users=30,
    users_low=26,
    users_high=35,
    capacity_rps=122.0,
    limit="queueing",
    confidence="medium",
    provisional=True,
)
USL = UslFit(lambda_rps=4.2, sigma=0.031, kappa=0.0004, peak_users=49.2, peak_rps=120.0, r_squared=0.99)
CURVE = CurveFit(
    low_load_rps_per_user=4.0, low_load_se=0.03, baseline_users=(5, 20), capacity_rps=122.0, capacity_se_rps=2.0, usl=USL
)
VERDICT = CapacityVerdict(knee=KNEE, curve=CURVE)


def with_verdict(
    verdict: CapacityVerdict = VERDICT, *, recovery: tuple[int, ...] = (), slo: tuple[SloVerdict, ...] = ()
) -> Timeline:
    """A session of 5, 20 and 50 users with this verdict; `recovery`: the indices of levels of recovery from overload."""
    return Timeline([*session((5, 20, 50)), Verdict(t_s=38.0, capacity=verdict, slo=slo, recovery_levels=recovery)])


def drawing(shown: Timeline) -> str:
    """The picture as SVG, which is well-formed."""
    svg = capacity.drawing(shown)
    assert svg is not None
    ElementTree.fromstring(svg)
    return svg


# -- the picture of goodput and latency by users


def test_the_picture_has_the_knee_its_interval_the_capacity_and_the_fits() -> None:
    found = drawing(with_verdict())
    assert [found.count(f'class="{name}"') for name in ("band", "capacity", "linear")] == [1, 1, 1]
    assert ">knee 30 [26–35] at 122/s<" in found
    assert ">capacity 122/s<" in found
    assert "low load 4/s per user" in found
    assert "USL fit (thin): λ 4.2/s, σ 0.031, κ 0.0004, peak at 49 users" in found


def test_the_band_spans_the_interval() -> None:
    found = drawing(with_verdict())
    band = re.search(r'class="band" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', found)
    line = re.search(r'<line class="knee" x1="([\d.]+)"', found)
    assert band
    assert line
    left, width, x = float(band[1]), float(band[2]), float(line[1])
    assert left < x < left + width
    assert (x - left) / width == pytest.approx((30 - 26) / (35 - 26), abs=0.01)


def test_an_unreliable_usl_fit_is_grey_with_its_reason() -> None:
    found = drawing(with_verdict(replace(VERDICT, curve=replace(CURVE, usl=replace(USL, unreliable_why="few_levels")))))
    assert 'class="usl grey"' in found
    assert "too few levels" in found


def test_a_bend_has_no_interval_and_without_a_knee_there_is_no_line() -> None:
    bend = drawing(with_verdict(replace(VERDICT, knee=KneeVerdict(kind="bend", users=30, users_low=20))))
    assert 'class="band"' not in bend
    assert 'class="knee soft"' in bend
    assert "scaling flattens from 30 users" in bend
    none = drawing(with_verdict(replace(VERDICT, knee=KneeVerdict(kind="no_knee", users=50))))
    assert 'class="knee' not in none
    assert "no knee up to 50 users" in none


def test_a_knee_at_or_below_the_lowest_level_has_no_line_of_linear_scaling() -> None:
    found = drawing(with_verdict(replace(VERDICT, knee=KneeVerdict(kind="at_or_below", users=5, users_high=6))))
    assert "knee at or below 5 users" in found
    assert 'class="band"' in found
    assert 'class="linear"' not in found


def test_the_picture_has_the_latency_knee() -> None:
    found = drawing(with_verdict(replace(VERDICT, latency_knee=KneeVerdict(kind="latency_knee", users=20))))
    assert "latency climbs from 20" in found


def test_labels_of_points_do_not_overlap() -> None:
    picture = drawing(Timeline(session((1, 2, 3, 6, 90))))
    labels = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="middle" class="value">([^<]+)<', picture)
    boxes = [(float(x) - 3.8 * len(label), float(x) + 3.8 * len(label), float(y)) for x, y, label in labels]
    overlapping = [
        (one, other)
        for one, other in combinations(boxes, 2)
        if one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < 13
    ]
    assert overlapping == []
    assert 2 <= len(boxes) < 5, "labels, of five points"


def test_each_line_below_the_picture_fits_into_it() -> None:
    below = re.findall(
        r'<text x="64" y="[\d.]+" text-anchor="start" class="muted">([^<]+)<', drawing(with_verdict(recovery=(2,)))
    )
    assert [line for line in below if len(line) > 90] == []
    assert "squares: recovery" in "; ".join(below)


def test_levels_of_recovery_are_squares_and_not_on_the_curve() -> None:
    plain, with_recovery = drawing(with_verdict()), drawing(with_verdict(recovery=(2,)))
    curve = re.compile(r'<polyline class="e0" points="([^"]*)"')
    assert len(curve.findall(plain)[0].split()) == 3, "points of the curve"
    assert len(curve.findall(with_recovery)[0].split()) == 2, "points of the curve without the level of recovery"
    assert "squares: recovery" in with_recovery
    assert "squares" not in plain
    assert re.search(r'<rect class="e0 hollow"', with_recovery)


def test_every_epoch_has_its_own_knee_and_interval() -> None:
    other = replace(KNEE, users=10, users_low=8, users_high=12, epoch=1)
    events = session((5, 20, 50, 5, 20, 40))
    verdicts = [Verdict(t_s=75.0, capacity=VERDICT), Verdict(t_s=75.0, epoch=1, capacity=replace(VERDICT, knee=other))]
    found = drawing(Timeline([*events, *verdicts]))
    assert "epoch 0: knee 30" in found
    assert "epoch 1: knee 10" in found
    assert found.count('class="band"') == 2


def test_a_log_without_verdicts_shows_its_mark_and_linear_scaling_from_the_lowest_level() -> None:
    mark = marked(
        t_s=30.0, key="knee:0", state="open", kind="knee", id="knee", users=30, evidence={"users_low": 26, "users_high": 35}
    )
    found = drawing(Timeline([*session((5, 20, 50)), mark]))
    assert ">knee 30<" in found
    assert 'class="band"' in found
    assert "linear scaling from the lowest level" in found


def test_the_picture_of_a_ramp_has_its_knee() -> None:
    verdict = Verdict(t_s=31.0, capacity=replace(VERDICT, knee=replace(KNEE, users=20, users_low=18, users_high=23)))
    found = drawing(Timeline([*ramp(), verdict]))
    assert "knee 20" in found
    assert "hollow: seconds of a ramp with about as many users" in found


def test_the_picture_is_the_same_every_time() -> None:
    assert capacity.picture(with_verdict()) == capacity.picture(with_verdict())


# -- tables


def test_the_table_of_knees_has_interval_capacity_limit_and_confidence() -> None:
    assert knees(with_verdict()).rows == [("knee", "30", "26–35", "122.0 ± 3.9", "queueing", "medium, provisional")]
    text = markdown.render(with_verdict()).decode()
    assert "| knee | 30 | 26–35 | 122.0 ± 3.9 | queueing | medium, provisional |" in text
    assert "<td>26–35</td>" in html.render(with_verdict()).decode()


def test_peak_latency_knee_and_objectives_have_rows_in_the_table() -> None:
    peak = Peak(users=40, goodput_rps=125.0, shape="retrograde", fall_ratio=0.2)
    latency = KneeVerdict(kind="latency_knee", users=20, users_low=10, users_high=30, confidence="high")
    slo = (
        SloVerdict(name="p95_ms", limit=300, state="crossed", users=22, users_low=20, users_high=25, goodput_rps=80.0, thin=True),
        SloVerdict(name="failure_ratio", limit=0.01, state="broken", users_high=5.0),
    )
    found = knees(with_verdict(replace(VERDICT, knee=replace(KNEE, peak=peak), latency_knee=latency), slo=slo)).rows
    assert [line[0] for line in found[:4]] == ["knee", "peak", "latency climbs", "p95 ≤ 300 ms"]
    assert found[1][1:5] == ("40", "–", "125", "goodput falls by 20%")
    assert found[2][1:3] == ("20", "–")  # its bounds are the levels beside it, no 90% interval
    assert found[3][1:] == ("22", "20–25", "80", "–", "few values at its limit")
    assert found[4][:2] == ("failures ≤ 1%", "under 5")


def test_the_table_has_a_row_if_there_is_no_knee() -> None:
    found = knees(
        with_verdict(CapacityVerdict(knee=KneeVerdict(kind="no_knee", users=50), curve=replace(CURVE, capacity_rps=None)))
    )
    assert found.rows == [("knee", "none up to 50", "–", "–", "–", "–")]


def test_levels_of_recovery_are_marked_in_tables_and_remain_in_the_csv() -> None:
    text = markdown.render(with_verdict(recovery=(2,))).decode()
    assert "| ↓ 50 |" in text
    assert "recovery from overload" in text
    assert "recovery from overload" not in markdown.render(with_verdict()).decode()
    assert ">↓50<" in html.render(with_verdict(recovery=(2,))).decode()
    assert len(csv_levels(with_verdict(recovery=(2,))).splitlines()) == 4


# -- charts by time


def test_the_time_of_a_mark_is_when_it_got_its_present_kind() -> None:
    def mark(t_s: float, revision: int, kind: str, **evidence: object) -> Mark:
        return marked(t_s=t_s, key="knee:epoch0", revision=revision, state="updated", kind=kind, id=kind, evidence=evidence)

    moved: list[Event] = [mark(5.0, 1, "bend"), mark(9.0, 2, "knee"), mark(20.0, 3, "knee")]
    shift = marked(t_s=30.0, key="shift:level3", state="open", kind="shift", id="goodput_fell", evidence={"at_s": 22.0})
    found = Timeline([*session((5, 20, 50)), *moved, shift])
    assert marked_s(found)["knee:epoch0"] == 9.0, "when the bend became a knee"
    assert marked_s(found)["shift:level3"] == 22.0, "when the service changed"
    times = [each["t_s"] for each in html.data(found)["marks"]]
    assert times == sorted(times)
    assert 9.0 in times
    assert 22.0 in times
    assert 20.0 not in times


def test_a_level_that_a_shift_split_begins_when_the_service_changed() -> None:
    opened = LevelOpened(t_s=38.0, index=3, users=50, spawn_rate=1, by="shift", since_s=33.0)
    levels = html.data(Timeline([*session((5, 20, 50)), opened]))["levels"]
    assert (levels[-1]["started_s"], levels[-1]["shift"]) == (33.0, True)


# -- comparisons


def compared(*shown: Timeline) -> Comparison:
    """The comparison of these sessions."""
    return compare([Session(each) for each in shown])


def test_knees_are_compared_with_their_intervals() -> None:
    marks = [
        knee_mark(60, 120.0, users_low=55, users_high=65, capacity_se_rps=2.0),
        knee_mark(45, 90.0, users_low=42, users_high=48, capacity_se_rps=1.0),
    ]
    found = compared(*(timeline([LevelSpec(10)], more=[mark]) for mark in marks))
    knee, capacity_ = found.pairs[0].knee
    assert knee.before.se == pytest.approx(10 / 2 / 1.645)
    assert (knee.judgement, capacity_.judgement) == ("beyond", "beyond")
    assert sentences.knee(found.curves[0]) == "60 [55–65] users, 120.0 ± 3.9/s"
    assert page(found).decode().count('class="band"') == 2


def test_a_session_without_a_knee_is_compared_with_its_highest_users() -> None:
    without = Verdict(t_s=9.0, capacity=CapacityVerdict(knee=KneeVerdict(kind="no_knee", users=80)))
    found = compared(timeline([LevelSpec(10)], more=[knee_mark(45, 90.0)]), timeline([LevelSpec(10)], more=[without]))
    assert "only A has a knee (B: no knee up to 80 users)" in sentences.verdict(found)
    assert sentences.knee(found.curves[1]) == "no knee up to 80 users"


def test_levels_of_recovery_are_not_compared() -> None:
    with_recovery = Verdict(t_s=29.0, capacity=CapacityVerdict(), recovery_levels=(2,))
    levels = [LevelSpec(10, 100.0), LevelSpec(50, 120.0), LevelSpec(10, 60.0)]
    found = compared(timeline(levels, more=[with_recovery]), timeline(levels))
    goodputs = [curve.points[0].figures["goodput"].value for curve in found.curves]
    assert goodputs == [100.0, 80.0], "at 10 users: without and with the level of recovery"
