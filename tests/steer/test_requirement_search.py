"""The order of questions that decides what is required of a service."""

from __future__ import annotations

from msgspec.structs import replace

from capexplorer.model.load import Rate, Users
from capexplorer.model.requirements import (
    Answer,
    CapacityRequired,
    FailuresRequired,
    KneeRequired,
    PercentileRequired,
    Requirement,
    State,
    unanswered,
)
from capexplorer.steer.requirement_search import SEARCHES_MOST, Finished, RequirementSearch, Seek, Visit

AT_50, AT_8, AT_80_PER_S = (PercentileRequired(95.0, 300.0, load) for load in (Users(50), Users(8), Rate(80.0)))
FAILURES_AT_8 = FailuresRequired(0.001, Users(8))
ALL: tuple[Requirement, ...] = (CapacityRequired(100.0), AT_80_PER_S, AT_50, KneeRequired(40.0), AT_8, FAILURES_AT_8)


def answers(asked: tuple[Requirement, ...], *decided: Requirement, state: State = "met") -> tuple[Answer, ...]:
    return tuple(replace(unanswered(each), state=state if each in decided else "undecided") for each in asked)


def test_loads_come_first_from_low_to_high_then_the_searches() -> None:
    search, decided, order = RequirementSearch(300.0), list[Requirement](), []
    for now_s, also in enumerate((None, AT_8, FAILURES_AT_8, AT_50, AT_80_PER_S, KneeRequired(40.0), CapacityRequired(100.0))):
        decided += [also] if also is not None else []
        order.append(search.due(answers(ALL, *decided), float(now_s)))
    assert order == [
        Visit(Users(8)), Visit(Users(8)), Visit(Users(50)), Visit(Rate(80.0)), Seek("knee"), Seek("capacity"),
        Finished("decided"),
    ]  # fmt: skip


def test_what_is_not_met_is_decided_as_well() -> None:
    assert RequirementSearch(300.0).due(answers((AT_8,), AT_8, state="not_met"), 0.0) == Finished("decided")


def test_each_question_has_an_equal_share_of_what_is_left_and_is_asked_again() -> None:
    search, asked = RequirementSearch(90.0), answers((AT_8, AT_50, CapacityRequired(9.0)))
    due = [search.due(asked, float(now_s)) for now_s in range(91)]
    assert due == [*[Visit(Users(8))] * 30, *[Visit(Users(50))] * 30, *[Seek("capacity")] * 30, Finished("within")]
    early = RequirementSearch(90.0)
    early.due(asked, 0.0)
    later = answers((AT_8, AT_50, CapacityRequired(9.0)), AT_8)
    assert [early.due(later, 10.0), early.due(later, 49.0), early.due(later, 50.0)] == [
        Visit(Users(50)), Visit(Users(50)), Seek("capacity"),
    ]  # fmt: skip
    early.searched()
    assert early.due(later, 60.0) == Visit(Users(50)), "the search has ended before its time: the other one goes on"


def test_a_question_that_is_asked_alone_has_all_the_time() -> None:
    search = RequirementSearch(60.0)
    assert {repr(search.due(answers((AT_8,)), float(now_s))) for now_s in range(60)} == {repr(Visit(Users(8)))}
    assert search.due(answers((AT_8,)), 60.0) == Finished("within")


def test_a_question_that_opens_again_is_asked_again() -> None:
    search = RequirementSearch(60.0)
    search.due(answers((AT_8, AT_50)), 0.0)
    assert search.due(answers((AT_8, AT_50), AT_8), 5.0) == Visit(Users(50))
    assert search.due(answers((AT_8, AT_50), AT_50), 9.0) == Visit(Users(8))


def test_one_that_is_asked_while_the_run_goes_on_is_asked_after_those_before_it() -> None:
    search = RequirementSearch(60.0)
    search.due(answers((AT_50,)), 0.0)
    assert search.due(answers((AT_50, AT_8)), 5.0) == Visit(Users(50))
    assert search.due(answers((AT_50, AT_8), AT_50), 9.0) == Visit(Users(8))


def test_searches_that_decide_nothing_are_repeated_but_not_for_ever() -> None:
    search, asked = RequirementSearch(3_000.0), answers((KneeRequired(40.0),))
    for ended in range(SEARCHES_MOST):
        assert search.due(asked, 10.0 * ended) == Seek("knee")
        search.searched()
    assert search.due(asked, 100.0) == Finished("searched")
