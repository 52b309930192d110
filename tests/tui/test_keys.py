"""Bindings, key bar and help agree with the one table of keys."""

from __future__ import annotations

from collections import Counter

import pytest
from textual.actions import parse
from textual.binding import Binding

from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.actions.transport import Transport
from capexplorer.tui.actions.view_only import ViewOnlyActions
from capexplorer.tui.keybar import bindings, key_bar, rows
from capexplorer.tui.keys import ScreenName, keys_of
from capexplorer.tui.screens.arrangement import Arrangement
from capexplorer.tui.screens.baseline_choice import BaselineChoice
from capexplorer.tui.screens.detail_screens import DetailScreens
from capexplorer.tui.screens.explorer import ExplorerScreen
from capexplorer.tui.screens.inspecting import Inspecting
from capexplorer.tui.screens.picker import Picker
from capexplorer.tui.screens.view_options import Exporting, ViewOptions

SCREENS: tuple[ScreenName, ...] = ("live", "replay", "inspect", "picker")
WORDS = {"play": "pause", "open": "replays", "other": "sessions", "leave": "quit"}
"""Words that the key bar takes from the state of the screen, each by its name in the table of keys, e.g. `{play}`."""


@pytest.mark.parametrize(
    ("width", "keys"),
    [(79, "+/- [ ] g x a i ? q"), (119, "+/- [ ] g u x a p i f e y ? q")],
)
def test_the_key_bar_of_the_live_screen_has_the_keys_that_fit_by_importance(width: int, keys: str) -> None:
    bar = key_bar("live", width, **WORDS)
    assert len(bar) <= width
    keys_in_bar = [word for word in bar.split() if len(word) == 1 or word == "+/-"]
    assert " ".join(keys_in_bar) == keys


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("width", range(77, 260))
def test_a_key_bar_fits_its_width_and_ends_with_help_and_quit(screen: ScreenName, width: int) -> None:
    bar = key_bar(screen, width, **WORDS)
    assert len(bar) <= width
    assert bar.endswith("? help  q quit")


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_has_two_bindings(screen: ScreenName) -> None:
    assert [key for key, count in Counter(binding.key for binding in bindings(screen)).items() if count > 1] == []


@pytest.mark.parametrize("screen", SCREENS)
def test_every_key_of_the_key_bar_is_explained_in_the_help(screen: ScreenName) -> None:
    explained = {shown for shown, _ in rows(screen)}
    assert [key.shown for key in keys_of(screen) if key.bar and (key.shown not in explained or not key.help)] == []


def test_every_binding_of_the_picker_is_in_the_table_and_has_an_action() -> None:
    assert key_actions(Picker) == {(binding.key, binding.action) for binding in bindings("picker")}
    assert [name for name in action_names("picker") if not hasattr(Picker, f"action_{name}")] == []


def test_every_binding_of_the_explorer_screen_is_in_the_table() -> None:
    bound = {(key, *parse(action)) for key, action in key_actions(ExplorerScreen)}
    tables: tuple[ScreenName, ...] = ("inspect", "live", "replay")
    assert bound == {(binding.key, "", "perform", (screen, binding.action)) for screen in tables for binding in bindings(screen)}


@pytest.mark.parametrize("actions", [LiveRunActions, Transport])
def test_every_action_of_the_explorer_screen_is_defined_by_exactly_one_of_its_parts(
    actions: type[LiveRunActions] | type[Transport],
) -> None:
    parts = (ExplorerScreen, Arrangement, Inspecting, BaselineChoice, ViewOptions, Exporting, DetailScreens, actions)
    defined_by = {
        name: [part for part in parts if hasattr(part, f"action_{name}")]
        for name in action_names(actions.keys) | action_names("inspect")
    }
    assert {name: found for name, found in defined_by.items() if len(found) != 1} == {}


def test_a_screen_that_only_watches_has_the_keys_of_the_live_screen() -> None:
    assert ViewOnlyActions.keys == LiveRunActions.keys == "live"


def key_actions(screen: type[ExplorerScreen] | type[Picker]) -> set[tuple[str, str]]:
    """(key, action) of each binding of a screen."""
    assert all(isinstance(binding, Binding) for binding in screen.BINDINGS)
    return {(binding.key, binding.action) for binding in screen.BINDINGS if isinstance(binding, Binding)}


def action_names(screen: ScreenName) -> set[str]:
    """Names of the actions of a screen's keys, without those of the application."""
    names = {key.action.partition("(")[0] for key in keys_of(screen) if key.action}
    return {name for name in names if not name.startswith("app.")}
