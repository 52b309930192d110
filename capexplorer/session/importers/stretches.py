"""Divides user counts over time into stretches: constant, ramping, or moving to the next count. Pure; knows no files and
events.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

HOLD_LEAST_S = 8.0
"""A count that is constant for so long is a level: 2 s to settle at least, and six batches of one second."""

RAMP_LEAST_S = 10.0
"""Shorter rises of the count belong to the next level, whose users spawn in them."""

RAMP_SURE_S = 30.0
"""With enough levels for a curve (LADDER_LEAST), only rises of so many seconds are ramps."""

LADDER_LEAST = 3
"""Number of levels from which a knee can be found (docs/knee.md, section 5), so that short rises are not needed as ramps."""

BLIP_MOST_S = 3.0
BLIP_MOST_RATIO = 0.05
"""A change of at most this duration and relative size does not end a level: a user ended and was replaced."""

ROUNDING_S = 1e-9
"""Rounding error of a difference of two times."""

Kind = Literal["hold", "ramp", "move"]
"""`hold`: constant users. `ramp`: a long rise. `move`: any other change."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The ticks from `first` to `last`, inclusive. Tick i is between the observations i - 1 and i."""

    kind: Kind
    first: int
    last: int
    users: int
    """The constant count; for a ramp the greatest count, for a move the last."""


def constant_counts(times_s: Sequence[float], users: Sequence[int]) -> list[int]:
    """The constant counts above 0, in order. `times_s`, `users`: one value per observation."""
    return [users[first] for first, _ in _holds(times_s, users) if users[first]]


def stretches(times_s: Sequence[float], users: Sequence[int], *, ladder: bool) -> list[Stretch]:
    """Stretches that together contain all ticks, in order. `ladder`: there are at least LADDER_LEAST constant counts."""
    found: list[Stretch] = []
    done = 0  # the last tick that is in a stretch; the first tick is 1
    for first, last in _holds(times_s, users):
        if first > done:
            found.append(_between(times_s, users, done + 1, first, ladder))
        found.append(Stretch("hold", first + 1, last, users[first]))
        done = last
    if done < len(users) - 1:
        found.append(_between(times_s, users, done + 1, len(users) - 1, ladder))
    return found


def _between(times_s: Sequence[float], users: Sequence[int], first: int, last: int, ladder: bool) -> Stretch:
    """The stretch of the ticks from `first` to `last`, which lie between constant counts."""
    counts = users[first - 1 : last + 1]
    rises = any(after > before for before, after in pairwise(counts))
    least_s = RAMP_SURE_S if ladder else RAMP_LEAST_S
    if rises and times_s[last] - times_s[first - 1] >= least_s:
        return Stretch("ramp", first, last, max(counts))
    return Stretch("move", first, last, users[last])


def _holds(times_s: Sequence[float], users: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Indices (first, last) of the observations of each constant count, including short changes that do not end it."""
    runs = [[index for index, _ in run] for _, run in groupby(enumerate(users), key=lambda each: each[1])]
    at = 0
    while at < len(runs):
        first, end = runs[at][0], at
        while (after := _after_blip(times_s, users, runs, end)) is not None:
            end = after
        last = runs[end][-1]
        if times_s[last] - times_s[first] >= HOLD_LEAST_S:
            yield first, last
        at = end + 1


def _after_blip(times_s: Sequence[float], users: Sequence[int], runs: list[list[int]], at: int) -> int | None:
    """Index of the run in which the count of run `at` returns after a short change; None if it does not."""
    last = runs[at][-1]
    count = users[last]
    for index in range(at + 1, len(runs)):
        first = runs[index][0]
        if times_s[first] - times_s[last] > BLIP_MOST_S + ROUNDING_S or abs(users[first] - count) > BLIP_MOST_RATIO * count:
            return None
        if users[first] == count:
            return index
    return None
