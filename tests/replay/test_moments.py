"""The timeline of a replay equals that of the recorded run, at its end and at every moment before; damaged and growing logs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kit.scenario import log_lines
from timeline_digest import digest

from capexplorer.errors import SessionError
from capexplorer.model.events import Event, Log
from capexplorer.model.timeline import LOG_LINES, Timeline
from capexplorer.replay import Replay
from capexplorer.report.formats.json import render
from capexplorer.report.summary import summarise
from capexplorer.session.reader import read

from .logs import as_a_live_screen_receives, every_kind_of_event, rate_levels, two_levels, write_log


@pytest.fixture(params=[two_levels, every_kind_of_event, rate_levels], ids=["two_levels", "every_kind_of_event", "rate_levels"])
def events(request: pytest.FixtureRequest) -> list[Event]:
    """The events of a session, as its live screen received them."""
    create: Callable[[], list[Event]] = request.param
    return as_a_live_screen_receives(create())


@pytest.fixture
def replay(events: list[Event], tmp_path: Path) -> Iterator[Replay]:
    """A replay of these events, whose log is read completely."""
    replay = Replay(write_log(tmp_path / "session.jsonl", events))
    replay.read_on()
    yield replay
    replay.close()


def test_the_live_timeline_the_log_and_the_replay_are_equal(events: list[Event], replay: Replay) -> None:
    live = digest(Timeline(events))
    assert live == digest(Timeline(read(replay.path))) == digest(replay.at(replay.duration_s))


def test_the_live_session_and_its_replay_have_the_same_summary_byte_for_byte(events: list[Event], replay: Replay) -> None:
    assert render(summarise(Timeline(events))) == render(summarise(replay.at(replay.duration_s)))


def test_a_seek_in_any_order_gives_the_timeline_of_the_events_until_then(events: list[Event], replay: Replay) -> None:
    moments = list(range(1, len(events) + 1))
    random.Random(7).shuffle(moments)
    folded = {count: digest(Timeline(events[:count])) for count in moments}
    for count in [*moments, *range(len(events), 0, -1), *range(1, len(events) + 1)]:
        assert digest(replay.after(count)) == folded[count], f"the first {count} events"


def test_a_timeline_does_not_change_when_the_replay_seeks_to_other_moments(replay: Replay) -> None:
    early = replay.at(8.0)
    before = digest(early)
    replay.at(replay.duration_s)
    replay.at(9.0)
    assert digest(early) == before


def test_prepared_snapshots_do_not_change_the_timeline_of_a_seek(
    events: list[Event], replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("capexplorer.replay.KEEP_EVERY", 2)
    assert not replay.prepare()
    for count in range(len(events), 0, -1):
        assert digest(replay.after(count)) == digest(Timeline(events[:count]))


def test_times_between_two_events_have_the_same_timeline_object(replay: Replay) -> None:
    assert replay.at(5.2) is replay.at(5.3)
    assert replay.at(6.3) is not replay.at(5.3)


def test_an_open_level_has_only_the_requests_until_the_moment(replay: Replay) -> None:
    first = replay.at(9.0).levels[0]
    closed = replay.at(replay.duration_s).levels[0]
    assert first.closed is None
    assert closed.closed is not None
    assert 0 < first.figures.requests < closed.figures.requests


def test_at_each_landmark_its_level_or_note_is_the_last_one(replay: Replay) -> None:
    levels = replay.landmarks("level")
    assert [len(replay.at(t_s).levels) for t_s in levels] == list(range(1, len(levels) + 1))
    assert all(replay.at(t_s).journal[-1] for t_s in replay.landmarks("note"))


def test_the_next_and_the_previous_second_are_found(replay: Replay) -> None:
    first = replay.next_tick(0.0, 1)
    assert first is not None
    assert len(replay.at(first)) == 1
    assert replay.next_tick(first, -1) is None
    second = replay.next_tick(first, 1)
    assert second is not None
    assert replay.next_tick(second, -1) == first
    assert replay.next_tick(replay.duration_s, 1) is None


def test_two_levels_of_the_same_index_keep_their_own_seconds(tmp_path: Path) -> None:
    events = as_a_live_screen_receives(two_levels())
    twice = [*events[:-1], *events[3:-1]]  # as if a person had concatenated two logs
    replay = Replay(write_log(tmp_path / "twice.jsonl", twice))
    replay.read_on()
    for count in range(1, len(twice) + 1):
        assert digest(replay.after(count)) == digest(Timeline(twice[:count]))
    replay.close()


def test_the_output_of_a_moment_is_its_last_lines_up_to_the_limit_of_a_timeline(tmp_path: Path) -> None:
    first, *_ = as_a_live_screen_receives(two_levels())
    lines = [Log(t_s=float(index), source="stdout", text=str(index)) for index in range(LOG_LINES + 50)]
    replay = Replay(write_log(tmp_path / "much-output.jsonl", [first, *lines]))
    replay.read_on()
    assert [line.text for line in replay.at(2.0).log] == ["0", "1", "2"]
    last = replay.at(replay.duration_s).log
    assert [line.text for line in last] == [str(index) for index in range(50, LOG_LINES + 50)]
    replay.close()


# -- damaged and replaced logs (truncated ones: tests/session/test_reader.py)


def test_corrupted_reordered_and_unknown_lines_never_raise_an_error(tmp_path: Path) -> None:
    lines = write_log(tmp_path / "content.jsonl", every_kind_of_event()).read_bytes().splitlines(keepends=True)
    rng, broken = random.Random(11), tmp_path / "broken.jsonl"
    for _ in range(60):
        shuffled = [lines[0], *rng.sample(lines[1:], len(lines) - 1)] if rng.random() < 0.5 else list(lines)
        for _ in range(5):
            index = rng.randrange(1, len(shuffled))
            shuffled[index] = _damaged(shuffled[index], rng)
        broken.write_bytes(b"".join(shuffled))
        replay = Replay(broken)
        replay.read_on()
        for t_s in (0.0, 3.0, replay.duration_s / 2, replay.duration_s):
            digest(replay.at(t_s))
        replay.close()


def _damaged(line: bytes, rng: random.Random) -> bytes:
    """The line cut off, with one other byte, deleted, with an invalid histogram, or with a second of no duration."""
    at = rng.randrange(max(1, len(line)))
    match rng.randrange(5):
        case 0:
            return line[:at] + b"\n"
        case 1:
            return line[:at] + bytes([rng.randrange(256)]) + line[at + 1 :]
        case 2:
            return b""
        case 3:
            return line.replace(b"HISTFAAAA", b"HISTFAAAB")
        case _:
            return line.replace(b'"duration_s":1.0', b'"duration_s":0.0')


def test_a_log_that_was_replaced_while_it_was_open_is_reported_in_one_line(tmp_path: Path) -> None:
    path = write_log(tmp_path / "session.jsonl", two_levels())
    replay = Replay(path)
    replay.read_on()
    path.write_bytes(b"{}" * path.stat().st_size)
    with pytest.raises(SessionError, match="changed while it was open"):
        replay.at(12.0)
    replay.close()


# -- a session that another process records


def test_a_followed_log_is_read_on_when_its_incomplete_line_is_completed(tmp_path: Path) -> None:
    events, path = as_a_live_screen_receives(two_levels()), tmp_path / "growing.jsonl"
    lines = log_lines(events)
    path.write_bytes(b"".join(lines[:8]) + lines[8][:40])
    replay = Replay(path, follow=True)
    assert replay.read_on(), "the complete lines are read"
    assert not replay.read_on(), "the incomplete line is not read"
    assert digest(replay.at(replay.duration_s)) == digest(Timeline(events[:8]))
    with path.open("ab") as file:
        file.write(lines[8][40:] + b"".join(lines[9:]))
    assert replay.ended is None
    assert replay.read_on(), "the completed line and those behind it are read"
    assert not replay.read_on(), "nothing is left to read"
    assert digest(replay.at(replay.duration_s)) == digest(Timeline(events))
    assert replay.ended is not None
    assert replay.notes == []
    replay.close()
