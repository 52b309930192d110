"""Record, replay, and the same timeline: at the end, and at every moment before it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from session.samples import log_lines

from capexplorer.errors import SessionError
from capexplorer.model.events import Event, Log
from capexplorer.model.timeline import LOG_LINES, Timeline
from capexplorer.replay import Replay
from capexplorer.report.json import render
from capexplorer.report.summary import summarise
from capexplorer.session.reader import read
from trials.timeline_digest import digest

from .logs import as_shown, eventful, rates, saved, small


@pytest.fixture(params=[small, eventful, rates], ids=["small", "eventful", "rates"])
def events(request: pytest.FixtureRequest) -> list[Event]:
    made: Callable[[], list[Event]] = request.param
    return as_shown(made())


@pytest.fixture
def replay(events: list[Event], tmp_path: Path) -> Iterator[Replay]:
    replay = Replay(saved(tmp_path / "session.jsonl", events))
    replay.read_on()
    yield replay
    replay.close()


def test_shown_live_read_from_the_log_and_replayed_are_the_same_timeline(events: list[Event], replay: Replay) -> None:
    live = digest(Timeline(events))
    assert live == digest(Timeline(read(replay.path))) == digest(replay.at(replay.duration_s))


def test_the_summary_of_the_live_session_is_that_of_its_replay_byte_for_byte(events: list[Event], replay: Replay) -> None:
    assert render(summarise(Timeline(events))) == render(summarise(replay.at(replay.duration_s)))


def test_every_moment_is_the_fold_of_the_events_until_then_in_any_order_of_seeks(events: list[Event], replay: Replay) -> None:
    moments = list(range(1, len(events) + 1))
    random.Random(7).shuffle(moments)
    folded = {count: digest(Timeline(events[:count])) for count in moments}
    for count in [*moments, *range(len(events), 0, -1), *range(1, len(events) + 1)]:
        assert digest(replay.after(count)) == folded[count], f"the first {count} events"


def test_a_moment_that_was_shown_does_not_change_when_others_are_looked_at(replay: Replay) -> None:
    early = replay.at(8.0)
    before = digest(early)
    replay.at(replay.duration_s)
    replay.at(9.0)
    assert digest(early) == before


def test_jumps_that_were_prepared_show_the_same(events: list[Event], replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capexplorer.session.seconds.KEEP_EVERY", 2)
    assert not replay.prepare()
    for count in range(len(events), 0, -1):
        assert digest(replay.after(count)) == digest(Timeline(events[:count]))


def test_while_nothing_happens_the_moment_is_the_same_object(replay: Replay) -> None:
    assert replay.at(5.2) is replay.at(5.3)
    assert replay.at(6.3) is not replay.at(5.3)


def test_an_open_level_has_its_figures_as_of_the_moment_and_not_those_it_closed_with(replay: Replay) -> None:
    first = replay.at(9.0).levels[0]
    closed = replay.at(replay.duration_s).levels[0]
    assert first.closed is None and closed.closed is not None
    assert 0 < first.figures.requests < closed.figures.requests


def test_landmarks_and_ticks_can_be_jumped_to(replay: Replay) -> None:
    levels = replay.landmarks("level")
    assert [len(replay.at(t_s).levels) for t_s in levels] == list(range(1, len(levels) + 1))
    assert all(replay.at(t_s).journal[-1] for t_s in replay.landmarks("note"))
    first = replay.next_tick(0.0, 1)
    assert first is not None and len(replay.at(first)) == 1
    assert replay.next_tick(first, -1) is None
    second = replay.next_tick(first, 1)
    assert second is not None and replay.next_tick(second, -1) == first
    assert replay.next_tick(replay.duration_s, 1) is None


def test_an_index_that_was_opened_twice_keeps_the_seconds_of_each_apart(tmp_path: Path) -> None:
    events = as_shown(small())
    twice = [*events[:-1], *events[3:-1]]  # a log that was pasted together
    replay = Replay(saved(tmp_path / "twice.jsonl", twice))
    replay.read_on()
    for count in range(1, len(twice) + 1):
        assert digest(replay.after(count)) == digest(Timeline(twice[:count]))
    replay.close()


def test_output_beyond_what_a_timeline_keeps_is_that_of_the_moment(tmp_path: Path) -> None:
    first, *_ = as_shown(small())
    lines = [Log(t_s=float(index), source="stdout", text=str(index)) for index in range(LOG_LINES + 50)]
    replay = Replay(saved(tmp_path / "talkative.jsonl", [first, *lines]))
    replay.read_on()
    assert [line.text for line in replay.at(2.0).log] == ["0", "1", "2"]
    last = replay.at(replay.duration_s).log
    assert (len(last), last[0].text, last[-1].text, [each.text for each in last[-2:]]) == (
        LOG_LINES,
        "50",
        "2049",
        ["2048", "2049"],
    )
    replay.close()


# -- what happened to the file


def test_every_byte_prefix_opens_as_far_as_it_goes_or_is_refused_in_one_line(tmp_path: Path) -> None:
    whole = saved(tmp_path / "whole.jsonl", small()).read_bytes()
    header, part = whole.index(b"\n"), tmp_path / "part.jsonl"
    lengths = sorted({*range(0, header + 300, 7), *_around_line_ends(whole), len(whole)})
    for length in lengths:
        part.write_bytes(whole[:length])
        if length < header:
            with pytest.raises(SessionError) as refused:
                Replay(part)
            assert "\n" not in str(refused.value) and str(part) in str(refused.value)
            continue
        replay = Replay(part)
        replay.read_on()
        assert digest(replay.at(replay.duration_s)) == digest(Timeline(read(part))), length
        assert len(replay.notes) == (
            whole[:length].count(b"\n") != len(whole[:length].splitlines()) and not _ends_whole(whole, length)
        )
        replay.close()


def _around_line_ends(whole: bytes) -> Iterator[int]:
    for index, byte in enumerate(whole):
        if byte == ord("\n"):
            yield from range(index - 3, min(index + 4, len(whole)))


def _ends_whole(whole: bytes, length: int) -> bool:
    """A last line may lack nothing but its end."""
    return whole[length : length + 1] == b"\n"


def test_corrupted_reordered_and_unknown_lines_never_raise_an_error(tmp_path: Path) -> None:
    lines = saved(tmp_path / "whole.jsonl", eventful()).read_bytes().splitlines(keepends=True)
    chance, broken = random.Random(11), tmp_path / "broken.jsonl"
    for _ in range(60):
        shuffled = [lines[0], *chance.sample(lines[1:], len(lines) - 1)] if chance.random() < 0.5 else list(lines)
        for _ in range(5):
            index = chance.randrange(1, len(shuffled))
            shuffled[index] = _damaged(shuffled[index], chance)
        broken.write_bytes(b"".join(shuffled))
        replay = Replay(broken)
        replay.read_on()
        for t_s in (0.0, 3.0, replay.duration_s / 2, replay.duration_s):
            digest(replay.at(t_s))
        replay.close()


def _damaged(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(max(1, len(line)))
    match chance.randrange(5):
        case 0:
            return line[:at] + b"\n"
        case 1:
            return line[:at] + bytes([chance.randrange(256)]) + line[at + 1 :]
        case 2:
            return b""
        case 3:
            return line.replace(b"HISTFAAAA", b"HISTFAAAB")
        case _:
            return line.replace(b'"duration_s":1.0', b'"duration_s":0.0')


def test_a_log_that_was_replaced_while_it_was_open_is_reported_in_one_line(tmp_path: Path) -> None:
    path = saved(tmp_path / "session.jsonl", small())
    replay = Replay(path)
    replay.read_on()
    path.write_bytes(b"{}" * path.stat().st_size)
    with pytest.raises(SessionError, match="changed while it was open"):
        replay.at(12.0)
    replay.close()


# -- a session that another process records


def test_following_waits_for_the_rest_of_a_torn_line(tmp_path: Path) -> None:
    events, path = as_shown(small()), tmp_path / "growing.jsonl"
    lines = log_lines(events)
    path.write_bytes(b"".join(lines[:8]) + lines[8][:40])
    replay = Replay(path, follow=True)
    assert replay.read_on() and not replay.read_on()
    assert digest(replay.at(replay.duration_s)) == digest(Timeline(events[:8]))
    with path.open("ab") as file:
        file.write(lines[8][40:] + b"".join(lines[9:]))
    assert replay.ended is None
    assert replay.read_on() and not replay.read_on()
    assert digest(replay.at(replay.duration_s)) == digest(Timeline(events))
    assert replay.ended is not None and not replay.notes
    replay.close()
