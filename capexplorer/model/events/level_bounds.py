"""The start and the end of a level."""

from __future__ import annotations

from typing import Literal

from ..figures import LevelBin, LevelEndpoint, LevelFigures
from ..offered import Arrivals
from .event import By, Event


class LevelOpened(Event, frozen=True, kw_only=True, tag="level"):
    """A level opened, since a command changed the users or the offered rate; the level before it ended."""

    index: int
    users: int
    """Requested users; 0 at an offered rate, whose pool has as many users as the arrivals need."""
    offered_per_s: float | None = None
    """Iterations offered per second, on a schedule that does not wait for replies. None: a level of users, as in older logs."""
    arrivals: Arrivals = "poisson"
    """How the schedule spaces arrivals at an offered rate."""
    spawn_rate: float
    by: By
    epoch: int = 0
    workers: int = 0
    """Worker processes that run its users; 0: they run in this process, as in older logs."""
    ramp: bool = False
    """Whether users, or the offered rate, change all the time: seconds are binned by them. `offered_per_s` is then the last
    rate."""
    since_s: float | None = None
    """For a level opened by a shift: the time of the shift, from which on seconds belong to the level. Ticks until the shift was
    detected have the index of the previous level."""
    shifted: Literal["goodput", "latency"] | None = None
    """For such a level: what changed permanently."""


class LevelClosed(Event, frozen=True, kw_only=True, tag="level_closed"):
    """A level ended at `t_s`, with its figures, so that readers of the log need not decode every second."""

    index: int
    users: int
    offered_per_s: float | None = None
    """As in `LevelOpened`."""
    started_s: float
    ended_s: float | None = None
    """End of its seconds if a shift ended it, which is detected later; None: `t_s`."""
    settled_s: float | None = None
    """When it settled; None if it did not."""
    settling_s: float | None = None
    """Of a level that did not settle: seconds from its start until it would have settled, by the cycles of its users; None: not
    known, as in older logs."""
    void: Literal["worker_lost"] | None = None
    """Why it has no figures and is not judged; None: it has figures."""
    figures: LevelFigures
    endpoints: tuple[LevelEndpoint, ...] = ()
    bins: tuple[LevelBin, ...] = ()
    """The seconds of a ramp by user count or offered rate, at most 24 bins; its `figures` have no rates."""
