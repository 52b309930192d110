"""The seconds of a level in which other processes used CPU.

If other processes start in the middle of a level, means over the whole level hide it: the machine seems to have idle cores, and
the service to need less CPU, since the seconds before count as well. So the seconds in which other processes used CPU show
whether the service needed it, and the whole level shows whether the amount was relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from ...model.figures import LevelFigures
from ...model.level import Level
from ...model.timeline import Timeline
from ..causes.generator_saturation import OTHERS_LEAST
from ..ladder import JudgedPart
from .neighbours import NeighbourCheck, Withheld
from .part_figures import part_figures, seconds_of_part


def withheld_from(check: NeighbourCheck, timeline: Timeline, level: Level, part: JudgedPart) -> Withheld | None:
    """CPU that other processes withheld from a part of a level; None if it was not relevant or is not known."""
    found = check.withheld(part.figures)
    if found is not None or level.opened.ramp or not check.may_matter(part.figures):
        return found
    disturbed = _figures_of_disturbed_seconds(timeline, level, part)
    return None if disturbed is None else check.withheld(disturbed)


_cached: WeakKeyDictionary[Level, dict[float, tuple[int, LevelFigures | None]]] = WeakKeyDictionary()
"""By level and start of a part: the number of its seconds, and the figures of those that were disturbed. An epoch is judged many
times as it grows."""


def _figures_of_disturbed_seconds(timeline: Timeline, level: Level, part: JudgedPart) -> LevelFigures | None:
    """Figures of the seconds in which others used CPU; None if they did in all of its seconds, or in none."""
    ticks = seconds_of_part(timeline, level, part.started_s, part.ended_s)
    by_start = _cached.setdefault(level, {})
    if by_start.get(part.started_s, (-1, None))[0] != len(ticks):
        by_start[part.started_s] = (len(ticks), _compute(timeline, level, ticks))
    return by_start[part.started_s][1]


def _compute(timeline: Timeline, level: Level, ticks: Sequence[int]) -> LevelFigures | None:
    disturbed = [tick for tick in ticks if timeline.columns["others_cpu_ratio"][tick] >= OTHERS_LEAST]
    return part_figures(timeline, level, disturbed) if 0 < len(disturbed) < len(ticks) else None
