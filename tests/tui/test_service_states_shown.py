"""Levels of another state of the service, and levels during which it changed, have a sign of their own and are on no curve."""

from __future__ import annotations

import pytest
from analysis.recorded import analysed_again
from textual.geometry import Size

from capexplorer.model.timeline import Timeline
from capexplorer.tui.display_options import DisplayOptions
from capexplorer.tui.panes.curve import CurvePane, level_points
from capexplorer.tui.panes.latency import level_latencies
from capexplorer.tui.panes.level_page import LevelPage
from capexplorer.tui.panes.pane import Pane

from .drawn import MAXIMISED

NARROW = Size(37, 8)
"""A pane of four on a screen of 80x24."""


@pytest.fixture(scope="module")
def dies() -> Timeline:
    """The upstream of the service dies in the middle of the third level, with 24 users."""
    return analysed_again("upstream-dies-at-24-users")


def shown(pane: Pane, timeline: Timeline, size: Size, inspected: int | None = None) -> str:
    options = DisplayOptions(inspected=inspected)
    return "\n".join(strip.text for strip in pane.draw(timeline, len(timeline) - 1, options, size))


def test_only_levels_of_one_state_of_the_service_are_part_of_the_curve(dies: Timeline) -> None:
    points = level_points(dies, dies.levels, len(dies) - 1)
    assert [(point.load, point.kind, point.fitted) for point in points] == [
        (8, "step", True), (16, "step", True), (24, "changed", False), (32, "other_service", False),
    ]  # fmt: skip


def test_the_legend_of_the_curve_explains_their_sign(dies: Timeline) -> None:
    assert "△ changed during the level, another state of the service" in shown(CurvePane(), dies, MAXIMISED)


def test_the_legend_of_a_narrow_curve_has_the_sign_too(dies: Timeline) -> None:
    assert "△ changed" in shown(CurvePane(), dies, NARROW)


def test_they_are_off_the_curve_of_latencies(dies: Timeline) -> None:
    assert [(each.load, each.of_other_state) for each in level_latencies(dies)] == [(8, False), (16, False), (24, True)]


@pytest.mark.parametrize(
    ("t_s", "words"),
    [
        (20.0, ""),
        (40.0, "△ the service changed during the level: its figures mix two states"),
        (58.0, "△ the service was in another state than the one that the verdict is about"),
    ],
)
def test_the_page_of_a_level_says_so(dies: Timeline, t_s: float, words: str) -> None:
    text = shown(LevelPage(), dies, Size(78, 40), dies.index_at(t_s))
    assert words in text
    assert ("△" in text) is bool(words)
