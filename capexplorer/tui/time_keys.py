"""Keys that move through a session's time: those of the inspection cursor, and those of a replay."""

from __future__ import annotations

from .key import INSPECT, REPLAY, Key

TIME_KEYS = (
    # while there is an inspection cursor
    Key(
        "left",
        "cursor(-1)",
        "←",
        "←→ 1 s",
        0,
        "move the cursor one second back; in the capacity curve, to the point on its left",
        INSPECT,
        named="cursor_back",
    ),
    Key(
        "right",
        "cursor(1)",
        "→",
        "",
        0,
        "move the cursor one second forward; in the capacity curve, to the point on its right",
        INSPECT,
        named="cursor_forward",
    ),
    Key(
        "shift+left",
        "leap(-1)",
        "Shift+←",
        "Shift+←→ 10 s",
        6,
        "move the cursor 10 s back, or a thirtieth of the time shown if that is more",
        INSPECT,
        named="leap_back",
    ),
    Key("shift+right", "leap(1)", "Shift+→", "", 0, "move the cursor forward by as much", INSPECT, named="leap_forward"),
    Key("up", "cursor_level(1)", "↑", "↑↓ level", 0, "move the cursor to the next level", INSPECT, named="cursor_next_level"),
    Key("down", "cursor_level(-1)", "↓", "", 0, "move the cursor to the previous level", INSPECT, named="cursor_previous_level"),
    Key(
        "i",
        "open_level",
        "i",
        "i open level",
        0,
        "open the level at the cursor: latency histogram, endpoints, resources, marks; Esc closes it",
        INSPECT,
    ),
    # moving through a replay
    Key("space", "play", "space", "space {play}", 0, "play or pause; at the end, play from the beginning", REPLAY),
    Key("left", "skip(-10)", "←", "←→ 10 s", 0, "go 10 s back", REPLAY, named="back"),
    Key("right", "skip(10)", "→", "", 0, "go 10 s forward", REPLAY, named="forward"),
    Key("shift+left", "skip(-60)", "Shift+←", "", 0, "go 1 min back", REPLAY, named="minute_back"),
    Key("shift+right", "skip(60)", "Shift+→", "", 0, "go 1 min forward", REPLAY, named="minute_forward"),
    Key("comma", "step(-1)", ",", ", . second", 5, "pause, and go one second back", REPLAY, named="second_back"),
    Key("full_stop", "step(1)", ".", "", 0, "pause, and go one second forward", REPLAY, named="second_forward"),
    Key("left_square_bracket", "speed(-1)", "[", "[ ] speed", 0, "play slower", REPLAY, named="slower"),
    Key("right_square_bracket", "speed(1)", "]", "", 0, "play faster: 0.5x to 64x", REPLAY, named="faster"),
    Key("up", "jump('level', 1)", "↑", "↑↓ level", 0, "go to the next level", REPLAY, named="next_level"),
    Key(
        "down",
        "jump('level', -1)",
        "↓",
        "",
        0,
        "go to the start of this level; at its start, to the previous level"
,
        REPLAY,
        named="previous_level",
    ),
    Key("m", "jump('mark', 1)", "m", "m mark", 0, "go to the next mark", REPLAY, named="next_mark"),
    Key("M", "jump('mark', -1)", "M", "", 0, "go to the previous mark", REPLAY, named="previous_mark"),
    Key("n", "jump('note', 1)", "n", "n note", 4, "go to the next note", REPLAY, named="next_note"),
    Key("N", "jump('note', -1)", "N", "", 0, "go to the previous note", REPLAY, named="previous_note"),
    Key("g", "go", "g", "g go", 1, "go to a time: 1:23:45, 90s, 1h30m, 50%; relative: +5m, -30s", REPLAY),
    Key("less_than_sign,home", "edge(-1)", "< Home", "< > ends", 5, "go to the beginning", REPLAY, named="beginning"),
    Key(
        "greater_than_sign,end",
        "edge(1)",
        "> End",
        "",
        0,
        "go to the end; with --follow the display stays at the end",
        REPLAY,
        named="end",
    ),
)
