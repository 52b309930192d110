"""Every key of every screen, once. `keybar` makes bindings, key bar, help, palette of commands and the README's tables from it.

Each row, a `Key`: keys, action, the keys as printed, text in the key bar, priority there (0 stays longest), help, screens.
"""

from __future__ import annotations

from collections.abc import Sequence

from .key import CHARTS, INSPECT, LIVE, PICKER, REPLAY, Key, ScreenName
from .load_keys import LOAD_KEYS
from .time_keys import TIME_KEYS

KEYS = (
    *LOAD_KEYS,
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
    Key("1,2,3,4,5,6,7,8,9", "pane({index})", "1-9", "", 0, "show a pane by its number", CHARTS),
    Key(
        "tab",
        "next_pane(1)",
        "Tab",
        "Tab pane",
        6,
        "go to the next pane; Shift+Tab to the previous one",
        CHARTS,
        named="next_pane",
    ),
    Key("shift+tab", "next_pane(-1)", "", "", 0, "", CHARTS, named="previous_pane"),
    Key("", "", "↑ ↓", "", 0, "in the failures pane: choose a cause or an error; R then shows its requests", CHARTS),
    Key("", "", "PgUp PgDn j k", "", 0, "scroll the list in focus; Home, End and G go to its ends", CHARTS),
    Key("z", "maximise", "z", "z maximise", 6, "show the pane in focus alone; again: show all", CHARTS),
    Key("escape", "leave_pane", "Esc", "", 0, "leave a pane that fills the screen: show all panes again", CHARTS),
    Key("w", "window", "w", "w window", 5, "change the time window: 1, 5, 15 min, all", CHARTS),
    Key(
        "right_parenthesis",
        "zoom(1)",
        ")",
        "",
        0,
        "zoom in: show less time, around the cursor if there is one",
        (*CHARTS, *INSPECT),
        named="zoom_in",
    ),
    Key(
        "left_parenthesis",
        "zoom(-1)",
        "(",
        "( ) zoom",
        5,
        "zoom out: show more time",
        (*CHARTS, *INSPECT),
        named="zoom_out",
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
        "app.command_palette",
        ": Ctrl+P",
        ": commands",
        7,
        "search all commands, or choose the colours",
        CHARTS,
        named="commands",
    ),
    # the picker's list
    Key("", "", "Enter", "Enter {open}", 0, "run the profile, attach to a running session, or replay a saved one", PICKER),
    Key("j", "app.simulate_key('down')", "j ↓", "", 0, "go to the next entry", PICKER, named="next_entry"),
    Key("k", "app.simulate_key('up')", "k ↑", "", 0, "go to the previous entry", PICKER, named="previous_entry"),
    Key("G", "app.simulate_key('end')", "G End", "", 0, "go to the last entry", PICKER, named="last_entry"),
    Key("tab,shift+tab", "next_list", "Tab", "Tab {other}", 0, "go to the other list: profiles or saved sessions", PICKER),
    Key("slash", "filter", "/", "/ filter", 1, "show only entries that contain a text", PICKER),
    Key("escape", "clear", "Esc", "", 0, "show all entries again", PICKER),
    Key("space", "mark", "space", "space mark", 1, "mark the session for a comparison, or remove its mark", PICKER),
    Key("c", "compare", "c", "c compare", 0, "compare the marked sessions with the first one marked", PICKER),
    Key("e", "export", "e", "e export", 2, "export a report of the session to a file", PICKER),
    Key("i", "levels", "i", "i levels", 3, "show the session's table of levels", PICKER),
    Key("r", "rename", "r", "r rename", 4, "give the session a title", PICKER),
    Key("d,delete", "delete", "d Del", "d delete", 4, "delete the session, after confirmation", PICKER),
    Key("1,2,3,4,5,6,7", "sort({index})", "1-7", "1-7 sort", 5, "sort by a column; again: reverse the order", PICKER),
    # everywhere
    Key(
        "P",
        "app.picture",
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
        "app.leave",
        "q Ctrl+C",
        "q quit",
        0,
        "quit; under load it asks, and a second q confirms; quitting an attached screen does not end the run",
        LIVE,
        named="quit",
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
    Key("q", "leave", "q Ctrl+C", "q {leave}", 0, "leave a pane that fills the screen, else quit", REPLAY, named="quit"),
    Key("q", "app.leave", "q Ctrl+C", "q quit", 0, "quit", PICKER, named="quit"),
    Key("", "", "q Ctrl+C", "q {leave}", 0, "leave or quit, as without the cursor", INSPECT),
)


def keys_of(screen: ScreenName, table: Sequence[Key] = KEYS) -> Sequence[Key]:
    """The keys of one screen, in the order of the table. `table`: the table, which may have the user's own keys."""
    return [key for key in table if screen in key.screens]
