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

from ..model.load import Load, Rate
from ..model.requirements import (
    Answer,
    CapacityRequired,
    FailuresRequired,
    KneeRequired,
    LoadRequirement,
    PercentileRequired,
)

WITHIN_S = 300.0
"""Seconds in which a run decides what is required, by default."""

SEARCHES_MOST = 3
"""Searches for the knee, or for the capacity, of one run: each may end by its own rules before the question is decided, and its
levels make the interval of the next one narrower."""


class Visit(msgspec.Struct, frozen=True):
    """Go to this load, or stay there."""

    load: Load


class Seek(msgspec.Struct, frozen=True):
    """Search for it, or go on."""

    what: Literal["knee", "capacity"]


class Finished(msgspec.Struct, frozen=True):
    """All is decided, the time is spent, or no search has more to show."""

    why: Literal["decided", "within", "searched"]


Question = Visit | Seek


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

    def due(self, answers: Sequence[Answer], passed_s: float) -> Question | Finished:
        """What is to be done. `passed_s`: seconds since the first question."""
        still_open = open_questions(answers)
        questions = [each for each in still_open if self._searches[each] < SEARCHES_MOST]
        if not questions or passed_s >= self._within_s:
            return Finished("decided" if not still_open else "within" if questions else "searched")
        if self._asked in questions and passed_s < self._until_s:
            return self._asked
        if self._asked is not None:
            self._round.append(self._asked)
        left = [each for each in questions if each not in self._round]
        if not left:
            self._round, left = [], questions
        self._asked, self._until_s = left[0], passed_s + (self._within_s - passed_s) / len(left)
        return self._asked

    def searched(self) -> None:
        """The search has ended by its own rules."""
        if self._asked is not None:
            self._searches[self._asked] += 1
        self._until_s = 0.0


def open_questions(answers: Sequence[Answer]) -> list[Question]:
    """What decides those that are not decided, in the order in which it is asked."""
    loads: list[Question] = [Visit(each.load) for each in open_at_loads(answers)]
    kinds = {type(each.required) for each in answers if each.state == "undecided"}
    searches = [Seek("knee")] * (KneeRequired in kinds) + [Seek("capacity")] * (CapacityRequired in kinds)
    return [*dict.fromkeys(loads), *searches]


def open_at_loads(answers: Sequence[Answer]) -> list[LoadRequirement]:
    """Those that are not decided and are about one load, by load, from the lowest on."""
    still_open = [each.required for each in answers if each.state == "undecided"]
    found = [each for each in still_open if isinstance(each, PercentileRequired | FailuresRequired)]
    return sorted(found, key=lambda each: (isinstance(each.load, Rate), each.load.amount))
