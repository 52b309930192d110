"""The autopilot's decisions at offered rates: from the judged levels so far to the next rate. Pure: no clock, no load.

It doubles the rate until a level is surely not served in full. Then it halves, on a logarithmic scale, the interval between the
highest rate that was served in full and the lowest that was not, until they are close or the capacity is known with high
confidence; while goodput may still rise with the rate it offers higher ones. After each overload it goes to a low rate first and
waits until the service has finished its backlog, which would otherwise disturb the next level. Each of these waits shows whether
the service recovers. The caller judges the levels.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from ..model.stages import LIMIT_NAMES
from ..model.verdicts import RateCapacity, RateLevelVerdict

Why = Literal[
    "first", "double", "between", "beyond", "higher", "lower", "rest", "return", "measuring",
    "capacity", "at_or_below", "max_rate", "generator", "not_recovered", "nothing_done",
]  # fmt: skip
"""Reasons of decisions; `wording` has their sentences."""

GROWTH = 2.0
"""Factor between two rates while all is served."""

LOWER = 0.25
"""Factor down if the first rate was not served in full."""

CLOSE = 1.25
"""Ratio of the lowest rate that was not served to the highest that was, from which the search ends."""

BEYOND = 1.5
"""Factor to the next rate after a level that stayed unclear: so near the capacity it would take longer to decide than
another level takes."""

REST_SHARE = 0.65
"""Share of the highest rate that was served in full, at which the service recovers from overload. At least 0.6: a clean return to
a lower rate would not show that load caused a fall (`RETURN_LEAST` of regimes)."""

LEAST_S, MOST_S = 6.0, 24.0
"""Least and most settled seconds of a level, which ends between them as soon as its state is clear."""

OVERLOAD_MOST_S = 15.0
"""Settled seconds of a level that is not served in full: more would only grow the backlog."""

PRECISE = 0.03
"""Relative standard error of goodput at which a level that is not served in full ends: its goodput is the capacity."""

OVERLOADED = ("queue_grows", "fails", "beyond_limits", "dropped")
"""States of a level that was surely not served in full."""

REST_MOST_S = 60.0
"""Seconds after which a backlog that is still there means that the service does not recover."""

IN_FLIGHT_MOST = 2.0
"""Multiple of the iterations in flight that a fully served level has at this rate, up to which the backlog counts as finished."""

BETWEEN_MOST = 4
"""Most rates between one that was served in full and one that was not: each takes the square root of their ratio, from 2 to
1.04."""

RETURNS_MOST, DRAINS_MOST = 2, 2
"""Returns of one search: one may show that the service changed, and what is found then may need another one. And rates, each
LOWER than the one before, at which a backlog is worked off before a return."""

REPEATED = 1.1
"""Factor from a rate that was not served to the one offered in its place: if that is served, it contradicts the first, with which
a second level of the same rate would be pooled."""

LEVELS_MOST = 30
"""Levels of one search: doubling from 1/s to 30,000/s takes 16, and those between at most 8 with their rests."""


LIMITED_ARRIVALS, LIMITED_MOST_S, LATE = 600, 60.0, 0.5
"""A level between a rate at which a limit on a single request broke and one at which it did not lasts until so many arrivals, or
so many seconds, unless this share is late: requests that wait in one queue are late together, so few of them show a share."""


class RateInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input of one decision."""

    per_s: float | None
    """The rate that is offered; None: users are set."""
    open_s: float
    """Seconds since the open level began."""
    settled_s: float
    in_flight: float
    """Iterations in flight now."""
    dropped: bool = False
    """Whether arrivals were dropped in the last seconds."""
    level: RateLevelVerdict | None
    """The open level, as far as it is judged."""
    levels: tuple[RateLevelVerdict, ...]
    """All judged levels of the epoch, the open one included."""
    capacity: RateCapacity | None
    return_per_s: float | None = None
    """The rate to which the verdict asks to return, to know whether load or a change of the service is the reason."""
    most_per_s: float
    stretch: float = 1.0
    """How much longer levels of this service last than those of others (`open_level`)."""


class Offer(msgspec.Struct, frozen=True):
    """Go to this rate."""

    per_s: float
    why: Why


class Stay(msgspec.Struct, frozen=True):
    """Stay on this level for now."""


class End(msgspec.Struct, frozen=True):
    """The search ends, and this rate stays."""

    per_s: float
    why: Why
    found: bool
    """Whether a capacity, or a bound of it, was found."""


RateDecision = Offer | Stay | End


