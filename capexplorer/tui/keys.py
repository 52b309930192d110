"""Every key of every screen, once. `keybar` makes bindings, key bar, help, palette of commands and the tables of docs/keys.md
from it.

Each row, a `Key`: keys, name, the keys as printed, text in the key bar, priority there (0 stays longest), help, screens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal

import msgspec

# -- key -----------------------------------------------------------------------------------------------------------------------
# The type of one row of the table of keys (`KEYS`), and the names of keys.


ScreenName = Literal["live", "replay", "inspect", "picker"]
"""`inspect`: a live or replayed session while it has an inspection cursor; the keys of that screen work too."""

LIVE: tuple[ScreenName, ...] = ("live",)
REPLAY: tuple[ScreenName, ...] = ("replay",)
CHARTS: tuple[ScreenName, ...] = ("live", "replay")
"""The screens with charts."""
INSPECT: tuple[ScreenName, ...] = ("inspect",)
PICKER: tuple[ScreenName, ...] = ("picker",)

REPLACED = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus", "plus_sign": "plus",
    "low_line": "underscore",
}  # fmt: skip
"""Names of characters for which Textual has shorter ones, as in its `KEY_NAME_REPLACEMENTS`: the table of keys is also read by
commands without a screen, which do not import Textual."""


def name_of(character: str) -> str:
    """Textual's name of the key that types a character: `plus`; a letter or a digit is its own name."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace(" ", "_").replace("-", "_")
    return REPLACED.get(name, name)


_PRINTED = {name_of(chr(code)): chr(code) for code in range(ord("!"), ord("~") + 1)}


def character_of(name: str) -> str:
    """The character of a key that `name_of` names; beyond ASCII its name where that does not lead back to it."""
    try:
        return _PRINTED.get(name) or unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return name


class Key(msgspec.Struct, frozen=True):
    """One action with its keys, on some screens."""

    keys: str
    """The keys by Textual's names, separated by commas; empty if Textual binds them itself."""
    name: str
    """The name of what it does: a screen has a table of methods by it, and a configuration file assigns other keys by it. Empty
    if Textual binds the keys itself."""
    shown: str
    """The keys as they are printed on a keyboard, separated by spaces."""
    bar: str
    """Text in the key bar; empty: the key is not shown there."""
    priority: int
    """In a narrow key bar, keys with the highest number are left out first; those with 0 stay."""
    help: str
    """What the key does, as an imperative: "go to the next pane"."""
    screens: tuple[ScreenName, ...]
    numbered: bool = False
    """Whether the method gets the index of the pressed key in `keys`."""

    @property
    def can_be_rebound(self) -> bool:
        """Whether a configuration file may assign other keys: not for keys that are numbers, or that Textual binds itself."""
        return bool(self.keys) and not self.numbered


# -- time keys -----------------------------------------------------------------------------------------------------------------
# Keys that move through a session's time: those of the inspection cursor, and those of a replay.


