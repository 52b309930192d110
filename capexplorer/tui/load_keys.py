"""Keys of the live screen: they steer the load, the target and the run."""

from __future__ import annotations

from .key import LIVE, Key

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Users, or iterations a second, that one press of + or - adds or takes away."""

LOAD_KEYS = (
    Key("enter", "take_step", "Enter", "", 0, "take the next step that the line NEXT proposes", LIVE),
    Key(
        "plus,equals_sign,up",
        "step(1)",
        "+ = ↑",
        "+/- load",
        0,
        "add one step of users, or of the offered rate",
        LIVE,
        named="more_users",
    ),
    Key(
        "minus,underscore,down",
        "step(-1)",
        "- _ ↓",
        "",
        0,
        "take one step of users, or of the offered rate, away",
        LIVE,
        named="fewer_users",
    ),
    Key(
        "left_square_bracket,comma", "resize_step(-1)", "[ ,", "[ ] step", 0, "make the step smaller", LIVE, named="smaller_step"
    ),
    Key(
        "right_square_bracket,full_stop",
        "resize_step(1)",
        "] .",
        "",
        0,
        f"make the step larger: {', '.join(map(str, STEPS))} users, or iterations a second",
        LIVE,
        named="larger_step",
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
        "worker(1)",
        "W",
        "W worker",
        4,
        "run users in one more worker process; the first time in two, and no longer in this process"
,
        LIVE,
        named="add_worker",
    ),
    Key("ctrl+w", "worker(-1)", "Ctrl+W", "", 0, "end one worker process; its users run in the others", LIVE, named="end_worker"),
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
    Key("space", "pause_display", "space", "space pause", 4, "pause or resume the display (load continues)", LIVE),
    Key(
        "left",
        "cursor(-1)",
        "← →",
        "",
        0,
        "inspect: move a cursor through all charts, one second a key",
        LIVE,
        named="cursor_back",
    ),
    Key("right", "cursor(1)", "", "", 0, "", LIVE, named="cursor_forward"),
)
