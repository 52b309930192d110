"""Preferences of the user: keys that replace the default ones everywhere or are refused in one line; theme, window, markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from textual.keys import KEY_NAME_REPLACEMENTS, _character_to_key
from textual.theme import BUILTIN_THEMES

from capexplorer.configuration import Theme
from capexplorer.errors import InputError
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.app import ExplorerApp
from capexplorer.tui.base_app import OURS
from capexplorer.tui.feed import LiveFeed
from capexplorer.tui.keybar import key_bar, rows
from capexplorer.tui.keys import REPLACED, ScreenName, character_of, keys_of, name_of
from capexplorer.tui.preferences import Preferences, keymap, rebound
from capexplorer.tui.screens.arrangement import LOG

from .fake_source import FakeSource


@pytest.mark.parametrize("screen", ["live", "replay", "inspect", "picker"])
def test_every_key_that_can_be_rebound_has_a_unique_name(screen: ScreenName) -> None:
    names = Counter(key.name for key in keys_of(screen) if key.can_be_rebound)
    assert [name for name, count in names.items() if count > 1 or not name.isidentifier()] == []


def test_key_bar_help_and_bindings_have_the_new_keys() -> None:
    file = "config.toml"
    table = rebound(
        {"autopilot": "A", "go": "ctrl+g", "more_users": ["k", "+"], "quit": "X", "next_level": "left", "back": "up"}, file
    )
    assert keymap(table, "live") == {
        "live.autopilot": "A",
        "live.go": "ctrl+g",
        "live.more_users": "k,plus",
        "live.quit": "X",
    }
    bar = key_bar("live", 400, table, leave="quit")
    assert "A autopilot" in bar
    assert "Ctrl+G go" in bar
    assert "k load" in bar
    assert bar.endswith("X quit")
    keys_of_live = {help_text: keys for keys, help_text in rows("live", table)}
    assert keys_of_live["add one step of users, or of the offered rate"] == "k +"
    keys_of_replay = {help_text: keys for keys, help_text in rows("replay", table)}
    assert keys_of_replay["go 10 s back"] == "↑"
    assert keys_of_replay["go to the next level"] == "←"
    assert keys_of_replay["leave a pane that fills the screen, else quit"] == "X Ctrl+C"


REFUSED = {
    "an unknown action": ({"autopilt": "A"}, "keys.autopilt`; did you mean `autopilot`?"),
    "the digits of the panes": ({"pane": "A"}, "unknown key `keys.pane`"),
    "a key that is taken": (
        {"autopilot": "x"},
        "keys.autopilot: expected a free key: `x` is the key of `zero` on the live screen",
    ),
    "one new key for two actions": (
        {"autopilot": "A", "verify": "A"},
        "keys.verify: expected a free key: `A` is the key of `autopilot`",
    ),
    "a key that is taken on one of two screens": ({"window": "n"}, "keys.window: expected a free key: `n` is the key of `note`"),
    "a key of all screens": ({"zero": "ctrl+c"}, "keys.zero: expected another key: ctrl+c has the same meaning on all screens"),
    "a text that is not a key": (
        {"zero": "hyper+x"},
        "keys.zero: expected one character, or a name such as ctrl+k, f5, left or space, got 'hyper+x'",
    ),
    "a capital letter written with shift": ({"zero": "shift+a"}, "keys.zero: expected one character"),
}


@pytest.mark.parametrize(("wanted", "message"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_key_is_refused_in_one_line(wanted: dict[str, str | Sequence[str]], message: str) -> None:
    with pytest.raises(InputError) as refused:
        rebound(wanted, "config.toml")
    assert str(refused.value).startswith("config.toml: ")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_actions_may_exchange_their_keys() -> None:
    table = rebound({"autopilot": "g", "go": "a"}, "config.toml")
    assert {key.name: key.keys for key in keys_of("live", table) if key.name in ("autopilot", "go")} == {
        "autopilot": "g",
        "go": "a",
    }


def test_the_themes_of_the_configuration_are_those_that_a_screen_has() -> None:
    assert set(get_args(Theme)) == {*(theme.name for theme in OURS), *BUILTIN_THEMES}


def test_keys_have_the_names_that_textual_gives_them() -> None:
    assert REPLACED == KEY_NAME_REPLACEMENTS
    typed = [chr(code) for code in range(ord("!"), 0x250) if chr(code).isprintable()]
    assert [each for each in typed if name_of(each) != _character_to_key(each)] == []
    assert [each for each in map(chr, range(ord("!"), 0x7F)) if character_of(name_of(each)) != each] == []


async def test_the_app_uses_the_theme_window_markers_and_keys_of_the_preferences_and_keeps_a_new_theme() -> None:
    kept_themes: list[str] = []
    preferences = Preferences(
        theme="nord",
        window_s=60.0,
        markers="ascii",
        keys=rebound({"log": "l", "logarithmic": "O"}, "config.toml"),
        keep_theme=kept_themes.append,
    )
    app = ExplorerApp(LiveFeed(FakeSource()), ViewOnlyActions(None), preferences=preferences)
    async with app.run_test(size=(100, 30)) as pilot:
        assert app.theme == "nord"
        assert app.explorer.inspecting.time.length_s == 60.0
        assert app.explorer.palette.markers == "ascii"
        await pilot.press("O")
        assert app.explorer.options.log_latency, "the new key of the logarithmic scale has no effect"
        assert app.explorer.arrangement.shown == 0
        await pilot.press("l")
        assert app.explorer.arrangement.shown == LOG, "the new key of the log pane has no effect"
        app.theme = "dracula"
        await pilot.pause()
        assert kept_themes == ["dracula"]


async def test_a_picture_of_the_screen_is_saved_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = ExplorerApp(LiveFeed(FakeSource()), ViewOnlyActions(None))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("P")
        await pilot.pause()
    [picture] = tmp_path.iterdir()
    assert picture.name.startswith("capexplorer-")
    assert picture.suffix == ".svg"
    assert "Throughput" in picture.read_text("utf-8")
