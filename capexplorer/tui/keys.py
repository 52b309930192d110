"""Every key of every screen, once. `keybar` makes bindings, key bar, help, palette of commands and the tables of docs/keys.md
from it.

Each row, a `Key`: keys, name, help, screens; for the key bar a text, and a priority there (0 stays longest).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal

import msgspec

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


SIGNS = {
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "escape": "Esc",
    "delete": "Del",
}
NAMED = frozenset((*SIGNS, "space", "tab", "insert", "backspace", *(f"f{number}" for number in range(1, 13))))
"""Keys that a configuration file may name."""


def printed(key: str) -> str:
    """A key by Textual's name, as it is printed on a keyboard."""
    parts = key.split("+") if len(key) > 1 else [key]
    if len(parts) == 1 and len(key) > 1 and key not in (*NAMED, "home", "end", "enter"):
        return character_of(key)
    signs = [SIGNS.get(part, part if len(part) == 1 or part == "space" else part.title()) for part in parts]
    return "+".join([*signs[:-1], signs[-1].upper() if len(parts) > 1 and len(signs[-1]) == 1 else signs[-1]])


class Key(msgspec.Struct, frozen=True):
    """One action with its keys, on some screens."""

    keys: str
    """The keys by Textual's names, separated by commas; empty if Textual binds them itself."""
    name: str
    """The name of what it does: a screen has a table of methods by it, and a configuration file assigns other keys by it. Empty
    if Textual binds the keys itself."""
    help: str
    """What the key does, as an imperative: "go to the next pane". Empty: another row explains it."""
    screens: tuple[ScreenName, ...]
    bar: str = ""
    """Text in the key bar; empty: the key is not shown there."""
    priority: int = 0
    """In a narrow key bar, keys with the highest number are left out first; those with 0 stay."""
    written: str = ""
    """The keys as they are shown, separated by spaces, if not each as it is printed on a keyboard."""
    numbered: bool = False
    """Whether the method gets the index of the pressed key in `keys`."""

    @property
    def shown(self) -> str:
        """The keys as they are printed on a keyboard, separated by spaces; empty if another row explains them."""
        if self.written or not self.help:
            return self.written
        return f"{self.keys[0]}-{self.keys[-1]}" if self.numbered else " ".join(map(printed, self.keys.split(",")))

    @property
    def can_be_rebound(self) -> bool:
        """Whether a configuration file may assign other keys: not for keys that are numbers, or that Textual binds itself."""
        return bool(self.keys) and not self.numbered


TIME_KEYS = (
    # while there is an inspection cursor
    Key(
        "left",
        "cursor_back",
        "move the cursor one second back; in the capacity curve, to the point on its left",
        INSPECT,
        "←→ 1 s",
    ),
    Key(
        "right", "cursor_forward", "move the cursor one second forward; in the capacity curve, to the point on its right", INSPECT
    ),
    Key(
        "shift+left",
        "leap_back",
        "move the cursor 10 s back, or a thirtieth of the time shown if that is more",
        INSPECT,
        "Shift+←→ 10 s",
        6,
    ),
    Key("shift+right", "leap_forward", "move the cursor forward by as much", INSPECT),
    Key("up", "cursor_next_level", "move the cursor to the next level", INSPECT, "↑↓ level"),
    Key("down", "cursor_previous_level", "move the cursor to the previous level", INSPECT),
    Key(
        "i",
        "open_level",
        "open the level at the cursor: latency histogram, endpoints, resources, marks; Esc closes it",
        INSPECT,
        "i open level",
    ),
    # moving through a replay
    Key("space", "play", "play or pause; at the end, play from the beginning", REPLAY, "space {play}"),
    Key("left", "back", "go 10 s back", REPLAY, "←→ 10 s"),
    Key("right", "forward", "go 10 s forward", REPLAY),
    Key("shift+left", "minute_back", "go 1 min back", REPLAY),
    Key("shift+right", "minute_forward", "go 1 min forward", REPLAY),
    Key("comma", "second_back", "pause, and go one second back", REPLAY, ", . second", 5),
    Key("full_stop", "second_forward", "pause, and go one second forward", REPLAY),
    Key("left_square_bracket", "slower", "play slower", REPLAY, "[ ] speed"),
    Key("right_square_bracket", "faster", "play faster: 0.5x to 64x", REPLAY),
    Key("up", "next_level", "go to the next level", REPLAY, "↑↓ level"),
    Key("down", "previous_level", "go to the start of this level; at its start, to the previous level", REPLAY),
    Key("m", "next_mark", "go to the next mark", REPLAY, "m mark"),
    Key("M", "previous_mark", "go to the previous mark", REPLAY),
    Key("n", "next_note", "go to the next note", REPLAY, "n note", 4),
    Key("N", "previous_note", "go to the previous note", REPLAY),
    Key("g", "go", "go to a time: 1:23:45, 90s, 1h30m, 50%; relative: +5m, -30s", REPLAY, "g go", 1),
    Key("less_than_sign,home", "beginning", "go to the beginning", REPLAY, "< > ends", 5),
    Key("greater_than_sign,end", "end", "go to the end; with --follow the display stays at the end", REPLAY),
)


STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Step sizes of + and -: users, or iterations a second."""

LOAD_KEYS = (
    Key("enter", "take_step", "take the next step that the line NEXT proposes", LIVE),
    Key("plus,equals_sign,up", "more_users", "add one step of users, or of the offered rate", LIVE, "+/- load"),
    Key("minus,underscore,down", "fewer_users", "take one step of users, or of the offered rate, away", LIVE),
    Key("left_square_bracket,comma", "smaller_step", "make the step smaller", LIVE, "[ ] step"),
    Key(
        "right_square_bracket,full_stop",
        "larger_step",
        f"make the step larger: {', '.join(map(str, STEPS))} users, or iterations a second",
        LIVE,
    ),
    Key(
        "g",
        "go",
        "go to a number of users, or to a rate; asks for confirmation above 50 if that is more than twice the highest so far",
        LIVE,
        "g go",
    ),
    Key(
        "u",
        "unit",
        "switch the step's unit: users who wait for replies, or an offered rate: iterations a second, however late replies are",
        LIVE,
        "u unit",
        2,
    ),
    Key("x", "zero", "go to zero users at once", LIVE, "x zero"),
    Key(
        "a",
        "autopilot",
        "start or stop the autopilot, which finds and verifies the knee; after u, which finds the capacity as a rate",
        LIVE,
        "a autopilot",
    ),
    Key("v", "verify", "verify the knee: soak at 70% of it, go 20% beyond it, return to the first level", LIVE, "v verify", 5),
    Key(
        "S",
        "sample_stacks",
        "sample the target's stacks for 10 s: at low load and 20% beyond the knee, then back; without a knee at this load",
        LIVE,
        "S sample",
        5,
    ),
    Key(
        "p", "plan", "start a plan from the profile, or one that you type; changing the users by hand ends it", LIVE, "p plan", 2
    ),
    Key(
        "o",
        "require",
        "ask whether the service does what is required: p95 <= 300ms @ 50 users; NEXT, or the autopilot, decides it",
        LIVE,
        "o require",
        4,
    ),
    Key("m", "new_level", "begin a new level with the same users (after a warm-up or a deployment)", LIVE, "m level", 5),
    Key("r", "spawn_rate", "set how many users are started per second", LIVE, "r rate", 6),
    Key(
        "W",
        "add_worker",
        "run users in one more worker process; the first time in two, and no longer in this process",
        LIVE,
        "W worker",
        4,
    ),
    Key("ctrl+w", "end_worker", "end one worker process; its users run in the others", LIVE),
    Key("n", "note", "write a note at this moment", LIVE, "n note", 3),
    Key("h", "watch_part", "watch one more part: a database, a proxy, another host", LIVE),
    Key("t", "restart", "restart the target, with other parameters if you want", LIVE, "t target", 3),
    Key(
        "c", "controls", "ask for the controls of a run that has several screens; the screen that has them hands them over", LIVE
    ),
)
"""Those that steer: a screen that only watches refuses them."""

LIVE_VIEW_KEYS = (
    Key("space", "pause_display", "pause or resume the display (load continues)", LIVE, "space pause", 4),
    Key("left", "cursor_back", "inspect: move a cursor through all charts, one second a key", LIVE, written="← →"),
    Key("right", "cursor_forward", "", LIVE),
)


KEYS = (
    *LOAD_KEYS,
    *LIVE_VIEW_KEYS,
    *TIME_KEYS,
    # view and export
    Key(
        "i",
        "inspect",
        "inspect: show a cursor in all charts and every value of its second; again: open its level",
        CHARTS,
        "i inspect",
    ),
    Key("f", "failures", "show the failures by cause, with evidence and advice; again: go back", CHARTS, "f failures", 1),
    Key("d", "raw", "show the raw errors by endpoint; again: by cause", CHARTS, "d errors", 7),
    Key("E", "endpoints", "all endpoints: sort, filter, and one endpoint's charts", CHARTS, "E endpoints", 6),
    Key(
        "R",
        "requests",
        "show sampled requests in full: headers, bodies, timing; only those of the chosen cause or level, if any",
        CHARTS,
        "R requests",
        6,
    ),
    Key(
        "F",
        "stacks",
        "show sampled stacks: the functions of the service whose time for each request grew; again: callers and callees",
        CHARTS,
        "F stacks",
        6,
    ),
    Key("s", "settings", "show what to set: load to operate at, limits, workers, timeout", CHARTS, "s settings", 6),
    Key("O", "log", "show the log: messages, and what target and users printed; again: go back", CHARTS, "O log", 6),
    Key("1,2,3,4,5,6,7,8,9", "pane", "show a pane by its number", CHARTS, numbered=True),
    Key("tab", "next_pane", "go to the next pane; Shift+Tab to the previous one", CHARTS, "Tab pane", 6),
    Key("shift+tab", "previous_pane", "", CHARTS),
    Key("", "", "in the failures pane: choose a cause or an error; R then shows its requests", CHARTS, written="↑ ↓"),
    Key("", "", "scroll the list in focus; Home, End and G go to its ends", CHARTS, written="PgUp PgDn j k"),
    Key("z", "maximise", "show the pane in focus alone; again: show all", CHARTS, "z maximise", 6),
    Key("escape", "leave_pane", "leave a pane that fills the screen: show all panes again", CHARTS),
    Key("w", "window", "change the time window: 1, 5, 15 min, all", CHARTS, "w window", 5),
    Key("right_parenthesis", "zoom_in", "zoom in: show less time, around the cursor if there is one", (*CHARTS, *INSPECT)),
    Key("left_parenthesis", "zoom_out", "zoom out: show more time", (*CHARTS, *INSPECT), "( ) zoom", 5),
    Key("escape", "leave_inspection", "end the inspection; the charts follow the newest second", INSPECT, "Esc leave"),
    Key("l", "logarithmic", "draw latency on a logarithmic scale, or a linear one", CHARTS, "l log scale", 7),
    Key(
        "L",
        "latency_form",
        "draw latency as percentiles over time, as a heatmap, or as percentiles by level",
        CHARTS,
        "L latency form",
        6,
    ),
    Key(
        "T",
        "latency_kind",
        "show the next latency of streams: whole request, first byte (ttfb), first token (ttft), further ones (tpot), gaps (itl)",
        CHARTS,
    ),
    Key("b", "baseline", "show or hide a saved session behind this one, as the baseline", CHARTS, "b baseline", 6),
    Key("B", "choose_baseline", "choose another baseline", CHARTS),
    Key("e", "export", "export a report of the session so far to a file", CHARTS, "e export", 2),
    Key("y", "copy", "copy a Markdown summary to your terminal's clipboard (OSC 52, also over SSH)", CHARTS, "y copy", 2),
    Key("colon", "commands", "search all commands, or choose the colours", CHARTS, ": commands", 7, written=": Ctrl+P"),
    # the picker's list
    Key("", "", "run the profile, attach to a running session, or replay a saved one", PICKER, "Enter {open}", written="Enter"),
    Key("j", "next_entry", "go to the next entry", PICKER, written="j ↓"),
    Key("k", "previous_entry", "go to the previous entry", PICKER, written="k ↑"),
    Key("G", "last_entry", "go to the last entry", PICKER, written="G End"),
    Key("tab,shift+tab", "next_list", "go to the other list: profiles or saved sessions", PICKER, "Tab {other}", written="Tab"),
    Key("slash", "filter", "show only entries that contain a text", PICKER, "/ filter", 1),
    Key("escape", "clear", "show all entries again", PICKER),
    Key("space", "mark", "mark the session for a comparison, or remove its mark", PICKER, "space mark", 1),
    Key("c", "compare", "compare the marked sessions with the first one marked", PICKER, "c compare"),
    Key("e", "export", "export a report of the session to a file", PICKER, "e export", 2),
    Key("i", "levels", "show the session's table of levels", PICKER, "i levels", 3),
    Key("r", "rename", "give the session a title", PICKER, "r rename", 4),
    Key("d,delete", "delete", "delete the session, after confirmation", PICKER, "d delete", 4),
    Key("1,2,3,4,5,6,7", "sort", "sort by a column; again: reverse the order", PICKER, "1-7 sort", 5, numbered=True),
    # everywhere
    Key("P", "picture", "save a picture of the screen (SVG) in the working folder", (*CHARTS, *PICKER)),
    Key("question_mark,f1", "help", "show the keys, and what the figures mean", (*CHARTS, *INSPECT, *PICKER), "? help"),
    Key(
        "q",
        "quit",
        "quit; under load it asks, and a second q confirms; quitting an attached screen does not end the run",
        LIVE,
        "q quit",
        written="q Ctrl+C",
    ),
    Key("D", "detach", "leave the run to itself: it goes on without this screen, and `capexplorer attach` shows it again", LIVE),
    Key("Q", "stop", "end the run, for all of its screens, after confirmation; the session is saved", LIVE),
    Key("q", "quit", "leave a pane that fills the screen, else quit", REPLAY, "q {leave}", written="q Ctrl+C"),
    Key("q", "quit", "quit", PICKER, "q quit", written="q Ctrl+C"),
    Key("", "", "leave or quit, as without the cursor", INSPECT, "q {leave}", written="q Ctrl+C"),
)


def keys_of(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[Key]:
    """The keys of one screen, in the order of the table. `table`: the table, which may have the user's own keys."""
    return [key for key in table if screen in key.screens]
