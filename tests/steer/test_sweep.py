"""The settings of a sweep: how they are typed, and in which order they are explored."""

from __future__ import annotations

import pytest

from capexplorer.errors import InputError
from capexplorer.model.events import Sweep
from capexplorer.model.sweep import Params, SettingResult
from capexplorer.steer.sweep import most_telling_first, parse, to_explore


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        (["threads=1,2"], [{"threads": "1"}, {"threads": "2"}]),
        (["threads = 1, 2 "], [{"threads": "1"}, {"threads": "2"}]),
        (["threads=2..4,8"], [{"threads": "2"}, {"threads": "3"}, {"threads": "4"}, {"threads": "8"}]),
        (["threads=1,2", "store=a"], [{"threads": "1", "store": "a"}, {"threads": "2", "store": "a"}]),
        (["a=1,2", "b=x,y"], [{"a": "1", "b": "x"}, {"a": "1", "b": "y"}, {"a": "2", "b": "x"}, {"a": "2", "b": "y"}]),
        (["ratio=0.5,1.5"], [{"ratio": "0.5"}, {"ratio": "1.5"}]),
    ],
)
def test_several_parameters_give_all_combinations_the_last_changing_fastest(
    given: list[str], settings: list[dict[str, str]]
) -> None:
    assert parse(given, "--set") == settings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["threads"], "expected NAME=VALUE"),
        (["=1,2"], "expected NAME=VALUE"),
        (["threads=1,,2"], "expected NAME=VALUE"),
        (["threads=1,2,1"], "each of its values once"),
        (["threads=1", "threads=2"], "expected each parameter"),
        (["threads=8..1"], "ascending"),
        (["threads=1..1000"], "at most 64"),
        (["a=1..64", "b=1,2"], "at most 64 settings in all, got 128"),
    ],
)
def test_settings_that_cannot_be_a_sweep_are_refused(given: list[str], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        parse(given, "--set")


@pytest.mark.parametrize(("count", "order"), [(1, [0]), (2, [0, 1]), (3, [0, 2, 1]), (4, [0, 3, 1, 2]), (5, [0, 4, 2, 1, 3])])
def test_the_ends_of_the_range_are_explored_first_and_then_between(count: int, order: list[int]) -> None:
    assert most_telling_first(range(count)) == order


def test_what_an_earlier_sweep_has_is_not_explored_again() -> None:
    settings: tuple[Params, ...] = ({"threads": 1}, {"threads": 2}, {"threads": 4}, {"threads": 8})
    known = SettingResult(params={"threads": 8}, session="a", epoch=1)
    assert to_explore(Sweep(t_s=0.0, settings=settings, earlier=(known,))) == [{"threads": 1}, {"threads": 2}, {"threads": 4}]
