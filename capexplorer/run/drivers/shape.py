"""A locustfile's shape as a driver: the load thread executes it and reports each change of the user count."""

from __future__ import annotations

from typing import Literal

from ...model.events import LevelOpened, Phase

RAMP_OVER_S = 10.0
"""A ramp ends when its user count has not changed for this long; a step at that count begins."""


def level_for(opened: LevelOpened | None, phase: Phase) -> Literal["step", "ramp"] | None:
    """The kind of level that a change of the shape opens; None: the open ramp continues. A shape that changes before its level
    has settled ramps the users: one level, whose figures are binned by user count.
    """
    if opened is not None and opened.ramp:
        return None
    return "ramp" if opened is not None and opened.by == "plan" and phase != "settled" else "step"