TIME_KEYS = (
    # while there is an inspection cursor
    Key(
        "left",
        "cursor_back",
        "←",
        "←→ 1 s",
        0,
        "move the cursor one second back; in the capacity curve, to the point on its left",
        INSPECT,
    ),
    Key(
        "right",
        "cursor_forward",
        "→",
        "",
        0,
        "move the cursor one second forward; in the capacity curve, to the point on its right",
        INSPECT,
    ),
    Key(
        "shift+left",
        "leap_back",
        "Shift+←",
        "Shift+←→ 10 s",
        6,
        "move the cursor 10 s back, or a thirtieth of the time shown if that is more",
        INSPECT,
    ),
    Key("shift+right", "leap_forward", "Shift+→", "", 0, "move the cursor forward by as much", INSPECT),
    Key("up", "cursor_next_level", "↑", "↑↓ level", 0, "move the cursor to the next level", INSPECT),
    Key("down", "cursor_previous_level", "↓", "", 0, "move the cursor to the previous level", INSPECT),
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
    Key("left", "back", "←", "←→ 10 s", 0, "go 10 s back", REPLAY),
    Key("right", "forward", "→", "", 0, "go 10 s forward", REPLAY),
    Key("shift+left", "minute_back", "Shift+←", "", 0, "go 1 min back", REPLAY),
    Key("shift+right", "minute_forward", "Shift+→", "", 0, "go 1 min forward", REPLAY),
    Key("comma", "second_back", ",", ", . second", 5, "pause, and go one second back", REPLAY),
    Key("full_stop", "second_forward", ".", "", 0, "pause, and go one second forward", REPLAY),
    Key("left_square_bracket", "slower", "[", "[ ] speed", 0, "play slower", REPLAY),
    Key("right_square_bracket", "faster", "]", "", 0, "play faster: 0.5x to 64x", REPLAY),
    Key("up", "next_level", "↑", "↑↓ level", 0, "go to the next level", REPLAY),
    Key(
        "down",
        "previous_level",
        "↓",
        "",
        0,
        "go to the start of this level; at its start, to the previous level",
        REPLAY,
    ),
    Key("m", "next_mark", "m", "m mark", 0, "go to the next mark", REPLAY),
    Key("M", "previous_mark", "M", "", 0, "go to the previous mark", REPLAY),
    Key("n", "next_note", "n", "n note", 4, "go to the next note", REPLAY),
    Key("N", "previous_note", "N", "", 0, "go to the previous note", REPLAY),
    Key("g", "go", "g", "g go", 1, "go to a time: 1:23:45, 90s, 1h30m, 50%; relative: +5m, -30s", REPLAY),
    Key("less_than_sign,home", "beginning", "< Home", "< > ends", 5, "go to the beginning", REPLAY),
    Key(
        "greater_than_sign,end",
        "end",
        "> End",
        "",
        0,
        "go to the end; with --follow the display stays at the end",
        REPLAY,
    ),
)


# -- load keys -----------------------------------------------------------------------------------------------------------------
# The keys of the live screen, which steer the load, the target and the run.


STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Step sizes of + and -: users, or iterations a second."""

LOAD_KEYS = (
    Key("enter", "take_step", "Enter", "", 0, "take the next step that the line NEXT proposes", LIVE),
    Key(
        "plus,equals_sign,up",
        "more_users",
        "+ = ↑",
        "+/- load",
        0,
        "add one step of users, or of the offered rate",
        LIVE,
    ),
    Key(
        "minus,underscore,down",
        "fewer_users",
        "- _ ↓",
        "",
        0,
        "take one step of users, or of the offered rate, away",
        LIVE,
    ),
    Key("left_square_bracket,comma", "smaller_step", "[ ,", "[ ] step", 0, "make the step smaller", LIVE),
    Key(
        "right_square_bracket,full_stop",
        "larger_step",
        "] .",
        "",
        0,
        f"make the step larger: {', '.join(map(str, STEPS))} users, or iterations a second",
        LIVE,
    ),
    Key(
        "g",
        "go",
        "g",
        "g go",
        0,
        "go to a number of users, or to a rate; asks for confirmation above 50 if that is more than twice the highest so far",
        LIVE,
    ),
    Key(
        "u",
        "unit",
        "u",
        "u unit",
        2,
        "switch the step's unit: users who wait for replies, or an offered rate: iterations a second, however late replies are",
        LIVE,
    ),
    Key("x", "zero", "x", "x zero", 0, "go to zero users at once", LIVE),
    Key(
        "a",
        "autopilot",
        "a",
        "a autopilot",
        0,
        "start or stop the autopilot, which finds and verifies the knee; after u, which finds the capacity as a rate",
        LIVE,
    ),
    Key(
        "v",
        "verify",
        "v",
        "v verify",
        5,
        "verify the knee: soak at 70% of it, go 20% beyond it, return to the first level",
        LIVE,
    ),
    Key(
        "p",
        "plan",
        "p",
        "p plan",
        2,
        "start a plan from the profile, or one that you type; changing the users by hand ends it",
        LIVE,
    ),
    Key("m", "new_level", "m", "m level", 5, "begin a new level with the same users (after a warm-up or a deployment)", LIVE),
    Key("r", "spawn_rate", "r", "r rate", 6, "set how many users are started per second", LIVE),
    Key(
        "W",
        "add_worker",
        "W",
        "W worker",
        4,
        "run users in one more worker process; the first time in two, and no longer in this process",
        LIVE,
    ),
    Key("ctrl+w", "end_worker", "Ctrl+W", "", 0, "end one worker process; its users run in the others", LIVE),
    Key("n", "note", "n", "n note", 3, "write a note at this moment", LIVE),
    Key("h", "watch_part", "h", "", 0, "watch one more part: a database, a proxy, another host", LIVE),
    Key("t", "restart", "t", "t target", 3, "restart the target, with other parameters if you want", LIVE),
    Key(
        "c",
        "controls",
        "c",
        "",
        0,
        "ask for the controls of a run that has several screens; the screen that has them hands them over",
        LIVE,
    ),
)
"""Those that steer: a screen that only watches refuses them."""

LIVE_VIEW_KEYS = (
    Key("space", "pause_display", "space", "space pause", 4, "pause or resume the display (load continues)", LIVE),
    Key(
        "left",
        "cursor_back",
        "← →",
        "",
        0,
        "inspect: move a cursor through all charts, one second a key",
        LIVE,
    ),
    Key("right", "cursor_forward", "", "", 0, "", LIVE),
)


KEYS = (
    *LOAD_KEYS,
    *LIVE_VIEW_KEYS,
    *TIME_KEYS,
    # view and export
    Key(
        "i",
        "inspect",
        "i",
        "i inspect",
        0,
        "inspect: show a cursor in all charts and every value of its second; again: open its level",
        CHARTS,
    ),
    Key("f", "failures", "f", "f failures", 1, "show the failures by cause, with evidence and advice; again: go back", CHARTS),
    Key("d", "raw", "d", "d errors", 7, "show the raw errors by endpoint; again: by cause", CHARTS),
    Key("E", "endpoints", "E", "E endpoints", 6, "all endpoints: sort, filter, and one endpoint's charts", CHARTS),
    Key(
        "R",
        "requests",
        "R",
        "R requests",
        6,
        "show sampled requests in full: headers, bodies, timing; only those of the chosen cause or level, if any",
        CHARTS,
    ),
    Key("o", "log", "o", "o log", 6, "show the log: messages, and what target and users printed; again: go back", CHARTS),
    Key("1,2,3,4,5,6,7,8,9", "pane", "1-9", "", 0, "show a pane by its number", CHARTS, numbered=True),
    Key(
        "tab",
        "next_pane",
        "Tab",
        "Tab pane",
        6,
        "go to the next pane; Shift+Tab to the previous one",
        CHARTS,
    ),
    Key("shift+tab", "previous_pane", "", "", 0, "", CHARTS),
    Key("", "", "↑ ↓", "", 0, "in the failures pane: choose a cause or an error; R then shows its requests", CHARTS),
    Key("", "", "PgUp PgDn j k", "", 0, "scroll the list in focus; Home, End and G go to its ends", CHARTS),
    Key("z", "maximise", "z", "z maximise", 6, "show the pane in focus alone; again: show all", CHARTS),
    Key("escape", "leave_pane", "Esc", "", 0, "leave a pane that fills the screen: show all panes again", CHARTS),
    Key("w", "window", "w", "w window", 5, "change the time window: 1, 5, 15 min, all", CHARTS),
    Key(
        "right_parenthesis",
        "zoom_in",
        ")",
        "",
        0,
        "zoom in: show less time, around the cursor if there is one",
        (*CHARTS, *INSPECT),
    ),
    Key(
        "left_parenthesis",
        "zoom_out",
        "(",
        "( ) zoom",
        5,
        "zoom out: show more time",
        (*CHARTS, *INSPECT),
    ),
    Key("escape", "leave_inspection", "Esc", "Esc leave", 0, "end the inspection; the charts follow the newest second", INSPECT),
    Key("l", "logarithmic", "l", "l log scale", 7, "draw latency on a logarithmic scale, or a linear one", CHARTS),
    Key(
        "L",
        "latency_form",
        "L",
        "L latency form",
        6,
        "draw latency as percentiles over time, as a heatmap, or as percentiles by level",
        CHARTS,
    ),
    Key("b", "baseline", "b", "b baseline", 6, "show or hide a saved session behind this one, as the baseline", CHARTS),
    Key("B", "choose_baseline", "B", "", 0, "choose another baseline", CHARTS),
    Key("e", "export", "e", "e export", 2, "export a report of the session so far to a file", CHARTS),
    Key("y", "copy", "y", "y copy", 2, "copy a Markdown summary to your terminal's clipboard (OSC 52, also over SSH)", CHARTS),
    Key(
        "colon",
        "commands",
        ": Ctrl+P",
        ": commands",
        7,
        "search all commands, or choose the colours",
        CHARTS,
    ),
    # the picker's list
    Key("", "", "Enter", "Enter {open}", 0, "run the profile, attach to a running session, or replay a saved one", PICKER),
    Key("j", "next_entry", "j ↓", "", 0, "go to the next entry", PICKER),
    Key("k", "previous_entry", "k ↑", "", 0, "go to the previous entry", PICKER),
    Key("G", "last_entry", "G End", "", 0, "go to the last entry", PICKER),
    Key("tab,shift+tab", "next_list", "Tab", "Tab {other}", 0, "go to the other list: profiles or saved sessions", PICKER),
    Key("slash", "filter", "/", "/ filter", 1, "show only entries that contain a text", PICKER),
    Key("escape", "clear", "Esc", "", 0, "show all entries again", PICKER),
    Key("space", "mark", "space", "space mark", 1, "mark the session for a comparison, or remove its mark", PICKER),
    Key("c", "compare", "c", "c compare", 0, "compare the marked sessions with the first one marked", PICKER),
    Key("e", "export", "e", "e export", 2, "export a report of the session to a file", PICKER),
    Key("i", "levels", "i", "i levels", 3, "show the session's table of levels", PICKER),
    Key("r", "rename", "r", "r rename", 4, "give the session a title", PICKER),
    Key("d,delete", "delete", "d Del", "d delete", 4, "delete the session, after confirmation", PICKER),
    Key("1,2,3,4,5,6,7", "sort", "1-7", "1-7 sort", 5, "sort by a column; again: reverse the order", PICKER, numbered=True),
    # everywhere
    Key(
        "P",
        "picture",
        "P",
        "",
        0,
        "save a picture of the screen (SVG) in the working folder",
        (*CHARTS, *PICKER),
    ),
    Key(
        "question_mark,f1",
        "help",
        "? F1",
        "? help",
        0,
        "show the keys, and what the figures mean",
        (*CHARTS, *INSPECT, *PICKER),
    ),
    Key(
        "q",
        "quit",
        "q Ctrl+C",
        "q quit",
        0,
        "quit; under load it asks, and a second q confirms; quitting an attached screen does not end the run",
        LIVE,
    ),
    Key(
        "D",
        "detach",
        "D",
        "",
        0,
        "leave the run to itself: it goes on without this screen, and `capexplorer attach` shows it again",
        LIVE,
    ),
    Key("Q", "stop", "Q", "", 0, "end the run, for all of its screens, after confirmation; the session is saved", LIVE),
    Key("q", "quit", "q Ctrl+C", "q {leave}", 0, "leave a pane that fills the screen, else quit", REPLAY),
    Key("q", "quit", "q Ctrl+C", "q quit", 0, "quit", PICKER),
    Key("", "", "q Ctrl+C", "q {leave}", 0, "leave or quit, as without the cursor", INSPECT),
)


def keys_of(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[Key]:
    """The keys of one screen, in the order of the table. `table`: the table, which may have the user's own keys."""
    return [key for key in table if screen in key.screens]
