"""Every key of every screen, once. `keybar` makes bindings, key bar, help, palette and the README's tables from this table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ScreenName = Literal["live", "replay", "inspect", "picker"]
"""`inspect`: a live or replayed session while it has an inspection cursor; the keys of that screen work beside these."""

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Users, or iterations a second, that one press of + or - adds or takes away."""


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be done on some screens."""

    keys: str
    """As Textual names them, comma separated; empty where Textual binds them itself."""
    action: str
    """`{index}` stands for the place of the key that was pressed among `keys`."""
    shown: str
    """The keys as they are printed on a keyboard, separated by spaces."""
    bar: str
    """Text in the key bar; empty: the key is not shown there."""
    priority: int
    """Keys with the highest number leave the key bar first where it is narrow; those with 0 stay."""
    help: str
    """What the key does, as an imperative: "go to the next pane"."""
    screens: tuple[ScreenName, ...]
    named: str = ""
    """Its name in a configuration file; empty: its action's, which needs one of its own where it has arguments."""

    @property
    def name(self) -> str:
        """By which a configuration file gives it other keys."""
        return self.named or self.action.partition("(")[0].removeprefix("app.")

    @property
    def can_be_rebound(self) -> bool:
        """Whether a configuration file may: not keys that stand for numbers, or that Textual itself binds."""
        return bool(self.keys) and "{index}" not in self.action


_LIVE: tuple[ScreenName, ...] = ("live",)
_REPLAY: tuple[ScreenName, ...] = ("replay",)
_CHARTS: tuple[ScreenName, ...] = ("live", "replay")
_INSPECT: tuple[ScreenName, ...] = ("inspect",)
_PICKER: tuple[ScreenName, ...] = ("picker",)

