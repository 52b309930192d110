"""User counts over time cut into stretches: constant, ramping, or moving to the next count. Pure; knows no file and no event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

HOLD_LEAST_S = 8.0
"""A count that is constant this long is a level: the shortest settling of 2 s, and six batches of one second."""

RAMP_LEAST_S = 10.0
"""Shorter climbs are the spawning of the level that they lead to."""

RAMP_SURE_S = 30.0
"""A climb this long is a ramp even among levels: settling never takes longer."""

LADDER_LEAST = 3
"""Levels from which a knee can be found (docs/knee.md, section 5), so short climbs between them are not needed."""

BLIP_MOST_S = 3.0
BLIP_MOST_RATIO = 0.05
"""A change of at most this duration and size does not end a level: a user died and was replaced."""

Kind = Literal["hold", "ramp", "move"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Ticks `first` to `last` (inclusive). Tick i lies between the observations i - 1 and i."""

    kind: Kind
    first: int
    last: int
    users: int
    """The count that is held; of a ramp the greatest; of a move the last."""


def held_counts(times_s: Sequence[float], users: Sequence[int]) -> list[int]:
    """The counts (above 0) that were held, in order."""
    return [users[first] for first, _ in _holds(times_s, users) if users[first]]


def stretches(times_s: Sequence[float], users: Sequence[int], *, ladder: bool) -> list[Stretch]:
    """All ticks, in order. `ladder`: counts were held often enough for a curve, so short climbs are spawning."""
    found: list[Stretch] = []
    done = 0  # the last tick that is in a stretch; there is no tick 0
    for first, last in _holds(times_s, users):
        if first > done:
            found.append(_between(times_s, users, done + 1, first, ladder))
        found.append(Stretch("hold", first + 1, last, users[first]))
        done = last
    if done < len(users) - 1:
        found.append(_between(times_s, users, done + 1, len(users) - 1, ladder))
    return found


def _between(times_s: Sequence[float], users: Sequence[int], first: int, last: int, ladder: bool) -> Stretch:
    counts = users[first - 1 : last + 1]
    climbs = any(after > before for before, after in pairwise(counts))
    least_s = RAMP_SURE_S if ladder else RAMP_LEAST_S
    if climbs and times_s[last] - times_s[first - 1] >= least_s:
        return Stretch("ramp", first, last, max(counts))
    return Stretch("move", first, last, users[last])


def _holds(times_s: Sequence[float], users: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, last) observation of each count that was held, blips included."""
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
    """The run in which the count of run `at` is back after a blip; None when it is not."""
    last = runs[at][-1]
    count = users[last]
    for index in range(at + 1, len(runs)):
        first = runs[index][0]
        if times_s[first] - times_s[last] > BLIP_MOST_S + 1e-9 or abs(users[first] - count) > BLIP_MOST_RATIO * count:
            return None
        if users[first] == count:
            return index
    return None
