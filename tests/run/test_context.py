"""Events on their way to log and screen, and the lines that a run logs."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.scenario import HEADER
from kit.telemetry import changes_of, judged, telling_session
from msgspec.structs import replace

from capexplorer.errors import LogWriteError
from capexplorer.model import outside
from capexplorer.model.events import Ended, FailureSignature, FailureTick, Note, Telemetry, Verdict
from capexplorer.replay import Replay
from capexplorer.run.context import FIRST_FAILURES_MOST, LINES_A_TICK, EventSink, LogTrouble, RunLog
from capexplorer.session.canonical import canonical
from capexplorer.session.codec import decode, encode
from capexplorer.session.reader import read
from capexplorer.session.writer import SessionWriter
from capexplorer.target.supervisor import Output


@contextmanager
def full_disk(at_bytes: int) -> Iterator[None]:
    """No file can grow beyond this size: a write fails with EFBIG, which the writer treats as it does ENOSPC."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.fixture
def sink_with_log(tmp_path: Path) -> Iterator[tuple[EventSink, list[LogWriteError], Path]]:
    """A sink with a log that has a header; its failures; the log's path."""
    failures: list[LogWriteError] = []
    sink = EventSink()
    trouble = SimpleNamespace(on_log_failure=failures.append, on_log_recovery=lambda: None)
    sink.open(SessionWriter(tmp_path / "s.jsonl"), cast(LogTrouble, trouble))
    sink.emit(HEADER)
    sink.take()
    yield sink, failures, tmp_path / "s.jsonl"
    sink.close()


def test_live_events_equal_those_read_from_the_log(sink_with_log: tuple[EventSink, list[LogWriteError], Path]) -> None:
    sink, failures, path = sink_with_log
    woken: list[int] = []
    sink.wake_by(lambda: woken.append(1))
    sink.emit(Note(t_s=1.23456789, text="Authorization: Bearer abc123"))
    sink.flush()
    shown = sink.take()
    assert list(read(path))[1:] == shown
    assert "abc123" not in path.read_text()
    assert len(woken) == 1
    assert sink.take() == [], "each event is taken once"
    assert failures == []


def test_a_full_disk_is_reported_once_and_the_screen_still_gets_events(
    sink_with_log: tuple[EventSink, list[LogWriteError], Path],
) -> None:
    sink, failures, path = sink_with_log
    with full_disk(path.stat().st_size):
        for number in range(3):
            sink.emit(Note(t_s=float(number), text=f"note {number}"))
            sink.flush()
    assert len(failures) == 1
    assert "cannot be written" in str(failures[0])
    assert [event.text for event in sink.take() if isinstance(event, Note)] == ["note 0", "note 1", "note 2"]


def test_events_of_the_time_of_a_full_disk_are_written_when_it_has_space(
    sink_with_log: tuple[EventSink, list[LogWriteError], Path],
) -> None:
    sink, _, path = sink_with_log
    with full_disk(path.stat().st_size):
        sink.emit(Note(t_s=1.0, text="while full"))
        sink.flush()
    sink.emit(Note(t_s=2.0, text="after"))
    sink.flush()
    assert [event.text for event in read(path) if isinstance(event, Note)] == ["while full", "after"]


def test_without_a_log_the_screen_still_gets_events() -> None:
    sink = EventSink()
    sink.emit(Note(t_s=1.0, text="early"))
    sink.flush()
    sink.close()
    assert len(sink.take()) == 1


def test_equal_lines_of_a_tick_are_reported_once_with_their_count_in_the_order_first_seen() -> None:
    run_log = RunLog()
    for text in ("a", "b", "a", "a"):
        run_log.add("stdout", "info", text)
    run_log.add("stderr", "info", "a")
    logs = run_log.drain(3.0)
    assert [(log.source, log.text, log.repeated, log.t_s) for log in logs] == [
        ("stdout", "a", 3, 3.0), ("stdout", "b", 1, 3.0), ("stderr", "a", 1, 3.0),
    ]  # fmt: skip
    assert run_log.drain(4.0) == []


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_line_at_all_becomes_an_event_that_can_be_written(text: str) -> None:
    run_log = RunLog()
    run_log.add("target", "info", text)
    [log] = run_log.drain(1.0)
    assert decode(encode(canonical(log))) == canonical(log)


