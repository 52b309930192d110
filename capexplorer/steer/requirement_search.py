"""Which load decides what is required of a service: from the answers so far to a load, or to a search. Pure: time is passed in.

Loads at which something is required come first, from low to high, those in users before offered rates; each is held until all
that is required there is decided. Then the knee and the capacity are searched for, until they are. No question may use up the
time of the others: each has an equal share of what is left, and those that are still open are asked again while there is time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from ..model.load import Load, Rate, Users
from ..model.requirements import (
    Answer,
    CapacityRequired,
    FailuresRequired,
    KneeAnswer,
    KneeRequired,
    LoadRequirement,
    PercentileRequired,
    Requirement,
)

WITHIN_S = 300.0
"""Seconds in which a run decides what is required, by default."""

SEARCHES_MOST = 3
"""Searches for the capacity of one run: each may end by its own rules before the question is decided, and its levels make the
interval of the next one narrower."""

BESIDE_KNEE, BESIDE_S = (0.5, 1.5), 45.0
"""Shares of a required knee at which the load is held in turn, and for how long, if the search found a knee and did not decide
the question. Of 6 such simulated queues, 10% below the bound, 5 were decided within five minutes; 3 at 1.5 alone, 1 at the bound.
"""


class Visit(msgspec.Struct, frozen=True):
    """Go to this load, or stay there, for what is required."""

    load: Load
    required: Requirement


class Seek(msgspec.Struct, frozen=True):
    """Search for it, or go on."""

    what: Literal["knee", "capacity"]


class Finished(msgspec.Struct, frozen=True):
    """All is decided, the time is spent, or no search has more to show."""

    why: Literal["decided", "within", "searched"]


Question = Load | Literal["knee", "capacity"]


class RequirementSearch:
    """One run's order of questions. Call `due` each second."""

    def __init__(self, within_s: float = WITHIN_S) -> None:
        self._within_s = within_s
        self._asked: Question | None = None
        self._until_s = 0.0
        """When the share of the present question is spent."""
        self._round: list[Question] = []
        """Questions that have had their share since each was asked equally often."""
        self._searches = Counter[Question]()
        """How often each search has ended by itself."""

    def due(self, answers: Sequence[Answer], passed_s: float) -> Visit | Seek | Finished:
        """What is to be done. `passed_s`: seconds since the first question."""
        still_open = [each for each in answers if each.state == "undecided"]
        questions = [each for each in _questions(still_open) if self._has_more(each, still_open)]
        if not questions or passed_s >= self._within_s:
            return Finished("decided" if not still_open else "within" if questions else "searched")
        if self._asked not in questions or passed_s >= self._until_s:
            if self._asked is not None:
                self._round.append(self._asked)
            left = [each for each in questions if each not in self._round]
            if not left:
                self._round, left = [], questions
            self._asked, self._until_s = left[0], passed_s + (self._within_s - passed_s) / len(left)
        return self._to_do(self._asked, still_open, passed_s)

    def searched(self) -> None:
        """The search has ended by its own rules."""
        if self._asked is not None:
            self._searches[self._asked] += 1
        self._until_s = 0.0

    def _has_more(self, question: Question, still_open: Sequence[Answer]) -> bool:
        match question:
            case "capacity":
                return self._searches[question] < SEARCHES_MOST
            case "knee":
                return not self._searches[question] or _knee(still_open).users is not None
        return True

    def _to_do(self, question: Question | None, still_open: Sequence[Answer], passed_s: float) -> Visit | Seek:
        match question:
            case "knee" if self._searches[question]:
                required = _knee(still_open).required
                share = BESIDE_KNEE[int(passed_s // BESIDE_S) % len(BESIDE_KNEE)]
                return Visit(Users(max(1, round(share * required.users))), required)
            case "knee" | "capacity":
                return Seek(question)
        return next(Visit(each.load, each) for each in open_at_loads(still_open) if each.load == question)


def _questions(still_open: Sequence[Answer]) -> list[Question]:
    """In the order in which they are asked."""
    kinds = {type(each.required) for each in still_open}
    found: list[Question] = list(dict.fromkeys(each.load for each in open_at_loads(still_open)))
    if KneeRequired in kinds:
        found.append("knee")
    if CapacityRequired in kinds:
        found.append("capacity")
    return found


def _knee(still_open: Sequence[Answer]) -> KneeAnswer:
    return next(each for each in still_open if isinstance(each, KneeAnswer))


def open_at_loads(answers: Sequence[Answer]) -> list[LoadRequirement]:
    """Those that are not decided and are about one load, by load, from the lowest on."""
    still_open = [each.required for each in answers if each.state == "undecided"]
    found = [each for each in still_open if isinstance(each, PercentileRequired | FailuresRequired)]
    return sorted(found, key=lambda each: (isinstance(each.load, Rate), each.load.amount))
