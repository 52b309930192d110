"""One table of keys: bindings, key bar, help, palette and README say the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from textual.binding import Binding

from capexplorer.tui.keybar import bindings, key_bar, markdown, rows
from capexplorer.tui.keys import ScreenName, keys_of
from capexplorer.tui.screens.live import LiveScreen
from capexplorer.tui.screens.picker import Picker
from capexplorer.tui.screens.replay import ReplayScreen

README = Path(__file__).parents[2] / "README.md"
SCREENS: tuple[ScreenName, ...] = ("live", "replay", "picker")
WORDS = {"play": "pause", "open": "replays", "other": "sessions"}


@pytest.mark.parametrize("screen", SCREENS)
def test_the_readme_has_the_table_as_it_is(screen: ScreenName) -> None:
    assert markdown(screen) in README.read_text("utf-8"), f"the README should have:\n{markdown(screen)}"


@pytest.mark.parametrize(
    ("width", "shown"),
    [(79, "+/- [ ] g x a f ? q"), (119, "+/- [ ] g x a p n t f e y ? q")],
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


@pytest.mark.parametrize("screen", [LiveScreen, ReplayScreen, Picker])
def test_every_binding_of_a_screen_is_in_the_table(screen: type[LiveScreen] | type[ReplayScreen] | type[Picker]) -> None:
    name: ScreenName = screen.NAME
    table = {(binding.key, binding.action) for binding in bindings(name)}
    assert {(binding.key, binding.action) for binding in screen.BINDINGS if isinstance(binding, Binding)} == table
    assert all(isinstance(binding, Binding) for binding in screen.BINDINGS)
    actions = {action.partition("(")[0] for _, action in table if not action.startswith("app.")}
    assert [action for action in actions if not hasattr(screen, f"action_{action}")] == []
