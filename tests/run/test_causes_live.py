"""Causes during a run: each mark follows the event that shows the cause, and reanalysis of the log finds the same marks."""

from __future__ import annotations

from pathlib import Path

import msgspec
from analysis.seconds import BEGINNING, ERROR_500, NO_PORT, RESET, TIMED_OUT, ports, second, seconds, target

from capexplorer.analysis.reanalysis import reanalyse_events
from capexplorer.model.events import Ended, Event, LevelOpened, Mark, Sample, Target
from capexplorer.run.context import EventSink
from capexplorer.session.reader import read
from capexplorer.session.writer import SessionWriter

from .bare_context import Unfailing

RUN: tuple[Event, ...] = (
    *BEGINNING,
    *seconds(2, 5),
    *seconds(6, 20, NO_PORT, **ports(used=28_200, time_wait=28_000)),
    *seconds(21, 40, ERROR_500, **target(cpu_ratio=0.123456789)),
    *seconds(41, 60),
    *seconds(61, 63, TIMED_OUT, **target(listen_queue=200)),
    LevelOpened(t_s=63.5, index=1, users=10, spawn_rate=1.0, by="user", epoch=1),
    *seconds(64, 66, retried=(RESET,), level=1),
    Target(t_s=66.5, state="died", epoch=1, pid=4711, signal="SIGKILL"),
    second(67.0, RESET, level=1),
    Ended(t_s=67.2, reason="the target died"),
)


def record(path: Path) -> list[Event]:
    """Record RUN to a log at `path`; the events that a screen shows, marks included."""
    sink = EventSink()
    sink.open(SessionWriter(path), Unfailing())
    for event in RUN:
        uneven_s = event.t_s + 0.000456 if isinstance(event, Sample) else event.t_s
        sink.emit(msgspec.structs.replace(event, t_s=uneven_s))
    shown = sink.take()
    sink.close()
    return shown


def test_reanalysis_of_the_log_finds_the_recorded_marks(tmp_path: Path) -> None:
    shown = [event for event in record(tmp_path / "a.jsonl") if isinstance(event, Mark)]
    again = reanalyse_events(read(tmp_path / "a.jsonl"))
    causes = [mark for mark in again.findings if isinstance(mark, Mark) and mark.kind == "cause"]
    assert again.changes == ()
    assert sorted(causes, key=_by_time) == sorted(shown, key=_by_time)
    assert {mark.id for mark in shown} == {
        "ephemeral_port_exhaustion_time_wait",
        "server_error",
        "listen_backlog_overflow",
        "connection_reset",
        "target_killed_by_signal",
    }


def test_a_mark_follows_the_event_that_shows_its_cause_and_the_end_of_the_session_is_last(tmp_path: Path) -> None:
    shown = record(tmp_path / "a.jsonl")
    assert isinstance(shown[-1], Ended)
    assert isinstance(shown[-2], Mark)
    first = next(index for index, event in enumerate(shown) if isinstance(event, Mark))
    showing = shown[first - 1]
    assert isinstance(showing, Sample)
    assert showing.t_s == shown[first].t_s
    assert showing.failures == (NO_PORT,)


def _by_time(mark: Mark) -> tuple[float, str, int]:
    return mark.t_s, mark.key, mark.revision
