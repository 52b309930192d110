"""The screen in a real terminal: it follows each key, the session holds each as a command, its figures are those of the log."""

from __future__ import annotations

import re

import pytest

from capexplorer.model.events import Command, Ended, Event, LevelOpened, Note, Sample, Target
from capexplorer.model.timeline import Timeline

from .rig import export, of, until
from .tmux_rig import Screen, needs_tmux, on_screen

pytestmark = [pytest.mark.slow, needs_tmux]

NOTE = "cache warm [red]now[/red] [/] 🚀 ü"

FIRST = re.compile(
    r"[●■] (?P<clock>\d\d:\d\d) +(?P<profile>\S+) +(?P<target>\S+).* users (?P<users>[\d,]+)(?: → (?P<wanted>[\d,]+))?"
)
ENDPOINT = re.compile(r"│ (?P<name>(?:GET \S+|all)) +(?P<requests>[\d,]+) +(?P<rate>[\d.,]+) ")
LEGEND = re.compile(r"── goodput +(?P<goodput>[\d.,k]+) +▁▃ users +(?P<users>\d+) +┈┈ throughput +(?P<throughput>[\d.,k]+)")


def wanted(text: str) -> int:
    found = FIRST.search(text)
    assert found, text
    return int((found["wanted"] or found["users"]).replace(",", ""))


def follows(screen: Screen, users: int) -> None:
    """The status line says how many users are wanted now, and they have a level: a step that the next one overtakes has none."""
    screen.once(lambda text: FIRST.search(text) and wanted(text) == users, f"{users} users wanted")
    until(lambda: levels(screen)[-1:] == [users], f"a level of {users} users")


def levels(screen: Screen) -> list[int]:
    """Users of each level so far."""
    return [level.users for level in of(screen.events(), LevelOpened)]


def settled_s(text: str) -> int:
    """For how long the level has settled, as the status says; 0 before."""
    found = re.search(r"settled (\d+) s", text)
    return int(found[1]) if found else 0


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Screen:
    """A run that is driven by keys alone, the first ones before there is a screen; each is waited for on the screen."""
    with on_screen(tmp_path_factory.mktemp("driven"), "actor", size=(80, 24)) as screen:
        screen.press("+", "+", "]", "+")
        screen.shows("actor", "ready")
        follows(screen, 6)
        screen.press("-")
        follows(screen, 4)
        screen.press("[")
        screen.shows("step 1")
        screen.press("-")
        follows(screen, 3)
        screen.press("g")
        screen.shows("Go to how many users?")
        screen.type("60")
        screen.press("Enter")
        screen.shows("Go to 60 users?", "more than twice the highest so far")
        screen.press("Enter")
        follows(screen, 60)
        screen.once(lambda text: "users 60 " in text, "60 users running")
        screen.press("n")
        screen.shows("Note")
        screen.type(NOTE)
        screen.shows(NOTE)
        screen.press("Enter")
        screen.press("6")
        screen.shows(f"✎ {NOTE}")
        screen.press("x")
        follows(screen, 0)
        screen.once(lambda text: "users 0 " in text, "no users running")
        screen.press("q")
        assert screen.exit_code() == 0  # no load: nothing to ask
        assert "saved: " in screen.text()
    return screen


def commands(screen: Screen) -> list[tuple[str, str, dict[str, object]]]:
    return [(command.name, command.by, dict(command.args)) for command in of(screen.events(), Command)]


def test_keys_pressed_during_start_up_are_kept(driven: Screen) -> None:
    assert commands(driven)[:4] == [
        ("users", "user", {"users": 3, "before": 2}),
        ("users", "user", {"users": 4, "before": 3}),
        ("step", "user", {"step": 2}),
        ("users", "user", {"users": 6, "before": 4}),
    ]


def test_the_session_holds_each_key_that_the_screen_followed(driven: Screen) -> None:
    assert commands(driven)[4:] == [
        ("users", "user", {"users": 4, "before": 6}),
        ("step", "user", {"step": 1}),
        ("users", "user", {"users": 3, "before": 4}),
        ("users", "user", {"users": 60, "before": 3}),
        ("note", "user", {"text": NOTE}),
        ("zero", "user", {"before": 60}),
        ("quit", "user", {}),
    ]
    assert levels(driven)[-5:] == [6, 4, 3, 60, 0]
    assert isinstance(driven.events()[-1], Ended)


def test_a_note_is_in_the_session_and_in_its_export(driven: Screen) -> None:
    assert [note.text for note in of(driven.events(), Note)] == [NOTE]
    assert export(driven.sessions)["notes"][0]["text"] == NOTE


def seconds(clock: str) -> int:
    minutes, rest = clock.split(":")
    return 60 * int(minutes) + int(rest)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def at_each_second(events: list[Event]) -> list[Timeline]:
    """The session as it stood after each sample."""
    return [Timeline(events[: count + 1]) for count, event in enumerate(events) if isinstance(event, Sample)]


def rounds_to(shown: str, value: float) -> bool:
    """Whether a figure as shown is this value, within its last digit."""
    digits = len(shown.partition(".")[2])
    return abs(number(shown) - value) <= 0.5 * 10.0**-digits + 1e-9


