"""Widens the errors of a figure if it varies more between levels than its batches of seconds show.

Batches of a third of a level do not contain noise that lasts as long as the level, and few batches give a rough error: at
levels of 10 s, 8% of the rows of mean latency differed between equal runs. The change between two sessions varies slowly with
users, so the difference of the changes at adjacent user counts is noise (successive differences; von Neumann, Annals of
Mathematical Statistics 12, 1941). The median of their squares, relative to those expected from the errors, gives one factor by
which all errors of the figure are widened, and never narrowed (Birge, Physical Review 40, 1932). A jump at one user count, or a
change that grows with users, hardly affects the median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from .difference import RUN_TO_RUN
from .estimates import Estimate

LEVELS_LEAST = 4
"""Least number of common user counts: three differences or fewer show nothing."""

MEDIAN_OF_CHI_SQUARE = 0.4549
"""Median of the chi-square distribution with one degree of freedom, i.e. of a squared standard normal deviate."""


def widened(figure: str, pairs: Sequence[tuple[Estimate, Estimate]]) -> list[tuple[Estimate, Estimate]]:
    """The estimates (before, after), by ascending users, with errors widened to the scatter of adjacent levels."""
    factor = _factor(figure, pairs)
    return [(_wider(before, factor), _wider(after, factor)) for before, after in pairs]


def _factor(figure: str, pairs: Sequence[tuple[Estimate, Estimate]]) -> float:
    changes = [change for pair in pairs if (change := _change(*pair)) is not None]
    if len(changes) < LEVELS_LEAST:
        return 1.0
    run = 2 * RUN_TO_RUN.get(figure, 0.0) ** 2
    squares = [(one - other) ** 2 / (its + others + 2 * run) for (one, its), (other, others) in pairwise(changes)]
    return max(1.0, math.sqrt(median(squares) / MEDIAN_OF_CHI_SQUARE))


def _change(before: Estimate, after: Estimate) -> tuple[float, float] | None:
    """(change on a logarithmic scale, its variance within both levels); None if a value or an error is not known."""
    if not before.value or not after.value or not before.se or not after.se:
        return None
    return math.log(after.value / before.value), (before.se / before.value) ** 2 + (after.se / after.value) ** 2


def _wider(estimate: Estimate, factor: float) -> Estimate:
    return estimate if estimate.se is None or factor == 1.0 else replace(estimate, se=factor * estimate.se)
