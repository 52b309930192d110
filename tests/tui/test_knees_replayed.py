"""At each moment a replay shows the knee, the marks and the verdict that the live screen showed at that moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Size
from timeline_digest import digest

from capexplorer.model.events import Event, Mark
from capexplorer.model.load import Users
from capexplorer.model.timeline import Timeline
from capexplorer.replay import Replay
from capexplorer.session.canonical import canonical
from capexplorer.session.writer import SessionWriter
from capexplorer.tui.display_options import DisplayOptions, Palette
from capexplorer.tui.panes.curve import CurvePane
from capexplorer.tui.panes.journal import JournalPane
from capexplorer.tui.panes.status import status
from capexplorer.tui.panes.throughput import ThroughputPane
from capexplorer.tui.protocols import View

from .gallery import sessions


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a session that goes into overload and recovers."""
    path = tmp_path_factory.mktemp("replayed") / "knee.jsonl"
    writer = SessionWriter(path)
    for event in sessions()["recovery"]:
        writer.write(event)
    writer.close()
    return path


@pytest.fixture
def events() -> list[Event]:
    """The events of that log, as its reader returns them."""
    return [canonical(event) for event in sessions()["recovery"]]


def screen_text(timeline: Timeline) -> str:
    """The capacity curve, the journal, the throughput chart and the status at the end of a timeline."""
    options, size = DisplayOptions(window_s=None, large=True), Size(118, 30)
    panes = [pane.draw(timeline, len(timeline) - 1, options, size) for pane in (CurvePane(), JournalPane(), ThroughputPane())]
    panes.append(status(timeline, View(load=Users(timeline.wanted)), Palette(), 118))
    return "\n".join(strip.text for pane in panes for strip in pane)


def test_a_moment_of_a_replay_is_drawn_as_a_timeline_that_ends_there(log: Path, events: list[Event]) -> None:
    replay = Replay(log)
    replay.read_on()
    for t_s in (10.0, 95.0, 130.0, 141.0, 160.0, 200.0):
        moment, expected = replay.at(t_s), Timeline(event for event in events if event.t_s <= t_s)
        assert digest(moment) == digest(expected), f"at {t_s} s"
        assert screen_text(moment) == screen_text(expected), f"at {t_s} s"
    replay.close()


def test_a_knee_is_shown_only_at_moments_after_its_mark_also_after_a_jump_back(log: Path, events: list[Event]) -> None:
    found_s = next(event.t_s for event in events if isinstance(event, Mark) and event.kind == "knee")
    replay = Replay(log)
    replay.read_on()
    for jump in ("first", "back"):
        before = screen_text(replay.at(found_s - 0.5))
        assert "◆" not in before, jump
        assert "knee at" not in before, jump
        assert "knee at" in screen_text(replay.at(found_s + 0.5)), jump
    replay.close()


def test_a_recovery_is_shown_only_at_moments_after_it(log: Path) -> None:
    replay = Replay(log)
    replay.read_on()
    assert "recovery" not in screen_text(replay.at(150.0))
    assert "× recovery" in screen_text(replay.at(200.0))
    replay.close()
