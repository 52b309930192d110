"""The seconds of a level in which other processes used CPU.

A neighbour who comes in the middle of a level is averaged away with the seconds before: the machine seems to have cores left,
and the service to want less CPU than it wanted while it waited. So whether CPU was what it needed is asked of only the seconds in
which others used it; how much they withheld, of the whole level.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from ...model.figures import LevelFigures
from ...model.level import Level
from ...model.timeline import Timeline
from ..causes.saturation_grounds import OTHERS_LEAST
from ..ladder import Part
from .neighbours import NeighbourCheck, Withheld
from .part_figures import part_figures


def withheld_from(check: NeighbourCheck, timeline: Timeline, level: Level, part: Part) -> Withheld | None:
    """What other processes withheld from a part of a level; None: no relevant amount, or unknown."""
    found = check.withheld(part.figures)
    if found is not None or level.opened.ramp or not check.may_matter(part.figures):
        return found
    crowded = _figures_while_crowded(timeline, level, part)
    return None if crowded is None else check.withheld(crowded)


_known: WeakKeyDictionary[Level, dict[float, tuple[int, LevelFigures | None]]] = WeakKeyDictionary()
"""By the start of a part: its seconds, and the figures. An epoch is judged many times as it grows."""


def _figures_while_crowded(timeline: Timeline, level: Level, part: Part) -> LevelFigures | None:
    """None if others used CPU in all of its seconds, or in none."""
    ticks = [tick for tick in timeline.seconds_of(level) if _is_within(part, timeline.columns["t_s"][tick])]
    known = _known.setdefault(level, {})
    if known.get(part.started_s, (-1, None))[0] != len(ticks):
        known[part.started_s] = (len(ticks), _of_crowded(timeline, level, ticks))
    return known[part.started_s][1]


def _of_crowded(timeline: Timeline, level: Level, ticks: Sequence[int]) -> LevelFigures | None:
    crowded = [tick for tick in ticks if timeline.columns["others_cpu_ratio"][tick] >= OTHERS_LEAST]
    return part_figures(timeline, level, crowded) if 0 < len(crowded) < len(ticks) else None


def _is_within(part: Part, ended_s: float) -> bool:
    return part.started_s < ended_s and (part.ended_s is None or ended_s <= part.ended_s)
