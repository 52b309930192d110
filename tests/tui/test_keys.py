"""One table of keys: bindings, key bar, help, palette and README say the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from textual.actions import parse
from textual.binding import Binding

from capexplorer.tui.actions.steering import Steer
from capexplorer.tui.actions.transport import Transport
from capexplorer.tui.actions.watching import Watch
from capexplorer.tui.key import ScreenName
from capexplorer.tui.keybar import bindings, key_bar, markdown, rows
from capexplorer.tui.keys import keys_of
from capexplorer.tui.screens.arrangement import Arrangement
from capexplorer.tui.screens.baseline_choice import BaselineChoice
from capexplorer.tui.screens.detail_screens import DetailScreens
from capexplorer.tui.screens.explorer import ExplorerScreen
from capexplorer.tui.screens.exporting import Exporting
from capexplorer.tui.screens.inspecting import Inspecting
from capexplorer.tui.screens.picker import Picker
from capexplorer.tui.screens.view_options import ViewOptions

README = Path(__file__).parents[2] / "README.md"
SCREENS: tuple[ScreenName, ...] = ("live", "replay", "inspect", "picker")
WORDS = {"play": "pause", "open": "replays", "other": "sessions"}


@pytest.mark.parametrize("screen", SCREENS)
def test_the_readme_has_the_table_of_keys(screen: ScreenName) -> None:
    assert markdown(screen) in README.read_text("utf-8"), f"the README should have:\n{markdown(screen)}"


@pytest.mark.parametrize(
    ("width", "shown"),
    [(79, "+/- [ ] g x a i ? q"), (119, "+/- [ ] g u x a p i f e y ? q")],
)
def test_the_key_bar_of_the_live_screen_has_the_most_useful_keys(width: int, shown: str) -> None:
    bar = key_bar("live", width)
    assert len(bar) <= width
    found = [word for word in bar.split() if len(word) == 1 or word == "+/-"]
    assert " ".join(found) == shown


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("width", range(77, 260))
def test_a_key_bar_fits_and_names_help_and_quit(screen: ScreenName, width: int) -> None:
    bar = key_bar(screen, width, **WORDS)
    assert len(bar) <= width
    assert bar.endswith("? help  q quit")


@pytest.mark.parametrize("screen", SCREENS)
def test_no_key_does_two_things_and_each_has_a_help_row(screen: ScreenName) -> None:
    assert [key for key, count in Counter(binding.key for binding in bindings(screen)).items() if count > 1] == []
    helped = {shown for shown, _ in rows(screen)}
    assert all(key.shown in helped and key.help for key in keys_of(screen) if key.bar)


def test_every_binding_of_the_picker_is_in_the_table_and_does_something() -> None:
    assert bound(Picker) == {(binding.key, binding.action) for binding in bindings("picker")}
    assert [name for name in action_names("picker") if not hasattr(Picker, f"action_{name}")] == []


def test_every_binding_of_the_explorer_screen_is_in_the_table() -> None:
    performed = {(key, *parse(action)) for key, action in bound(ExplorerScreen)}
    charts: tuple[ScreenName, ...] = ("inspect", "live", "replay")
    assert performed == {
        (binding.key, "", "perform", (screen, binding.action)) for screen in charts for binding in bindings(screen)
    }


@pytest.mark.parametrize("actions", [Steer, Transport])
def test_every_key_of_the_explorer_screen_is_done_by_one_of_its_parts(actions: type[Steer] | type[Transport]) -> None:
    parts = (ExplorerScreen, Arrangement, Inspecting, BaselineChoice, ViewOptions, Exporting, DetailScreens, actions)
    able = {
        name: [part for part in parts if hasattr(part, f"action_{name}")]
        for name in action_names(actions.keys) | action_names("inspect")
    }
    assert {name: found for name, found in able.items() if len(found) != 1} == {}


def test_every_key_of_a_screen_that_only_watches_is_one_of_the_live_screen() -> None:
    assert Watch.keys == Steer.keys == "live"


def bound(screen: type[ExplorerScreen] | type[Picker]) -> set[tuple[str, str]]:
    assert all(isinstance(binding, Binding) for binding in screen.BINDINGS)
    return {(binding.key, binding.action) for binding in screen.BINDINGS if isinstance(binding, Binding)}


def action_names(screen: ScreenName) -> set[str]:
    """Of the actions that the screen itself does."""
    names = {key.action.partition("(")[0] for key in keys_of(screen) if key.action}
    return {name for name in names if not name.startswith("app.")}
