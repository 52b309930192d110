"""Knees in reports: lines and bands in the picture, the table of knees, levels of recovery, and comparisons."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from marked import marked

from capexplorer.model.events import Event, LevelOpened, Mark, Verdict
from capexplorer.model.timeline import Timeline
from capexplorer.model.verdicts import CapacityVerdict
from capexplorer.report import capacity
from capexplorer.report.compare import Comparison, Session, compare
from capexplorer.report.formats import html
from capexplorer.report.statements import marked_s

from .compared import LevelSpec, timeline
from .exported_sessions import session
from .made_sessions import with_verdict


def drawing(shown: Timeline) -> str:
    """The picture as SVG, which is well-formed."""
    svg = capacity.drawing(shown)
    assert svg is not None
    ElementTree.fromstring(svg)
    return svg


# -- the picture of goodput and latency by users


def test_the_band_spans_the_interval() -> None:
    found = drawing(Timeline(with_verdict()))
    band = re.search(r'class="band" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', found)
    line = re.search(r'<line class="knee" x1="([\d.]+)"', found)
    assert band
    assert line
    left, width, x = float(band[1]), float(band[2]), float(line[1])
    assert left < x < left + width
    assert (x - left) / width == pytest.approx((30 - 26) / (35 - 26), abs=0.01)


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
        r'<text x="64" y="[\d.]+" text-anchor="start" class="muted">([^<]+)<', drawing(Timeline(with_verdict(recovery=(2,))))
    )
    assert [line for line in below if len(line) > 90] == []
    assert "squares: recovery" in "; ".join(below)


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


def test_levels_of_recovery_are_not_compared() -> None:
    with_recovery = Verdict(t_s=29.0, capacity=CapacityVerdict(), recovery_levels=(2,))
    levels = [LevelSpec(10, 100.0), LevelSpec(50, 120.0), LevelSpec(10, 60.0)]
    found = compared(timeline(levels, more=[with_recovery]), timeline(levels))
    goodputs = [curve.points[0].figures["goodput"].value for curve in found.curves]
    assert goodputs == [100.0, 80.0], "at 10 users: without and with the level of recovery"