KEYS = (
    # steering the load
    Key("enter", "take_step", "Enter", "", 0, "take the next step that the line NEXT proposes", _LIVE),
    Key(
        "plus,equals_sign,up",
        "step(1)",
        "+ = ↑",
        "+/- load",
        0,
        "add one step of users, or of the offered rate",
        _LIVE,
        named="more_users",
    ),
    Key(
        "minus,underscore,down",
        "step(-1)",
        "- _ ↓",
        "",
        0,
        "take one step of users, or of the offered rate, away",
        _LIVE,
        named="fewer_users",
    ),
    Key(
        "left_square_bracket,comma", "resize_step(-1)", "[ ,", "[ ] step", 0, "make the step smaller", _LIVE, named="smaller_step"
    ),
    Key(
        "right_square_bracket,full_stop",
        "resize_step(1)",
        "] .",
        "",
        0,
        f"make the step larger: {', '.join(map(str, STEPS))} users, or iterations a second",
        _LIVE,
        named="larger_step",
    ),
    Key(
        "g",
        "go",
        "g",
        "g go",
        0,
        "go to a number of users, or to a rate; asks first above 50 and above twice the most so far",
        _LIVE,
    ),
    Key(
        "u",
        "unit",
        "u",
        "u unit",
        2,
        "switch the step's unit: users who wait for replies, or iterations a second, offered whoever is late",
        _LIVE,
    ),
    Key("x", "zero", "x", "x zero", 0, "go to zero users at once", _LIVE),
    Key(
        "a",
        "autopilot",
        "a",
        "a autopilot",
        0,
        "start or stop the autopilot, which finds and verifies the knee; with u, the capacity as a rate",
        _LIVE,
    ),
    Key(
        "v",
        "verify",
        "v",
        "v verify",
        5,
        "verify the knee: soak at 70% of it, go 20% beyond it, return to the first level",
        _LIVE,
    ),
    Key(
        "p",
        "plan",
        "p",
        "p plan",
        2,
        "start a plan from the profile, or one that you type; changing the users by hand ends it",
        _LIVE,
    ),
    Key("m", "new_level", "m", "m level", 5, "begin a new level with the same users (after a warm-up or a deployment)", _LIVE),
    Key("r", "spawn_rate", "r", "r rate", 6, "set how many users are started per second", _LIVE),
    Key(
        "W",
        "worker(1)",
        "W",
        "W worker",
        4,
        "run users in one more worker process; the first time in two instead of this one",
        _LIVE,
        named="add_worker",
    ),
    Key(
        "ctrl+w", "worker(-1)", "Ctrl+W", "", 0, "end one worker process; its users run in the others", _LIVE, named="end_worker"
    ),
    Key("n", "note", "n", "n note", 3, "write a note at this moment", _LIVE),
    Key("h", "watch_part", "h", "", 0, "watch one more part: a database, a proxy, another host", _LIVE),
    Key("t", "restart", "t", "t target", 3, "restart the target, with other parameters if you want", _LIVE),
    Key(
        "c",
        "controls",
        "c",
        "",
        0,
        "ask for the controls of a run that has several screens; the screen that has them hands them over",
        _LIVE,
    ),
    Key("space", "pause_display", "space", "space pause", 4, "pause or resume the display (load continues)", _LIVE),
    Key(
        "left",
        "cursor(-1)",
        "← →",
        "",
        0,
        "inspect: move a cursor through all charts, one second a key",
        _LIVE,
        named="cursor_back",
    ),
    Key("right", "cursor(1)", "", "", 0, "", _LIVE, named="cursor_forward"),
    # while there is an inspection cursor
    Key(
        "left",
        "cursor(-1)",
        "←",
        "←→ 1 s",
        0,
        "move the cursor one second back; in the capacity curve, to the point on its left",
        _INSPECT,
        named="cursor_back",
    ),
    Key(
        "right",
        "cursor(1)",
        "→",
        "",
        0,
        "move the cursor one second forward; in the capacity curve, to the point on its right",
        _INSPECT,
        named="cursor_forward",
    ),
    Key(
        "shift+left",
        "leap(-1)",
        "Shift+←",
        "Shift+←→ 10 s",
        6,
        "move the cursor 10 s back, or a thirtieth of the time shown where that is more",
        _INSPECT,
        named="leap_back",
    ),
    Key("shift+right", "leap(1)", "Shift+→", "", 0, "the same forward", _INSPECT, named="leap_forward"),
    Key("up", "cursor_level(1)", "↑", "↑↓ level", 0, "move the cursor to the next level", _INSPECT, named="cursor_next_level"),
    Key("down", "cursor_level(-1)", "↓", "", 0, "move the cursor to the previous level", _INSPECT, named="cursor_previous_level"),
    Key(
        "i",
        "open_level",
        "i",
        "i open level",
        0,
        "open the level at the cursor: latency histogram, endpoints, resources, marks; Esc closes it",
        _INSPECT,
    ),
    # moving through a replay
    Key("space", "play", "space", "space {play}", 0, "play or pause; at the end, play from the beginning", _REPLAY),
    Key("left", "skip(-10)", "←", "←→ 10 s", 0, "go 10 s back", _REPLAY, named="back"),
    Key("right", "skip(10)", "→", "", 0, "go 10 s forward", _REPLAY, named="forward"),
    Key("shift+left", "skip(-60)", "Shift+←", "", 0, "go 1 min back", _REPLAY, named="minute_back"),
    Key("shift+right", "skip(60)", "Shift+→", "", 0, "go 1 min forward", _REPLAY, named="minute_forward"),
    Key("comma", "step(-1)", ",", ", . second", 5, "pause, and go one second back", _REPLAY, named="second_back"),
    Key("full_stop", "step(1)", ".", "", 0, "pause, and go one second forward", _REPLAY, named="second_forward"),
    Key("left_square_bracket", "speed(-1)", "[", "[ ] speed", 0, "play slower", _REPLAY, named="slower"),
    Key("right_square_bracket", "speed(1)", "]", "", 0, "play faster: 0.5x to 64x", _REPLAY, named="faster"),
    Key("up", "jump('level', 1)", "↑", "↑↓ level", 0, "go to the next level", _REPLAY, named="next_level"),
    Key(
        "down",
        "jump('level', -1)",
        "↓",
        "",
        0,
        "go to the start of this level, then to the one before",
        _REPLAY,
        named="previous_level",
    ),
    Key("m", "jump('mark', 1)", "m", "m mark", 0, "go to the next mark", _REPLAY, named="next_mark"),
    Key("M", "jump('mark', -1)", "M", "", 0, "go to the previous mark", _REPLAY, named="previous_mark"),
    Key("n", "jump('note', 1)", "n", "n note", 4, "go to the next note", _REPLAY, named="next_note"),
    Key("N", "jump('note', -1)", "N", "", 0, "go to the previous note", _REPLAY, named="previous_note"),
    Key("g", "go", "g", "g go", 1, "go to a time: 1:23:45, 90s, 1h30m, 50%; relative: +5m, -30s", _REPLAY),
    Key("less_than_sign,home", "edge(-1)", "< Home", "< > ends", 5, "go to the beginning", _REPLAY, named="beginning"),
    Key(
        "greater_than_sign,end",
        "edge(1)",
        "> End",
        "",
        0,
        "go to the end; with --follow the display stays at the end",
        _REPLAY,
        named="end",
    ),
    # view and export
    Key(
        "i",
        "inspect",
        "i",
        "i inspect",
        0,
        "inspect: put a cursor into all charts; its second is read out in full; again: open its level",
        _CHARTS,
    ),
    Key("f", "failures", "f", "f failures", 1, "show the failures by cause, with evidence and advice; again: go back", _CHARTS),
    Key("d", "raw", "d", "d errors", 7, "show the raw errors by endpoint; again: by cause", _CHARTS),
    Key("E", "endpoints", "E", "E endpoints", 6, "all endpoints: sort, filter, and one endpoint's charts", _CHARTS),
    Key(
        "R",
        "requests",
        "R",
        "R requests",
        6,
        "requests that were kept whole: as sent, timing, headers, bodies; from the failures, those that failed",
        _CHARTS,
    ),
    Key("o", "log", "o", "o log", 6, "show the log: what was logged and printed; again: go back", _CHARTS),
    Key("1,2,3,4,5,6,7,8,9", "pane({index})", "1-9", "", 0, "show a pane by its number", _CHARTS),
    Key(
        "tab",
        "next_pane(1)",
        "Tab",
        "Tab pane",
        6,
        "go to the next pane; Shift+Tab to the previous one",
        _CHARTS,
        named="next_pane",
    ),
    Key("shift+tab", "next_pane(-1)", "", "", 0, "", _CHARTS, named="previous_pane"),
    Key("", "", "PgUp PgDn", "", 0, "scroll the list in focus; Home and End go to its ends", _CHARTS),
    Key("z", "maximise", "z", "z maximise", 6, "show the pane in focus alone; again: show all", _CHARTS),
    Key("w", "window", "w", "w window", 5, "change the time window: 1, 5, 15 min, all", _CHARTS),
    Key(
        "right_parenthesis",
        "zoom(1)",
        ")",
        "",
        0,
        "zoom in: show less time, around the cursor if there is one",
        (*_CHARTS, *_INSPECT),
        named="zoom_in",
    ),
    Key(
        "left_parenthesis",
        "zoom(-1)",
        "(",
        "( ) zoom",
        5,
        "zoom out: show more time",
        (*_CHARTS, *_INSPECT),
        named="zoom_out",
    ),
    Key("escape", "leave_inspection", "Esc", "Esc leave", 0, "end the inspection; the charts follow the newest second", _INSPECT),
    Key("l", "logarithmic", "l", "l log scale", 7, "draw latency on a logarithmic scale, or a linear one", _CHARTS),
    Key(
        "L",
        "latency_form",
        "L",
        "L latency form",
        6,
        "draw latency as percentiles over time, as a heatmap, or as percentiles by level",
        _CHARTS,
    ),
    Key("b", "baseline", "b", "b baseline", 6, "draw a saved session behind this one, as the baseline; again: do not", _CHARTS),
    Key("B", "choose_baseline", "B", "", 0, "choose another baseline", _CHARTS),
    Key("e", "export", "e", "e export", 2, "export a report of the session so far to a file", _CHARTS),
    Key("y", "copy", "y", "y copy", 2, "copy a Markdown summary to your terminal's clipboard (OSC 52, also over SSH)", _CHARTS),
    Key("", "", "Ctrl+P", "^P commands", 7, "search all commands, or choose the colours", _CHARTS),
    # the picker's list
    Key("", "", "Enter", "Enter {open}", 0, "run the profile, attach to the running session, or replay the saved one", _PICKER),
    Key("tab,shift+tab", "next_list", "Tab", "Tab {other}", 0, "go to the other list: profiles or saved sessions", _PICKER),
    Key("slash", "filter", "/", "/ filter", 1, "show only what contains a text; Esc shows all again", _PICKER),
    Key("escape", "clear", "Esc", "", 0, "show all entries again", _PICKER),
    Key("space", "mark", "space", "space mark", 1, "mark the session for a comparison, or remove its mark", _PICKER),
    Key("c", "compare", "c", "c compare", 0, "compare the marked sessions with the first one marked", _PICKER),
    Key("e", "export", "e", "e export", 2, "export a report of the session to a file", _PICKER),
    Key("i", "levels", "i", "i levels", 3, "show the session's table of levels", _PICKER),
    Key("r", "rename", "r", "r rename", 4, "give the session a title", _PICKER),
    Key("d,delete", "delete", "d Del", "d delete", 4, "delete the session, after confirmation", _PICKER),
    Key("1,2,3,4,5,6,7", "sort({index})", "1-7", "1-7 sort", 5, "sort by a column; again: reverse the order", _PICKER),
    # everywhere
    Key(
        "P",
        "app.picture",
        "P",
        "",
        0,
        "save a picture of the screen (SVG) in the working folder",
        (*_CHARTS, *_PICKER),
    ),
    Key(
        "question_mark,f1",
        "help",
        "? F1",
        "? help",
        0,
        "show the keys, and what the figures mean",
        (*_CHARTS, *_INSPECT, *_PICKER),
    ),
    Key(
        "q",
        "app.leave",
        "q Ctrl+C",
        "q quit",
        0,
        "quit; while load runs, q asks first and a second q quits; an attached screen leaves the run to go on",
        _LIVE,
        named="quit",
    ),
    Key("Q", "stop", "Q", "", 0, "end the run for all of its screens, after a question; the session is saved", _LIVE),
    Key("q", "app.leave", "q Ctrl+C", "q quit", 0, "quit", (*_REPLAY, *_PICKER), named="quit"),
    Key("", "", "q Ctrl+C", "q quit", 0, "quit, as without a cursor", _INSPECT),
)


def keys_of(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[Key]:
    """The keys of one screen, in the order of the table. `table`: with the user's own keys."""
    return [key for key in table if screen in key.screens]
