"""The steps of a plan that samples the target's stacks at low load and beyond the knee, so that they can be compared. Pure."""

from __future__ import annotations

import math

from ..model.events import Verdict
from ..model.level_use import level_use
from ..model.load import Load, Rate, Users
from ..model.timeline import Timeline
from .experiment_search import BEYOND, BEYOND_LEAST
from .plan import Step

SAMPLED_S = 10.0
"""Seconds of each sampling: with 20 users about 20,000 thread samples, so that a wait of 1% is known to a tenth of itself."""

BESIDE_S = 10.0
"""Seconds of the level before each sampling, and of that after the one beyond the knee, which show what the sampling cost."""

SETTLING_S = 4.0
"""Seconds in addition until most levels have settled."""


def steps_here(load: Load) -> tuple[Step, ...]:
    """Sample at this load, which has been requested already."""
    return _sampled(load), _beside(load)


def steps_at_knee(timeline: Timeline, max_users: int, *, by_rate: bool) -> tuple[Step, ...]:
    """Sample beyond the knee, or at the highest rate served in full, then at the lowest measured load; empty: neither is known.
    Without a return to that load the knee would not be verified any more.

    `by_rate`: at offered rates if a capacity was found there; else, and without one, at users.
    """
    verdict = timeline.current_verdict
    highest = [each for each in (_beyond_knee(verdict, max_users), _kept_rate(verdict)) if each is not None]
    highest.sort(key=lambda load: isinstance(load, Rate) is not by_rate)
    lowest = [(low, high) for high in highest if (low := _lowest(timeline, high)) is not None]
    if not lowest:
        return ()
    low, high = lowest[0]
    return _beside(high), _sampled(high), _beside(high), _beside(low), _sampled(low)


def _sampled(load: Load) -> Step:
    return Step(load.zero, SAMPLED_S, "profile")


def _beside(load: Load) -> Step:
    return Step(load, SETTLING_S + BESIDE_S)


def _beyond_knee(verdict: Verdict | None, max_users: int) -> Users | None:
    knee = verdict.capacity.knee if verdict is not None else None
    if knee is None or knee.kind != "knee" or knee.users is None:
        return None
    beyond = BEYOND if knee.peak is None else BEYOND_LEAST  # the search has been there (docs/knee.md, section 10)
    return Users(min(max_users, math.ceil(beyond * knee.users)))


def _kept_rate(verdict: Verdict | None) -> Rate | None:
    """Beyond a capacity the queue grows as long as the level lasts, and no two seconds are alike."""
    capacity = verdict.rate_capacity if verdict is not None else None
    return Rate(capacity.kept_per_s) if capacity is not None and capacity.kept_per_s else None


def _lowest(timeline: Timeline, high: Load) -> Load | None:
    """The lowest load of the same kind that was measured in this epoch; None: none below `high` was."""
    verdict = timeline.current_verdict
    epoch = timeline.levels[-1].opened.epoch
    own = (level for level in timeline.levels if level.opened.epoch == epoch and level.has_load and level.figures.settled)
    loads = (level.load for level in own if level.load.is_less_than(high) and level_use(level, verdict).why in (None, "recovery"))
    return min(loads, key=lambda load: load.amount, default=None)
