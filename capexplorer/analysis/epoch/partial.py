"""Levels whose figures cover only a part of their users. The curve does not use them (docs/knee.md, section 2).

A level settles when its users are warm. Older logs do not record that, and have settled levels whose users were still in their
first task: the service received those requests, but the figures do not count them.
"""

from __future__ import annotations

from ...model.coverage import counted_ratio
from ...model.level import Level
from ...model.timeline import Timeline

COUNTED_LEAST = 0.9
"""Least share of the requests in settled seconds that a level's figures must count."""


def is_partial(timeline: Timeline, level: Level) -> bool:
    """Whether the level's figures leave out more than a tenth of the service's requests."""
    if level.opened.ramp or level.figures.warm_ratio is not None:
        return False
    counted = counted_ratio(timeline, level)
    return counted is not None and counted < COUNTED_LEAST
