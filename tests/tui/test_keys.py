"""Bindings, key bar and help agree with the one table of keys."""

from __future__ import annotations

from collections import Counter

import pytest

from capexplorer.tui.actions.steering import LiveRunActions
from capexplorer.tui.actions.watching import ViewOnlyActions
from capexplorer.tui.keybar import Performs, bindings, key_bar, performs, rows
from capexplorer.tui.keys import ScreenName, keys_of

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


def nothing() -> None:
    """What a key does here."""


NAMES = {key.name: nothing for key in keys_of("picker") if key.name}


@pytest.mark.parametrize(
    ("parts", "wrong"),
    [
        ([{name: nothing for name in NAMES if name != "sort"}], "sort"),
        ([NAMES, {"mark": nothing}], "mark"),
        ([NAMES, {"no_such_key": nothing}], "no_such_key"),
    ],
    ids=["a key that no part performs", "a key that two parts perform", "a name without a key"],
)
def test_a_screen_does_not_start_with_a_wrong_name(parts: list[Performs], wrong: str) -> None:
    assert performs(("picker",), NAMES).keys() == NAMES.keys()
    with pytest.raises(ValueError, match=f": {wrong}$"):
        performs(("picker",), *parts)


def test_a_screen_that_only_watches_has_the_keys_of_the_live_screen() -> None:
    assert ViewOnlyActions.keys == LiveRunActions.keys == "live"
