"""Where goodput is greatest if requests beyond a limit on a single one do not count.

Goodput is then what the service serves, times the share of it within limits. The first is a curve of closed queues (`curve`), or
the offered rate. The second falls over some range of loads, which differs by the limit: all streams of a batch get slower
together, queues differ from request to request, and grow without end near the capacity. So the share is a logistic function of
the log of the load, or one that falls more steeply below its middle, times the share that meets the limits at any load; its
likelihood is that of counts. Of each such function, weighted by its probability, the load is taken at which the product is
greatest.

No curve of `curve` is such a product: it may fall to nothing at loads that the service still serves. And replies slow down with
load before a limit breaks, so goodput grows less than users do: the crossing of low-load line and capacity is not where goodput
is greatest, but at 0.6 of it in the median of simulated streams.

Of 48 sessions with simulated streams (families `*-stream-*`, validation seeds) 30 of 33 knees and capacities were within 10%, 32
intervals held the truth, and 32 named the right limit. By the curves of goodput alone 30% were within 10%, and 52% named it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ..ladder import LadderLevel
from ..statistics import NOTABLE
from .curve import Floats, Knees, LoadChances, expected, knees_of
from .measured_curve import curve_of
from .rate_level import RateLevel

INDEPENDENT, INDEPENDENT_MOST = 0.3, 60.0
"""Share of the replies of a level that count as independent of each other, and the most that do: no share is exactly such a
function."""

QUEUE_EFFECT = 2.0
"""Design effect of late replies at a rate over 1 + the requests in flight, as of a percentile in `requirements`: those that wait
in one queue are late together. With half of it two of ten capacities were 23% and 37% too high, and their intervals too narrow;
with 5 one of 14 due capacities was found."""

WIDTHS = np.geomspace(0.01, 0.6, 8)
"""In log load, of the fall of the share."""

USUAL = np.array((1.0, 0.99, 0.97, 0.94, 0.9, 0.8, 0.7, 0.5))
"""Shares within limits at any load: some replies are long by themselves."""

STEEP = np.array((0.0, 1.0))
"""Whether the function is logistic, or exp(-exp): slow at first, then steep."""

CENTRES, LOADS = 60, 100
"""Numbers of centres of the fall, and of loads at which the product is computed: a judgement takes 6 ms."""

REACH = math.log(1.5)
"""How far beyond the highest level these loads reach, in log load."""

FORM_ERROR = 0.04
"""Relative error of what is found, for the same reason."""

NOTHING = 1e-6
"""Share of what is served below which no goodput differs."""

LEAST = 1e-3
"""Least share within limits, and beyond them; and the least probability of a function, relative to the likeliest one."""


class Limited(msgspec.Struct, frozen=True):
    """How likely each load is to be the one at which goodput is greatest, and how much that is."""

    loads: LoadChances
    greatest: LoadChances
    chance_broken: float
    """The probability that the share within limits falls by NOTABLE within the tested loads."""

    @property
    def mean(self) -> float:
        """The greatest goodput, in the mean."""
        return float(self.greatest.chances @ np.exp(self.greatest.log_load))

    @property
    def error(self) -> float:
        """Its relative standard error."""
        return math.sqrt(float(self.greatest.chances @ (np.exp(self.greatest.log_load) / self.mean - 1) ** 2))


def by_users(ladder: Sequence[LadderLevel]) -> tuple[Knees, Limited]:
    """(the posterior over the users at which goodput is greatest, more of it), from pooled levels under limits, ascending; one
    has goodput.
    """
    served = [level.served for level in ladder]
    curve = curve_of(served)
    log_users = np.log([level.users for level in ladder])
    loads = _loads(log_users)
    within = [level.goodput_rps / level.served_rps if level.served_rps else 1.0 for level in ladder]
    counts = [(level.served_rps or 0.0) * (level.seconds or 0.0) for level in ladder]
    found = _limited(loads, expected(served, curve, loads), log_users, np.array(within), np.array(counts))
    low_load = knees_of(served, curve)
    knees = Knees(
        found.loads.log_load,
        found.loads.chances,
        rps_per_user=low_load.rps_per_user,
        rps_per_user_error=low_load.rps_per_user_error,
        capacity_error=math.hypot(found.error, low_load.rps_per_user_error / low_load.rps_per_user),
    )
    return knees, found


def by_rate(ladder: Sequence[RateLevel]) -> Limited:
    """The same from pooled levels of offered rates, ascending; what fails is not within limits either."""
    log_per_s = np.log([level.received_per_s for level in ladder])
    loads = _loads(log_per_s)
    within = np.array([1.0 - level.failure_ratio for level in ladder])
    replies = np.array([float(level.succeeded + level.failed) for level in ladder])
    counts = replies / (INDEPENDENT * QUEUE_EFFECT * np.array([1.0 + level.in_flight for level in ladder]))
    return _limited(loads, np.exp(loads), log_per_s, within, counts)


def _loads(log_loads: Floats) -> Floats:
    found: Floats = np.linspace(log_loads[0], log_loads[-1] + REACH, LOADS)
    return found


def _limited(loads: Floats, served: Floats, log_loads: Floats, within: Floats, counts: Floats) -> Limited:
    """`loads`, `served`: log loads and what is served at them; `log_loads`, `within`, `counts`: of the levels the share within
    limits of so many replies."""
    centres = np.linspace(loads[0] - REACH, loads[-1] + REACH, CENTRES)
    functions = np.stack([each.ravel() for each in np.meshgrid(centres, WIDTHS, USUAL, STEEP, indexing="ij")])
    kept = np.clip(_share(functions, log_loads), LEAST, 1.0 - LEAST)
    independent = np.minimum(INDEPENDENT * counts, INDEPENDENT_MOST)
    log_likely = np.log(kept) @ (independent * within) + np.log(1.0 - kept) @ (independent * (1.0 - within))
    likely = log_likely > log_likely.max() + math.log(LEAST)
    chances = np.exp(log_likely[likely] - log_likely.max())
    chances /= chances.sum()
    goodput = served * _share(functions[:, likely], loads)
    step = float(loads[1] - loads[0])
    by_load = np.bincount(goodput.argmax(axis=1), weights=chances, minlength=LOADS).astype(float)
    greatest = np.log(np.maximum(goodput.max(axis=1), NOTHING * served.max()))
    ends = np.array([greatest.min() - step, greatest.max() + step])  # more than one, so that they can be blurred
    amounts = LoadChances.of(np.concatenate([greatest, ends]), np.concatenate([chances, np.zeros(2)]), step)
    lowest, highest = _share(functions[:, likely], log_loads[[0, -1]]).T
    broken = float(chances[highest < (1.0 - NOTABLE) * lowest].sum())
    return Limited(LoadChances(loads, by_load).blurred(FORM_ERROR), amounts.blurred(FORM_ERROR), broken)


def _share(functions: Floats, log_loads: Floats) -> Floats:
    """The share within limits of each function at these loads, of shape (functions, loads). `functions`: centre, width, share at
    any load, whether it is steep.
    """
    centre, width, usual, steep = functions[..., np.newaxis]
    rise = np.exp(np.clip((log_loads - centre) / width, -50.0, 50.0))
    found: Floats = usual * np.where(steep, np.exp(-rise), 1.0 / (1.0 + rise))
    return found
