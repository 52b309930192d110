"""Keys on the live screen in a real terminal: each has its effect and is in the session, and figures agree with the log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from capexplorer.model.events import Command, Ended, LevelOpened, Note, Sample, Target
from capexplorer.model.timeline import Timeline

from .rig import events_of, export, wait_until
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]

NOTE = "cache warm [red]now[/red] [/] 🚀 ü"

STATUS_LINE = re.compile(
    r"[●■] (?P<clock>\d\d:\d\d) +(?P<profile>\S+) +(?P<target>\S+).* users (?P<users>[\d,]+)(?: → (?P<wanted>[\d,]+))?"
)
ENDPOINT_ROW = re.compile(r"│ (?P<name>(?:GET \S+|all)) +(?P<requests>[\d,]+) +(?P<rate>[\d.,]+) ")
CHART_LEGEND = re.compile(r"── goodput +(?P<goodput>[\d.,k]+) +▁▃ users +(?P<users>\d+) +┈┈ throughput +(?P<throughput>[\d.,k]+)")


def wanted_users(text: str) -> int | None:
    """The number of users that the status line shows as wanted."""
    found = STATUS_LINE.search(text)
    return int((found["wanted"] or found["users"]).replace(",", "")) if found else None


def wait_for_step(screen: Screen, users: int) -> None:
    """Wait until the status line shows a number of users, and a level is opened for them."""
    screen.wait_for(lambda text: wanted_users(text) == users, f"{users} users on the status line")
    wait_until(lambda: users_of_levels(screen)[-1:] == [users], f"a level of {users} users")


def users_of_levels(screen: Screen) -> list[int]:
    return [level.users for level in events_of(screen.events(), LevelOpened)]


def settled_s(text: str) -> int:
    found = re.search(r"settled (\d+) s", text)
    return int(found[1]) if found else 0


def test_each_key_is_a_command_in_the_session_also_those_pressed_before_the_screen_is_drawn(tmp_path: Path) -> None:
    with on_screen(tmp_path, "actor", size=(80, 24)) as screen:
        screen.press("+", "+", "]", "+")
        screen.wait_for_text("actor", "ready")
        wait_for_step(screen, 6)
        screen.press("-")
        wait_for_step(screen, 4)
        screen.press("[")
        screen.wait_for_text("step 1")
        screen.press("-")
        wait_for_step(screen, 3)
        screen.press("g")
        screen.wait_for_text("Go to how many users?")
        screen.type("60")
        screen.press("Enter")
        screen.wait_for_text("Go to 60 users?", "more than twice the highest so far")
        screen.press("Enter")
        wait_for_step(screen, 60)
        screen.wait_for(lambda text: "users 60 " in text, "60 users running")
        screen.press("n")
        screen.wait_for_text("Note")
        screen.type(NOTE)
        screen.wait_for_text(NOTE)
        screen.press("Enter")
        screen.press("6")
        screen.wait_for_text(f"✎ {NOTE}")
        screen.press("x")
        wait_for_step(screen, 0)
        screen.wait_for(lambda text: "users 0 " in text, "no users running")
        screen.press("q")
        assert screen.exit_code() == 0  # without load it quits without a question
        assert "saved: " in screen.text()
    commands = [(each.name, each.by, dict(each.args)) for each in events_of(screen.events(), Command)]
    assert commands == [
        ("users", "user", {"users": 3, "before": 2}),
        ("users", "user", {"users": 4, "before": 3}),
        ("step", "user", {"step": 2}),
        ("users", "user", {"users": 6, "before": 4}),
        ("users", "user", {"users": 4, "before": 6}),
        ("step", "user", {"step": 1}),
        ("users", "user", {"users": 3, "before": 4}),
        ("users", "user", {"users": 60, "before": 3}),
        ("note", "user", {"text": NOTE}),
        ("zero", "user", {"before": 60}),
        ("quit", "user", {}),
    ]
    assert users_of_levels(screen)[-5:] == [6, 4, 3, 60, 0]
    assert isinstance(screen.events()[-1], Ended)
    assert [note.text for note in events_of(screen.events(), Note)] == [NOTE]
    assert export(screen.sessions)["notes"][0]["text"] == NOTE


def number(text: str) -> float:
    return float(text.replace(",", ""))


def rounds_to(shown: str, value: float) -> bool:
    """Whether a figure on the screen is a value rounded to the digits shown."""
    digits = len(shown.partition(".")[2])
    return abs(number(shown) - value) <= 0.5 * 10.0**-digits + 1e-9


def agrees_with(text: str, timeline: Timeline) -> bool:
    """Whether all figures of a captured screen are those of a timeline."""
    legend, level, last = CHART_LEGEND.search(text), timeline.level, timeline.last
    assert level is not None and last is not None
    if legend:
        column_of = {"goodput": "goodput_rps", "throughput": "throughput_rps"}
        if not all(rounds_to(legend[name], timeline.columns[column][-1]) for name, column in column_of.items()):
            return False
        if int(legend["users"]) != last.users:
            return False
    rows = {row["name"]: row for row in ENDPOINT_ROW.finditer(text)}
    figures, settled = level.figures, level.figures.settled_seconds
    expected = {"all": figures.requests} | {f"{each.method} {each.name}": each.requests for each in level.endpoints}
    return set(rows) <= set(expected) and all(
        number(row["requests"]) == expected[name] and rounds_to(row["rate"], expected[name] / settled)
        for name, row in rows.items()
    )


def screen_after(screen: Screen, settled_for_s: int) -> str:
    """The screen once the level has been settled for longer than that, captured when all panes are redrawn: twice the same."""
    captured = [screen.wait_for(lambda text: settled_s(text) > settled_for_s, f"a level settled for more than {settled_for_s} s")]

    def unchanged() -> str:
        captured.append(screen.text())
        return captured[-1] if captured[-1] == captured[-2] else ""

    return wait_until(unchanged, "a screen that does not change")


def panes_of(text: str) -> list[str]:
    """The lines of a screen between its status lines and its key bar."""
    return text.split("\n")[4:-2]


@pytest.fixture(scope="module")
def screen_with_captures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Screen, list[str]]:
    """A run with all panes, resizing, a new level, a pause, and a restart of the target; and three captured screens."""
    with on_screen(tmp_path_factory.mktemp("panes"), "actor", size=(80, 24)) as screen:
        shown_s = settled_s(screen.wait_for_text(", settled "))
        captured = []
        for keys in (("1", "z"), ("5",)):
            screen.press(*keys)
            captured.append(screen_after(screen, shown_s))
            shown_s = settled_s(captured[-1])
        for key, title in zip(
            "87654321", ("Log", "Failures", "Journal", "Endpoints", "Resources", "Capacity", "Latency", "Throughput"), strict=True
        ):
            screen.press(key)
            screen.wait_for_text(f"╭─ {title}")
        screen.press("Tab")
        screen.wait_for_text("╭─ Latency")

        screen.resize(120, 40)
        screen.press("z")
        screen.wait_for_text("╭─ Throughput", "╭─ Latency", "╭─ Capacity", "╭─ Resources", "╭─ Endpoints", "╭─ Journal")
        captured.append(screen_after(screen, settled_s(screen.text())))
        screen.press("m")
        screen.wait_for_text("level 1,", "new level at the same count")

        screen.press("Space")
        paused_at_s = settled_s(screen.wait_for_text(" PAUSED"))
        paused = screen_after(screen, paused_at_s)  # load and the status line continue
        panes = panes_of(screen_after(screen, settled_s(paused)))
        assert panes == panes_of(paused), "panes changed during the pause"
        screen.press("Space")
        screen.wait_for(lambda text: " PAUSED" not in text and panes_of(text) != panes, "panes that change again")

        screen.press("t")
        screen.wait_for_text("Restart actor", "delay_ms")
        screen.press("Tab")
        screen.press("BSpace")
        screen.wait_for(lambda text: re.search(r"delay_ms +│", text), "an empty field")
        screen.press("7")
        screen.wait_for(lambda text: re.search(r"delay_ms +7 ", text), "the new value")
        screen.press("Enter")
        screen.wait_for_text("delay_ms=7", "level 2, settled ")
        screen.resize(80, 24)
        screen.wait_for_text("1 req/s", "delay_ms=7", "q quit")
        screen.press("C-c")
        screen.wait_for_text("Quit?")
        screen.press("y")
        assert screen.exit_code() == 0
    return screen, captured


def test_figures_on_the_screen_agree_with_the_log(screen_with_captures: tuple[Screen, list[str]]) -> None:
    screen, captured = screen_with_captures
    events = screen.events()
    timelines = [Timeline(events[: count + 1]) for count, event in enumerate(events) if isinstance(event, Sample)]
    assert len(captured) == 3
    for text in captured:
        assert CHART_LEGEND.search(text) or ENDPOINT_ROW.search(text), f"no figures in {text}"
        status = STATUS_LINE.search(text)
        assert status, f"no status line in {text}"
        assert (status["profile"], status["target"], status["users"]) == ("actor", "ready", "2")
        # A capture may have panes of one second and the status line of the next.
        minutes, seconds = map(int, status["clock"].split(":"))
        clock_s = 60 * minutes + seconds
        near = [timeline for timeline in timelines if timeline.last and abs(int(timeline.last.t_s) - clock_s) <= 1]
        assert any(agrees_with(text, timeline) for timeline in near), f"figures differ from the log: {text}"


def test_a_new_level_and_a_restart_with_another_parameter_are_in_the_session(
    screen_with_captures: tuple[Screen, list[str]],
) -> None:
    events = screen_with_captures[0].events()
    assert [(level.users, level.epoch) for level in events_of(events, LevelOpened)] == [(2, 0), (2, 0), (2, 1)]
    states = [(target.state, target.epoch) for target in events_of(events, Target) if not target.reason]
    assert states == [
        ("starting", 0), ("ready", 0), ("stopping", 1), ("starting", 1), ("ready", 1), ("stopping", 1), ("stopped", 1),
    ]  # fmt: skip
    assert [target.params for target in events_of(events, Target) if target.state == "ready"][-1] == {
        "act": "serves",
        "delay_ms": 7,
    }
    levels = export(screen_with_captures[0].sessions)["levels"]
    assert [(level["epoch"], level["settled"]) for level in levels] == [(0, True), (0, True), (1, True)]
