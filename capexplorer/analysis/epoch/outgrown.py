"""Levels that saturated a generator with fewer workers: once workers were added, these levels show nothing about the service."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.level import Level
from ..causes.generator_saturation import is_saturated


def outgrown_levels(levels: Sequence[Level], outside_requests_ms: float) -> tuple[int, ...]:
    """Ascending indices of levels that saturated fewer workers than a later level has.

    `outside_requests_ms`: the result of `generator_saturation.time_outside_requests_ms`.
    """
    found, most = [], 0
    for level in reversed(levels):
        if level.opened.workers < most and level.figures.settled and is_saturated(level.figures, outside_requests_ms):
            found.append(level.opened.index)
        most = max(most, level.opened.workers)
    return tuple(reversed(found))
