"""The position and the speed of a replay as time passes, and the times that a person may type."""

from __future__ import annotations

import pytest

from capexplorer.tui.feed import SPEEDS, Playback, parse_position


def test_the_position_advances_at_the_speed_and_stops_at_the_end() -> None:
    playback = Playback(8.0)
    playback.advance(2.0, 100.0)
    assert (playback.position_s, playback.playing) == (16.0, True)
    playback.advance(60.0, 100.0)
    assert (playback.position_s, playback.playing) == (100.0, False)


def test_the_end_of_the_part_read_so_far_does_not_end_the_replay() -> None:
    playback = Playback(64.0)
    playback.advance(10.0, 100.0, more=True)
    assert (playback.position_s, playback.playing) == (100.0, True)
    playback.advance(1.0, 1000.0)
    assert playback.position_s == 164.0


def test_a_pause_keeps_the_position_and_play_at_the_end_restarts() -> None:
    playback = Playback()
    playback.toggle(10.0)
    playback.advance(5.0, 10.0)
    assert (playback.position_s, playback.playing) == (0.0, False)
    playback.seek(10.0, 10.0)
    playback.toggle(10.0)
    assert (playback.position_s, playback.playing) == (0.0, True)


def test_a_seek_is_clamped_to_the_session_and_does_not_pause() -> None:
    playback = Playback()
    for wanted_s, expected_s in ((-5.0, 0.0), (7.0, 7.0), (99.0, 10.0)):
        playback.seek(wanted_s, 10.0)
        assert (playback.position_s, playback.playing) == (expected_s, True)


def test_a_followed_session_stays_at_its_end_except_after_a_seek_back_or_a_pause() -> None:
    playback = Playback(follows=True)
    playback.advance(0.2, 50.0)
    playback.advance(0.2, 51.0)
    assert playback.position_s == 51.0
    playback.seek(20.0, 51.0)
    playback.advance(1.0, 52.0)
    assert (playback.position_s, playback.at_end) == (21.0, False)
    playback.seek(52.0, 52.0)
    playback.advance(0.2, 53.0)
    assert (playback.position_s, playback.at_end, playback.playing) == (53.0, True, True)
    playback.toggle(53.0)
    playback.advance(1.0, 54.0)
    assert (playback.position_s, playback.playing) == (53.0, False)
    playback.toggle(54.0)
    playback.advance(9.0, 54.0)
    assert playback.at_end


def test_the_speed_changes_from_each_listed_speed_to_the_next() -> None:
    playback, speeds = Playback(0.5), [0.5]
    while playback.change_speed(1):
        speeds.append(playback.speed)
    assert SPEEDS == (0.5, 1, 2, 4, 8, 16, 32, 64)
    assert tuple(speeds) == SPEEDS
    assert playback.change_speed(-1)
    assert playback.speed == 32


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("1:23:45", 5025.0),
        ("12:30", 750.0),
        ("90s", 90.0),
        ("90", 90.0),
        ("1.5m", 90.0),
        ("1h30m", 5400.0),
        ("2h", 7200.0),
        ("50%", 5000.0),
        ("0%", 0.0),
        ("start", 0.0),
        ("END", 10_000.0),
        ("+5m", 400.0),
        ("-30s", 70.0),
        (" 1 h 5 s ", 3605.0),
        ("-1h", 0.0),
        ("99h", 10_000.0),
    ],
)
def test_a_typed_time_is_converted_to_seconds_of_the_session(typed: str, seconds: float) -> None:
    assert parse_position(typed, now_s=100.0, duration_s=10_000.0) == seconds


@pytest.mark.parametrize("typed", ["", "x", "1:2:3:4", "5x", "%", "--5", "+", "1:", "h", "٣s", "nan", "1e9", "50%%"])
def test_an_invalid_time_is_refused_with_examples(typed: str) -> None:
    with pytest.raises(ValueError, match="expected a time such as 1:23:45"):
        parse_position(typed, 0.0, 100.0)
