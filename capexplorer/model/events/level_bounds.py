"""A level opened, and it closed with its figures."""

from __future__ import annotations

from typing import Literal

from ..figures import LevelBin, LevelEndpoint, LevelFigures
from ..offered import Arrivals
from .event import By, Event


class LevelOpened(Event, frozen=True, kw_only=True, tag="level"):
    """A command changed the users or the offered rate: a level opened, and the one before it ended."""

    index: int
    users: int
    """0 at a rate level: its pool has as many users as the arrivals need."""
    offered_per_s: float | None = None
    """Iterations offered each second, on a schedule that waits for no reply. None: a level of users, as in older logs."""
    arrivals: Arrivals = "poisson"
    """Of a rate level."""
    spawn_rate: float
    by: By
    epoch: int = 0
    workers: int = 0
    """Worker processes that run its users; 0: they run in this process, as in older logs."""
    ramp: bool = False
    """Users, or the offered rate, change all the time: seconds are binned by it. `offered_per_s` is then the last rate."""
    since_s: float | None = None
    """For a level opened by a shift: start of its seconds. Ticks until the detection name the previous level."""
    shifted: Literal["goodput", "latency"] | None = None
    """What changed permanently, for such a level."""


class LevelClosed(Event, frozen=True, kw_only=True, tag="level_closed"):
    """A level ended, at `t_s`: its figures, so that readers need not decode every second."""

    index: int
    users: int
    offered_per_s: float | None = None
    """As of `LevelOpened`."""
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