class RateSearch:
    """One search. `due` returns the decision; the caller carries it out."""

    def __init__(self, first_per_s: float) -> None:
        self._first_per_s = first_per_s
        self._stage: Why = "first"
        self._offers = 0
        self._usual = 0.0
        """Iterations in flight per iteration a second, at the first rate that was served in full."""
        self._returns = 0
        self._drains = 0
        """Lower rates tried for a backlog that was still there at a rate that had been served."""
        self._between = 0
        """Rates tried between one that was served and one that was not."""

    def due(self, known: RateInput) -> RateDecision:
        """The decision; Stay while the open level must go on."""
        if known.per_s is None or not known.per_s or not self._offers:
            return self._offer(self._first_per_s, "first", known)
        if self._stage == "rest":
            return self._rested(known)
        state = self._clear(known)
        if state is None:
            return Stay()
        if state == "kept":
            self._usual = self._usual or max(known.in_flight, 1.0) / known.per_s
        if state == "generator":
            return End(REST_SHARE * known.per_s, "generator", found=False)
        if state in ("kept", "unsure"):
            return self._higher(known, is_clear=state == "kept")
        return self._down(known)

    def _clear(self, known: RateInput) -> str | None:
        """The state of the open level, once it is clear or has lasted long enough; None: it must go on."""
        settled_s = known.settled_s / known.stretch
        if known.level is None or settled_s < LEAST_S:
            is_lost = known.dropped and known.open_s >= OVERLOAD_MOST_S * known.stretch
            return "dropped" if is_lost else "unsure" if known.open_s >= 2 * MOST_S * known.stretch else None
        level = known.level
        is_precise = level.goodput_se_per_s <= PRECISE * level.goodput_per_s
        if level.state in OVERLOADED and not is_precise and settled_s < OVERLOAD_MOST_S:
            return None
        if self._stage == "between" and _is_limited(known) and level.beyond_limits_ratio < LATE:
            is_enough = known.settled_s * level.offered_per_s >= LIMITED_ARRIVALS
            return level.state if is_enough or settled_s >= LIMITED_MOST_S else None
        return level.state if level.state != "unsure" or settled_s >= MOST_S else None

    def _higher(self, known: RateInput, *, is_clear: bool) -> RateDecision:
        per_s, above = known.per_s or 0.0, self._lowest_lost(known)
        if above is not None and (above <= CLOSE * per_s or not is_clear):
            return self._down(known)
        if above is not None:
            return self._offer(math.sqrt(per_s * above), "between", known)
        if per_s >= known.most_per_s or self._offers >= LEVELS_MOST:
            return End(REST_SHARE * per_s, "max_rate", found=False)
        growth = GROWTH if is_clear else BEYOND
        return self._offer(min(growth * per_s, known.most_per_s), "double" if is_clear else "beyond", known)

    def _down(self, known: RateInput) -> RateDecision:
        """Go to a rate at which the service recovers, or to a lower one if none is known to be served."""
        kept = self._highest_served(known)
        if kept is not None:
            return self._offer(REST_SHARE * kept, "rest", known)
        lower = LOWER * (known.per_s or 0.0)
        if self._offers >= LEVELS_MOST or lower < 0.01:
            return End(lower, "at_or_below", found=True)
        return self._offer(lower, "lower", known)

    def _rested(self, known: RateInput) -> RateDecision:
        """The decision at a low rate after an overload: wait until the backlog is gone, then go to the next rate or end."""
        per_s = known.per_s or 0.0
        usual = IN_FLIGHT_MOST * max(self._usual * per_s, 5.0)
        if known.in_flight > usual:
            return self._not_recovered(known) if known.open_s >= REST_MOST_S * known.stretch else Stay()
        if known.settled_s < LEAST_S * known.stretch:
            return Stay()  # so that the recovery is judged
        if self._drains > self._returns and (back := self._return(known)) is not None:
            return back
        kept, above = self._highest_served(known), self._lowest_lost(known)
        found = known.capacity
        if _is_limited(known) and above is None and self._offers < LEVELS_MOST:
            return self._offer(BEYOND * (kept or per_s), "higher", known)
        most = max(each.offered_per_s for each in known.levels)
        if self._offers < LEVELS_MOST and found is not None and _may_be_higher(found, most):
            return self._offer(BEYOND * most, "higher", known)
        is_sure = found is not None and found.kind == "capacity" and found.confidence == "high"
        is_close = kept is None or above is None or above <= CLOSE * kept
        if kept is None or above is None or is_sure or is_close or self._between >= BETWEEN_MOST:
            return self._return(known) or End(per_s, "capacity", found=True)
        return self._offer(math.sqrt(kept * above), "between", known)

    def _not_recovered(self, known: RateInput) -> RateDecision:
        """Where the verdict asks for a return, the backlog goes first, at a lower rate: the service may have become slower."""
        per_s = known.per_s or 0.0
        if known.return_per_s is None or self._drains >= DRAINS_MOST:
            return End(per_s, "not_recovered", found=True)
        self._drains += 1
        return self._offer(LOWER * per_s, "rest", known)

    def _return(self, known: RateInput) -> RateDecision | None:
        """The return that the verdict asks for; None: it asks for none, or there were enough."""
        if known.return_per_s is None or self._returns >= RETURNS_MOST:
            return None
        self._returns += 1
        was_lost = known.return_per_s >= self._lowest_overloaded(known)
        return self._offer(known.return_per_s * (REPEATED if was_lost else 1.0), "return", known)

    def _highest_served(self, known: RateInput) -> float | None:
        """The highest mean rate served in full below the lowest that was not; if there is none, the highest unclear one."""
        if _is_limited(known):
            best = self._best(known)
            return best.offered_per_s if best.beyond_limits_ratio < LATE else None
        below = [each for each in self._used(known) if each.offered_per_s < self._lowest_overloaded(known)]
        kept = [each.offered_per_s for each in below if each.state == "kept"]
        return max(kept or [each.offered_per_s for each in below if each.state == "unsure"], default=None)

    def _lowest_lost(self, known: RateInput) -> float | None:
        """The lowest rate that was not served, or that stayed unclear although a lower one was served; None: all were."""
        lowest, kept = self._lowest_overloaded(known), self._highest_served(known)
        if math.isinf(lowest):
            return None
        if _is_limited(known):
            best = self._best(known)
            return min(
                (each.offered_per_s for each in self._used(known) if each.offered_per_s > best.offered_per_s), default=None
            )
        unclear = [each.offered_per_s for each in self._used(known) if each.state == "unsure"]
        return min([lowest, *(rate for rate in unclear if kept is not None and rate > kept)])

    def _lowest_overloaded(self, known: RateInput) -> float:
        """The lowest rate that was not served, unless a higher one was later: the service changed since."""
        used = self._used(known)
        kept = [(each.level, each.offered_per_s) for each in used if each.state == "kept"]
        lost = [(each.level, each.offered_per_s) for each in used if each.state in OVERLOADED]
        return min((rate for at, rate in lost if not any(later > at and more >= rate for later, more in kept)), default=math.inf)

    def _best(self, known: RateInput) -> RateLevelVerdict:
        """The level that surely has the greatest goodput. Where a limit on a single request breaks, the capacity is near it: some
        replies are late long before goodput falls, and streams are few a second, so that hardly any level is clear.
        """
        return max(self._used(known) or known.levels, key=lambda each: each.goodput_per_s - each.goodput_se_per_s)

    def _used(self, known: RateInput) -> list[RateLevelVerdict]:
        """The levels that describe the service as it is: not those in which late requests of a backlog are worked off either."""
        described = [each for each in known.levels if each.why not in ("recovery", "other_service")]
        return [each for each in described if each.why != "unsteady" or not each.beyond_limits_ratio]

    def _offer(self, per_s: float, why: Why, known: RateInput) -> RateDecision:
        self._stage = why
        self._offers += 1
        self._between += why == "between"
        return Offer(_round(min(per_s, known.most_per_s)), why)


def _is_limited(known: RateInput) -> bool:
    """Whether a limit on a single request broke."""
    return known.capacity is not None and known.capacity.limit in LIMIT_NAMES


def _may_be_higher(found: RateCapacity, most_per_s: float) -> bool:
    """Whether higher rates may show more: the maximum of goodput was not reached, or a part of the requests may have no limit. A
    rate GROWTH times that from which on not all is served shows which. Beyond a limit on a single request goodput only falls.
    """
    if found.limit in LIMIT_NAMES:
        return False
    is_seen = most_per_s >= GROWTH * found.per_s
    if found.kind == "capacity":
        return found.may_rise and not is_seen
    return found.kind == "departs" and found.overload is None and not (found.rises and is_seen)


def _round(per_s: float) -> float:
    """Rounded to two significant digits, so that the rate can be read and typed."""
    digits = 1 - math.floor(math.log10(per_s)) if per_s > 0 else 0
    return round(per_s, digits)
