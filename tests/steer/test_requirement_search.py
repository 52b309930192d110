"""The order of questions that decides what is required of a service."""

from __future__ import annotations

from msgspec.structs import replace

from capexplorer.model.load import Rate, Users
from capexplorer.model.requirements import (
    Answer,
    CapacityRequired,
    FailuresRequired,
    KneeAnswer,
    KneeRequired,
    LoadRequirement,
    PercentileRequired,
    Requirement,
    State,
    unanswered,
)
from capexplorer.steer.requirement_search import SEARCHES_MOST, Finished, RequirementSearch, Seek, Visit

AT_50, AT_8, AT_80_PER_S = (PercentileRequired(95.0, 300.0, load) for load in (Users(50), Users(8), Rate(80.0)))
FAILURES_AT_8 = FailuresRequired(0.001, Users(8))
ALL: tuple[Requirement, ...] = (CapacityRequired(100.0), AT_80_PER_S, AT_50, KneeRequired(40.0), AT_8, FAILURES_AT_8)


def visit(required: LoadRequirement) -> Visit:
    return Visit(required.load, required)


def answers(asked: tuple[Requirement, ...], *decided: Requirement, state: State = "met") -> tuple[Answer, ...]:
    return tuple(replace(unanswered(each), state=state if each in decided else "undecided") for each in asked)


def test_loads_come_first_from_low_to_high_then_the_searches() -> None:
    search, decided, order = RequirementSearch(300.0), list[Requirement](), []
    for now_s, also in enumerate((None, AT_8, FAILURES_AT_8, AT_50, AT_80_PER_S, KneeRequired(40.0), CapacityRequired(100.0))):
        decided += [also] if also is not None else []
        order.append(search.due(answers(ALL, *decided), float(now_s)))
    assert order == [
        visit(AT_8), visit(FAILURES_AT_8), visit(AT_50), visit(AT_80_PER_S), Seek("knee"), Seek("capacity"),
        Finished("decided"),
    ]  # fmt: skip


def test_what_is_not_met_is_decided_as_well() -> None:
    assert RequirementSearch(300.0).due(answers((AT_8,), AT_8, state="not_met"), 0.0) == Finished("decided")


def test_each_question_has_an_equal_share_of_what_is_left_and_is_asked_again() -> None:
    search, asked = RequirementSearch(90.0), answers((AT_8, AT_50, CapacityRequired(9.0)))
    due = [search.due(asked, float(now_s)) for now_s in range(91)]
    assert due == [*[visit(AT_8)] * 30, *[visit(AT_50)] * 30, *[Seek("capacity")] * 30, Finished("within")]
    early = RequirementSearch(90.0)
    early.due(asked, 0.0)
    later = answers((AT_8, AT_50, CapacityRequired(9.0)), AT_8)
    assert [early.due(later, 10.0), early.due(later, 49.0), early.due(later, 50.0)] == [
        visit(AT_50), visit(AT_50), Seek("capacity"),
    ]  # fmt: skip
    early.searched()
    assert early.due(later, 60.0) == visit(AT_50), "the search has ended before its time: the other one goes on"


def test_a_question_that_is_asked_alone_has_all_the_time() -> None:
    search = RequirementSearch(60.0)
    assert {repr(search.due(answers((AT_8,)), float(now_s))) for now_s in range(60)} == {repr(visit(AT_8))}
    assert search.due(answers((AT_8,)), 60.0) == Finished("within")


def test_a_question_that_opens_again_is_asked_again() -> None:
    search = RequirementSearch(60.0)
    search.due(answers((AT_8, AT_50)), 0.0)
    assert search.due(answers((AT_8, AT_50), AT_8), 5.0) == visit(AT_50)
    assert search.due(answers((AT_8, AT_50), AT_50), 9.0) == visit(AT_8)


def test_one_that_is_asked_while_the_run_goes_on_is_asked_after_those_before_it() -> None:
    search = RequirementSearch(60.0)
    search.due(answers((AT_50,)), 0.0)
    assert search.due(answers((AT_50, AT_8)), 5.0) == visit(AT_50)
    assert search.due(answers((AT_50, AT_8), AT_50), 9.0) == visit(AT_8)


def test_a_search_for_the_capacity_that_decides_nothing_is_repeated_but_not_for_ever() -> None:
    search, asked = RequirementSearch(3_000.0), answers((CapacityRequired(40.0),))
    for ended in range(SEARCHES_MOST):
        assert search.due(asked, 10.0 * ended) == Seek("capacity")
        search.searched()
    assert search.due(asked, 100.0) == Finished("searched")


def test_after_a_search_that_found_a_knee_near_the_bound_loads_below_and_above_it_are_held_in_turn() -> None:
    required, search = KneeRequired(40.0), RequirementSearch(300.0)
    near = (KneeAnswer(required=required, users=38.0, low_users=35.0, high_users=42.0),)
    assert search.due(near, 0.0) == Seek("knee")
    search.searched()
    loads = [search.due(near, 90.0 + second) for second in range(210)]
    assert set(map(repr, loads[:44] + loads[90:134])) == {repr(Visit(Users(20), required))}
    assert set(map(repr, loads[45:89])) == {repr(Visit(Users(60), required))}
    assert search.due(near, 300.0) == Finished("within")


def test_a_search_that_found_no_knee_has_no_more_to_show() -> None:
    search, asked = RequirementSearch(300.0), answers((KneeRequired(40.0),))
    search.due(asked, 0.0)
    search.searched()
    assert search.due(asked, 30.0) == Finished("searched")
