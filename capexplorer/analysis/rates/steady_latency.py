"""The error with which a level of an offered rate measures its mean time from plan (from when an iteration is due to its end).

By this error levels of one rate can be compared.
"""

from __future__ import annotations

import math

from .level_state import GROWTH_ERRORS, LOST_LEAST
from .rate_level import RateLevel


def steady_latency_error_ms(level: RateLevel) -> float | None:
    """Standard error of the mean time from plan; None: the queue was not in a steady state, or the generator limited it.

    Seconds of a queue are dependent, the more so near its capacity, and a level is too short to show how much. So the error is at
    least that of an M/M/1 queue with as many iterations in flight, L: of n of them the mean has the relative variance
    2 (1 + rho) (1 + L)^2 / n (Whitt, Planning Queueing Simulations, 1989), at most 4 (1 + L)^2 / n. Batch means show what
    varies more.
    """
    if level.from_plan_ms is None or not level.succeeded or _is_of_generator(level):
        return None
    in_flight = level.goodput_per_s * level.from_plan_ms / 1000  # Little's law
    if not _is_steady(level, in_flight):
        return None
    of_queue_ms = 2 * (1 + in_flight) / math.sqrt(level.succeeded) * level.from_plan_ms
    return max(of_queue_ms, level.from_plan_se_ms or 0.0)


def _is_steady(level: RateLevel, in_flight: float) -> bool:
    """Whether nearly all was served, and the work in flight at both ends differs by no more than two moments of an M/M/1 queue,
    in which it has the variance L (1 + L): the rest of a backlog shrinks by more.
    """
    drift_most = GROWTH_ERRORS * math.sqrt(2 * in_flight * (1 + in_flight))
    is_served = level.failed + level.dropped <= LOST_LEAST * level.due
    return not level.ramp and is_served and abs(level.growth) <= drift_most


def _is_of_generator(level: RateLevel) -> bool:
    """Whether iterations waited for the generator, not for the service. Arrivals are dropped only while as many as arrive in a
    second wait for a user, which a mean time from plan shows.
    """
    return level.left_out or level.dropped > 0 or level.at_cap or bool(level.generator_saturated)
