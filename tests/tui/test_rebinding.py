"""Keys of the user's own: bindings, key bar and help follow, and a key that is taken is refused in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from capexplorer.configuration import Configuration
from capexplorer.errors import InputError
from capexplorer.tui.actions.watching import Watch
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.key import ScreenName
from capexplorer.tui.keybar import key_bar, rows
from capexplorer.tui.keys import keys_of
from capexplorer.tui.live_feed import LiveFeed
from capexplorer.tui.preferences import Preferences, preferences_of
from capexplorer.tui.rebinding import keymap, rebound

from .fake_source import FakeSource


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("screen", ["live", "replay", "inspect", "picker"])
def test_every_key_that_can_be_rebound_has_a_unique_name(screen: ScreenName) -> None:
    names = Counter(key.name for key in keys_of(screen) if key.can_be_rebound)
    assert [name for name, count in names.items() if count > 1 or not name.isidentifier()] == []


def test_the_bar_the_help_and_the_bindings_show_the_new_keys() -> None:
    table = rebound(
        {"autopilot": "A", "go": "ctrl+g", "more_users": ["k", "+"], "quit": "X", "next_level": "left", "back": "up"}, "x"
    )
    assert keymap(table, "live") == {
        "live.autopilot": "A",
        "live.go": "ctrl+g",
        "live.more_users": "k,plus",
        "live.quit": "X",
    }
    bar = key_bar("live", 400, table)
    assert "A autopilot" in bar
    assert "Ctrl+G go" in bar
    assert "k load" in bar
    assert bar.endswith("X quit")
    shown = dict((help_, keys) for keys, help_ in rows("live", table))
    assert shown["add one step of users, or of the offered rate"] == "k +"
    assert [keys for keys, help_ in rows("replay", table) if help_ in ("go to the next level", "go 10 s back", "quit")] == [
        "↑",
        "←",
        "X Ctrl+C",
    ]


REFUSED = {
    "an unknown action": ({"autopilt": "A"}, "keys.autopilt`; did you mean `autopilot`?"),
    "keys that stand for numbers": ({"pane": "A"}, "unknown key `keys.pane`"),
    "a key that is taken": (
        {"autopilot": "x"},
        "keys.autopilot: expected a free key: `x` is the key of `zero` on the live screen",
    ),
    "a key of another new one": (
        {"autopilot": "A", "verify": "A"},
        "keys.verify: expected a free key: `A` is the key of `autopilot`",
    ),
    "a key that is taken on one of two screens": ({"window": "n"}, "keys.window: expected a free key: `n` is the key of `note`"),
    "a key of all screens": ({"zero": "ctrl+c"}, "keys.zero: expected another key: ctrl+c has the same meaning on all screens"),
    "no key": (
        {"zero": "hyper+x"},
        "keys.zero: expected one character, or a name such as ctrl+k, f5, left or space, got 'hyper+x'",
    ),
    "a capital by its name": ({"zero": "shift+a"}, "keys.zero: expected one character"),
}


@pytest.mark.parametrize(("wanted", "message"), REFUSED.values(), ids=REFUSED)
def test_a_key_that_cannot_be_is_refused_in_one_line(wanted: dict[str, str | Sequence[str]], message: str) -> None:
    with pytest.raises(InputError) as refused:
        rebound(wanted, "config.toml")
    assert str(refused.value).startswith("config.toml: ") and message in str(refused.value)


def test_two_actions_may_change_their_keys() -> None:
    table = rebound({"autopilot": "g", "go": "a"}, "config.toml")
    assert {key.name: key.keys for key in keys_of("live", table) if key.name in ("autopilot", "go")} == {
        "autopilot": "g",
        "go": "a",
    }


def test_an_unknown_theme_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"config\.toml: theme: no theme `norrd`; did you mean `nord`\?"):
        preferences_of(Configuration(theme="norrd"), "config.toml")


@pytest.mark.anyio
async def test_pressed_keys_chosen_themes_and_the_window_follow_the_habits() -> None:
    kept: list[str] = []
    preferences = Preferences(
        theme="nord", window_s=60.0, markers="ascii", keys=rebound({"log": "l", "logarithmic": "o"}, "x"), keep_theme=kept.append
    )
    app = ExplorerApp(LiveFeed(FakeSource()), Watch(None), preferences=preferences)
    async with app.run_test(size=(100, 30)) as pilot:
        assert (app.theme, app.explorer.inspecting.time.length_s, app.explorer.palette.markers) == ("nord", 60.0, "ascii")
        await pilot.press("o")
        assert app.explorer.options.log_latency and app.explorer.arrangement.shown == 0
        await pilot.press("l")
        assert app.explorer.arrangement.shown == 7
        app.theme = "dracula"
        await pilot.pause()
        assert kept == ["dracula"]


@pytest.mark.anyio
async def test_a_picture_of_the_screen_is_saved_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = ExplorerApp(LiveFeed(FakeSource()), Watch(None))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("P")
        await pilot.pause()
    [picture] = tmp_path.iterdir()
    assert picture.name.startswith("capexplorer-") and picture.suffix == ".svg"
    assert "Throughput" in picture.read_text("utf-8")