def agrees(text: str, moment: Timeline) -> bool:
    """Whether all figures of a captured screen are those of this moment."""
    legend, level, last = LEGEND.search(text), moment.level, moment.last
    assert level is not None and last is not None
    if legend:
        shown = {"goodput": "goodput_rps", "throughput": "throughput_rps"}
        if not all(rounds_to(legend[name], moment.columns[column][-1]) for name, column in shown.items()):
            return False
        if int(legend["users"]) != last.users:
            return False
    rows = {row["name"]: row for row in ENDPOINT.finditer(text)}
    figures, settled = level.figures, level.figures.settled_seconds
    expected = {"all": figures.requests} | {f"{each.method} {each.name}": each.requests for each in level.endpoints}
    return set(rows) <= set(expected) and all(
        number(row["requests"]) == expected[name] and rounds_to(row["rate"], expected[name] / settled)
        for name, row in rows.items()
    )


def later_than(screen: Screen, second: int) -> str:
    """The screen once the level has settled for longer than that, between two redraws: panes are drawn one after another."""
    seen = [screen.once(lambda text: settled_s(text) > second, f"settled for more than {second} s")]

    def unchanged() -> str:
        seen.append(screen.text())
        return seen[-1] if seen[-1] == seen[-2] else ""

    return until(unchanged, "a screen that does not change")


@pytest.fixture(scope="module")
def toured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Screen, list[str]]:
    """Tabs, resizing, a new level, a pause, and a restart with another parameter; and screens captured between two redraws."""
    with on_screen(tmp_path_factory.mktemp("toured"), "actor", size=(80, 24)) as screen:
        shown_s = settled_s(screen.shows(", settled "))
        captured = []
        for keys in (("1", "z"), ("5",)):
            screen.press(*keys)
            captured.append(later_than(screen, shown_s))
            shown_s = settled_s(captured[-1])
        for key, seen in zip(
            "87654321", ("Log", "Failures", "Journal", "Endpoints", "Resources", "Capacity", "Latency", "Throughput"), strict=True
        ):
            screen.press(key)
            screen.shows(f"╭─ {seen}")
        screen.press("Tab")
        screen.shows("╭─ Latency")

        screen.resize(120, 40)
        screen.press("z")
        screen.shows("╭─ Throughput", "╭─ Latency", "╭─ Capacity", "╭─ Resources", "╭─ Endpoints", "╭─ Journal")
        captured.append(later_than(screen, settled_s(screen.text())))
        screen.press("m")
        screen.shows("level 1,", "new level at the same count")

        screen.press("Space")
        began_s = settled_s(screen.shows(" PAUSED"))
        held = later_than(screen, began_s)  # the load goes on, and so does the status
        panes = later_than(screen, settled_s(held)).split("\n")[4:-2]
        assert panes == held.split("\n")[4:-2]
        screen.press("Space")
        screen.once(lambda text: " PAUSED" not in text and text.split("\n")[4:-2] != panes, "panes that go on")

        screen.press("t")
        screen.shows("Restart actor", "delay_ms")
        screen.press("Tab")
        screen.press("BSpace")
        screen.once(lambda text: re.search(r"delay_ms +│", text), "an empty field")
        screen.press("7")
        screen.once(lambda text: re.search(r"delay_ms +7 ", text), "the new value")
        screen.press("Enter")
        screen.shows("epoch 1", "level 2, settled ")
        screen.resize(80, 24)
        screen.shows("1 req/s", "epoch 1", "q quit")
        screen.press("C-c")
        screen.shows("Quit?")
        screen.press("y")
        assert screen.exit_code() == 0
    return screen, captured


def test_every_figure_on_the_screen_is_that_of_the_log(toured: tuple[Screen, list[str]]) -> None:
    screen, captured = toured
    moments = at_each_second(screen.events())
    assert len(captured) == 3
    for text in captured:
        assert LEGEND.search(text) or ENDPOINT.search(text), text
        first = FIRST.search(text)
        assert first and (first["profile"], first["target"], first["users"]) == ("actor", "ready", "2")
        # the screen may be caught between two samples: the status then is one ahead of the panes
        near = [moment for moment in moments if moment.last and abs(int(moment.last.t_s) - seconds(first["clock"])) <= 1]
        assert any(agrees(text, moment) for moment in near), text


def test_a_new_level_and_a_restart_with_another_parameter_are_in_the_session(toured: tuple[Screen, list[str]]) -> None:
    events = toured[0].events()
    assert [(level.users, level.epoch) for level in of(events, LevelOpened)] == [(2, 0), (2, 0), (2, 1)]
    states = [(target.state, target.epoch) for target in of(events, Target)]
    assert states == [
        ("starting", 0), ("ready", 0), ("stopping", 1), ("starting", 1), ("ready", 1), ("stopping", 1), ("stopped", 1),
    ]  # fmt: skip
    assert [target.params for target in of(events, Target) if target.state == "ready"][-1] == {"act": "serves", "delay_ms": 7}
    levels = export(toured[0].sessions)["levels"]
    assert [(level["epoch"], level["settled"]) for level in levels] == [(0, True), (0, True), (1, True)]
