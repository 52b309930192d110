"""Ablation moves a number wherever it is read, and puts it back."""

from __future__ import annotations

from functools import cache

from capexplorer.analysis.epoch import neighbours
from capexplorer.analysis.statistics import FULL
from lab import ablation
from lab.ablation import Known, constants, known, moved, recorded, tried


@cache
def sample() -> Known:
    return known(next(case for case in recorded() if case.name == "recording rate-limit-that-delays"))


@cache
def every_constant() -> list[ablation.Constant]:
    return constants()


def full() -> ablation.Constant:
    return next(each for each in every_constant() if each.name == "FULL")


def test_a_number_is_known_with_its_uses_and_with_the_modules_that_imported_it() -> None:
    found = full()
    assert (found.module, found.value) == ("capexplorer.analysis.statistics", FULL)
    assert (neighbours.__name__, "FULL") in found.at
    assert any(file == neighbours.__file__ for file, _ in found.used)


def test_a_number_that_is_moved_changes_verdicts_and_is_then_as_before() -> None:
    row = tried(full(), [sample()])
    assert row.reached == 1
    assert row.moves["off low"].kinds
    assert vars(neighbours)["FULL"] == FULL
    assert not {*row.moves} - set(ablation.MOVES)


def test_a_number_that_no_called_function_names_is_not_tried() -> None:
    unreached = next(each for each in every_constant() if each.name == "USUAL_PORTS" or each.module.endswith("host_checks"))
    assert tried(unreached, [sample()]).reached == 0


def test_whole_numbers_move_by_at_least_one() -> None:
    assert [moved(3, move) for move in ablation.MOVES] == [0, 10**9, 2, 4]
    assert [moved(0.5, move) for move in ablation.MOVES] == [0.0, 1e9, 0.35, 0.65]
