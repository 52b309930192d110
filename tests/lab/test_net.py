"""The net: a case is judged alike each time, and each change of a verdict is reported by its kind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lab.net import Frozen, differences, frozen, report

BEFORE = Frozen(
    case="moving 1 still 750001",
    verdict="Knee at 20 users",
    stated={"knees": [{"kind": "knee", "users": 20.0}]},
    marks={"knee": 1},
    summary="a",
    log="b",
)


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("kind", {"stated": {"knees": [{"kind": "bend", "users": 20.0}]}}),
        ("kind", {"stated": {}}),
        ("value", {"stated": {"knees": [{"kind": "knee", "users": 21.0}]}}),
        ("marks", {"marks": {"knee": 1, "shift": 1}}),
        ("sentence", {"verdict": "The knee is at 20 users"}),
        ("summary", {"summary": "c"}),
        ("log", {"log": "c"}),
    ],
)
def test_a_change_is_reported_by_the_first_kind_that_applies(kind: str, changed: dict[str, Any]) -> None:
    after = msgspec.structs.replace(BEFORE, **changed)
    assert [(found, case) for found, case, _ in differences([BEFORE], [after])] == [(kind, BEFORE.case)]


def test_cases_that_only_one_side_has_are_gone_or_new() -> None:
    other = msgspec.structs.replace(BEFORE, case="moving 2 still 750002")
    assert [kind for kind, _, _ in differences([BEFORE], [other])] == ["gone", "new"]


def test_a_change_is_an_error_for_the_shell_and_equal_files_are_none() -> None:
    after = msgspec.structs.replace(BEFORE, log="c")
    assert (report([BEFORE], [BEFORE]), report([BEFORE], [after])) == (0, 1)


@pytest.mark.parametrize("corpus", ["moving", "rates", "ladders"])
def test_a_case_is_judged_alike_each_time(corpus: str) -> None:
    assert frozen(corpus, 3) == frozen(corpus, 3)
