"""The keys, once: bindings, the line at the bottom, the help screen and the command palette are all made from this table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.binding import Binding

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)

_SIZES = " ".join(map(str, STEPS))


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be done."""

    keys: str
    """As Textual names them, comma separated."""
    action: str
    shown: str
    """The keys as a reader calls them."""
    title: str
    """For the palette."""
    help: str
    live: bool = True
    """Only where there is a load to steer."""


KEYS = (
    Key("plus,equals_sign,up", "step(1)", "+ up", "Users: one step up", "one step of users up"),
    Key("minus,underscore,down", "step(-1)", "- down", "Users: one step down", "one step of users down"),
    Key("left_square_bracket,comma", "resize_step(-1)", "[ ,", "Step size: smaller", f"a smaller step: {_SIZES}"),
    Key("right_square_bracket,full_stop", "resize_step(1)", "] .", "Step size: larger", "a larger step"),
    Key("g", "go", "g", "Users: go to a number", "go to N users; asks when that is over twice the highest so far"),
    Key("m", "new_level", "m", "New level at the same count", "a new level at the same count (after a warm-up, a deploy)"),
    Key("x", "zero", "x", "Users: to zero at once", "to zero users, at once"),
    Key("a", "autopilot", "a", "Autopilot on, off", "autopilot: looks for the knee by itself; any step takes over at once"),
    Key("p", "plan", "p", "Plan: start one", "a plan of the profile, or one outright: 10:30s, ramp to 200 5m, hold 60% knee 1h"),
    Key("r", "spawn_rate", "r", "Spawn rate", "users a second from the next step on; empty: automatic"),
    Key("n", "note", "n", "Note", "a note at this moment"),
    Key("t", "restart", "t", "Target: restart", "restart the target, with other parameters if wanted"),
    Key("space", "hold", "space", "Hold", "hold: freeze the panes, the load goes on", live=False),
    Key("z", "maximise", "z", "Maximise the pane in focus", "maximise the pane in focus, and back", live=False),
    Key("w", "window", "w", "Time window", "time window: 1, 5, 15 min, all", live=False),
    Key("l", "logarithmic", "l", "Latency: logarithmic", "logarithmic latency, and back", live=False),
    Key("f", "failures", "f", "Failures", "what failed, by cause: evidence, an example, what to do; and back", live=False),
    Key("d", "raw", "d", "Raw errors", "errors as they came, by endpoint, and back to their causes", live=False),
    Key("o", "log", "o", "Log", "what was logged and printed, and back", live=False),
    Key("e", "export", "e", "Export", "a report of what is known so far: Markdown, HTML, CSV, JSON, histograms", live=False),
    Key("y", "copy", "y", "Copy a summary", "copy a Markdown summary to the clipboard (OSC 52: over SSH too)", live=False),
    Key("question_mark,f1", "help", "?", "Help", "the keys, and what the figures mean", live=False),
    Key("q", "app.leave", "q ^C", "Quit", "quit; asks once while load runs; the session is saved", live=False),
)

REPLAY_KEYS = (
    Key("space", "play", "space", "Play or pause", "play or pause: what holds the panes live; at the end, from the beginning"),
    Key("left", "skip(-10)", "←", "Back 10 s", "10 s back"),
    Key("right", "skip(10)", "→", "Forward 10 s", "10 s forward"),
    Key("shift+left", "skip(-60)", "⇧←", "Back 1 min", "1 min back"),
    Key("shift+right", "skip(60)", "⇧→", "Forward 1 min", "1 min forward"),
    Key("comma", "step(-1)", ",", "Step back", "one second back, and stand still"),
    Key("full_stop", "step(1)", ".", "Step forward", "one second forward, and stand still"),
    Key("left_square_bracket", "speed(-1)", "[", "Slower", "slower: 0.5x to 64x"),
    Key("right_square_bracket", "speed(1)", "]", "Faster", "faster"),
    Key("up", "jump('level', 1)", "up", "Next level", "to the next level"),
    Key("down", "jump('level', -1)", "down", "Previous level", "to the begin of this level, then to the one before"),
    Key("m", "jump('mark', 1)", "m", "Next mark", "to the next mark"),
    Key("M", "jump('mark', -1)", "M", "Previous mark", "to the previous mark"),
    Key("n", "jump('note', 1)", "n", "Next note", "to the next note"),
    Key("N", "jump('note', -1)", "N", "Previous note", "to the previous note"),
    Key("g", "go", "g", "Go to a time", "go to a time: 1:23:45, 90s, 1h30m, 50%, or from here +5m, -30s"),
    Key("less_than_sign", "edge(-1)", "<", "To the beginning", "to the beginning"),
    Key("greater_than_sign", "edge(1)", ">", "To the end", "to the end; with --follow it stays there"),
    *(key for key in KEYS if not key.live and key.action != "hold"),
)
"""Of a replay: what steers load is not there, and hold is called pause."""

PANE_KEYS = "1 2 3 4 5 6 7 8"


def bindings(keys: Sequence[Key] = KEYS) -> list[Binding]:
    """Of the live screen; hidden from Textual's own footer, which is not used."""
    panes = [Binding(key, f"pane({index})", show=False) for index, key in enumerate(PANE_KEYS.split())]
    tabs = [Binding("tab", "next_pane(1)", show=False), Binding("shift+tab", "next_pane(-1)", show=False)]
    return [Binding(key.keys, key.action, key.title, show=False) for key in keys] + panes + tabs


def key_line(step: int, width: int, *, live: bool) -> str:
    """The line at the bottom: what fits of what is pressed most, in reading order."""
    items = [
        (f"+/- step {step}", 0, True),
        ("[ ] size", 0, True),
        ("g go", 0, True),
        ("m level", 0, True),
        ("x zero", 0, True),
        ("a autopilot", 1, True),
        ("r rate", 2, True),
        ("n note", 0, True),
        ("t target", 0, True),
        ("space hold", 1, False),
        ("z max", 2, False),
        ("w window", 2, False),
        ("l log scale", 4, False),
        ("f failures", 1, False),
        ("o log", 3, False),
        ("e export", 3, False),
        ("y copy", 4, False),
        ("^p commands", 3, False),
        ("? help", 0, False),
        ("q quit", 0, False),
    ]
    return fitted([(said, rank) for said, rank, steers in items if live or not steers], width)


def replay_key_line(width: int, *, playing: bool) -> str:
    """The line at the bottom of a replay."""
    items = [
        (f"space {'pause' if playing else 'play'}", 0),
        ("←→ 10 s", 0),
        (", . step", 1),
        ("[ ] speed", 0),
        ("↑↓ level", 0),
        ("m mark", 1),
        ("n note", 2),
        ("g go", 0),
        ("< > ends", 4),
        ("z max", 2),
        ("w window", 2),
        ("l log scale", 5),
        ("f failures", 2),
        ("o log", 3),
        ("^p commands", 5),
        ("? help", 0),
        ("q quit", 0),
    ]
    return fitted(items, width)


def fitted(items: Sequence[tuple[str, int]], width: int) -> str:
    """As many as fit; those of the highest rank go first, those of rank 0 stay."""
    kept = list(items)
    while len(line := "  ".join(said for said, _ in kept)) > width and (worst := max(kept, key=lambda item: item[1]))[1] > 0:
        kept.remove(worst)
    return line
