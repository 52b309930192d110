"""A replay shows marks as of the moment: what was not known yet is not shown, superseded marks as they were then."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Size

from capexplorer.model.events import Event, Mark
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.session.canonical import canonical
from capexplorer.session.writer import SessionWriter
from capexplorer.tui.look import Look, Palette
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.journal import JournalPane
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.status_view import View
from capexplorer.tui.panes.throughput import ThroughputPane
from trials.timeline_digest import digest

from .gallery import sessions


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replayed") / "knee.jsonl"
    writer = SessionWriter(path)
    for event in sessions()["recovery"]:
        writer.write(event)
    writer.close()
    return path


@pytest.fixture
def events() -> list[Event]:
    return [canonical(event) for event in sessions()["recovery"]]


def screen(timeline: Timeline) -> str:
    look, size = Look(window_s=None, large=True), Size(118, 30)
    panes = [pane.draw(timeline, len(timeline) - 1, look, size) for pane in (CurvePane(), JournalPane(), ThroughputPane())]
    panes.append(status(timeline, View(wanted=timeline.wanted), Palette(), 118))
    return "\n".join(strip.text for pane in panes for strip in pane)


def test_every_moment_shows_the_verdict_of_that_moment(log: Path, events: list[Event]) -> None:
    replay = Replay(log)
    replay.read_on()
    for t_s in (10.0, 95.0, 130.0, 141.0, 160.0, 200.0):
        moment, then = replay.at(t_s), Timeline(event for event in events if event.t_s <= t_s)
        assert digest(moment) == digest(then)
        assert screen(moment) == screen(then)
    replay.close()


def test_the_knee_is_not_there_before_its_mark_and_goes_when_one_jumps_back(log: Path, events: list[Event]) -> None:
    first = next(event for event in events if isinstance(event, Mark) and event.kind == "knee")
    replay = Replay(log)
    replay.read_on()
    for _ in range(2):
        assert "◆" not in screen(replay.at(first.t_s - 0.5)) and "knee at" not in screen(replay.at(first.t_s - 0.5))
        assert "knee at" in screen(replay.at(first.t_s + 0.5))
    assert "recovery" not in screen(replay.at(150.0)) and "× recovery" in screen(replay.at(200.0))
    replay.close()
