"""A level opened, and it closed with its figures."""

from __future__ import annotations

from typing import Literal

from ..figures import LevelBin, LevelEndpoint, LevelFigures
from .event import By, Event


class LevelOpened(Event, frozen=True, kw_only=True, tag="level"):
    """A command changed the users: a level opened, and the one before it ended."""

    index: int
    users: int
    spawn_rate: float
    by: By
    epoch: int = 0
    workers: int = 0
    """Worker processes that run its users; 0: they run in this process, as in older logs."""
    ramp: bool = False
    """Users change all the time (a shape): seconds are binned by user count."""
    since_s: float | None = None
    """For a level opened by a shift: start of its seconds. Ticks until the detection name the previous level."""
    shifted: Literal["goodput", "latency"] | None = None
    """What changed permanently, for such a level."""


class LevelClosed(Event, frozen=True, kw_only=True, tag="level_closed"):
    """A level ended, at `t_s`: its figures, so that readers need not decode every second."""

    index: int
    users: int
    started_s: float
    ended_s: float | None = None
    """Where a shift was found later than it happened: when. None: at `t_s`."""
    settled_s: float | None = None
    """When it settled; None when it never did."""
    void: Literal["worker_lost"] | None = None
    """Why it has no figures and nothing is judged by it. None: it is as it was measured."""
    figures: LevelFigures
    endpoints: tuple[LevelEndpoint, ...] = ()
    bins: tuple[LevelBin, ...] = ()
    """Of a ramp: its seconds by user count, at most 24 bins; `figures` then has no rates."""