def test_a_line_of_a_megabyte_is_cut() -> None:
    run_log = RunLog()
    run_log.add("stderr", "error", "x" * (1 << 20))
    [log] = run_log.drain(1.0)
    assert len(log.text) == outside.TEXT_MOST


def test_lines_beyond_the_limit_of_a_tick_are_left_out_and_counted() -> None:
    run_log = RunLog()
    for number in range(LINES_A_TICK + 30):
        run_log.add("stdout", "info", str(number))
    run_log.add("stdout", "info", "0")  # lines that are in the tick already still count
    *logs, last = run_log.drain(1.0)
    assert len(logs) == LINES_A_TICK
    assert logs[0].repeated == 2
    assert (last.source, last.level, last.text) == ("capexplorer", "warning", "30 more lines in this second were left out")
    run_log.add("stdout", "info", "next second")
    assert [log.text for log in run_log.drain(2.0)] == ["next second"]


def test_an_unknown_log_level_counts_as_info() -> None:
    run_log = RunLog()
    run_log.add("stderr", "level 35", "odd")
    assert run_log.drain(1.0)[0].level == "info"


def test_lines_of_the_target_have_its_source_and_those_left_out_are_counted() -> None:
    run_log = RunLog()
    run_log.add_output(Output(run=1, lines=("up",), dropped=3))
    logs = run_log.drain(1.0)
    assert [(log.source, log.text) for log in logs] == [
        ("target", "up"), ("capexplorer", "3 lines of the target's output were left out"),
    ]  # fmt: skip


def test_grouping_of_endpoint_names_is_reported_once_per_session() -> None:
    run_log = RunLog()
    for _ in range(2):
        run_log.add_grouping()
    assert len(run_log.drain(1.0)) == 1
    run_log.add_grouping()
    assert run_log.drain(2.0) == []


def test_the_first_failure_of_each_signature_is_a_line_up_to_a_limit() -> None:
    def failed(status: int, example: str | None = None) -> FailureTick:
        return FailureTick(
            name="/a", method="GET", signature=FailureSignature(types=("E",), status=status), count=3, example=example
        )

    run_log = RunLog()
    run_log.add_failures([failed(503, "503: busy"), failed(404)])
    run_log.add_failures([failed(503), failed(404)])
    assert [line.text for line in run_log.drain(1.0)] == [
        "first failure: GET /a: 503: busy",
        "first failure: GET /a: HTTP 404, E",
    ]
    run_log.add_failures([failed(status) for status in range(100, 400)])
    assert len(run_log.drain(2.0)) == FIRST_FAILURES_MOST - 2


def test_what_the_services_telemetry_tells_is_logged_after_its_verdict_and_read_again(
    sink_with_log: tuple[EventSink, list[LogWriteError], Path],
) -> None:
    sink, _, path = sink_with_log
    recorded = telling_session().events
    verdict = judged(recorded).verdicts[0]
    for event in (*recorded[1:], replace(verdict, t_s=recorded[-1].t_s), Ended(t_s=recorded[-1].t_s, reason="quit")):
        sink.emit(event)
    sink.close()
    kinds = [type(each) for each in sink.take()]
    assert kinds[-3:] == [Verdict, Telemetry, Ended]
    with closing(Replay(path)) as replay:
        replay.read_on()
        assert replay.at(recorded[-1].t_s).telemetry == sink.timeline.telemetry
    assert changes_of(judged(list(read(path)))).series == changes_of(sink.timeline).series
