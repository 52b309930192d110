"""Sentences about offered rates: the capacity as a rate, what happens beyond it, and single levels."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..model.load import Drops
from ..model.verdicts import Overload, RateCapacity, RateLevelVerdict, RateObjective, RateRecovery, RateVerdict
from . import numbers
from .knee_sentences import BROKEN, objective_limit, of_limits, then, tokens
from .quantities import rate

# -- Texts of the reasons why iterations at an offered rate were dropped.

DROPS = {
    "max_users": "max_users is too low for this rate",
    "target": "all users wait for the target",
    "starting": "users were still starting",
    "late": "the load thread was late",
    "stopped": "the load ended",
}
"""Text by field of `Drops`."""


def drops(dropped: Drops) -> str:
    """`all users wait for the target: 120, the load ended: 3`; empty if none was dropped."""
    counts = {field: getattr(dropped, field) for field in dropped.__struct_fields__}
    return ", ".join(f"{DROPS[field]}: {count:,}" for field, count in counts.items() if count)


NEAR_CAPACITY = 0.97
"""Share of the capacity above which "served in full up to" is left out: both are known only to a few percent."""

USUAL_FAILURES_LEAST = 0.01
"""Share of failures at every rate from which the sentence about rates that were served names it."""

RATE_STATES = {
    "kept": "served in full",
    "unsure": "not clear: few arrivals, or near the capacity",
    "queue_grows": "not stationary: the queue grows",
    "fails": "iterations fail",
    "beyond_limits": "iterations exceed a limit on a request",
    "dropped": "arrivals are dropped",
    "generator": "limited by the generator",
}
"""Text by the state of a level."""


def rate_capacity(found: RateCapacity) -> str:
    """Short, for a status line: `capacity 198/s [190–206], queue grows`, `served in full up to 180/s`."""
    match found.kind:
        case "capacity":
            return f"capacity {rate(found.per_s)} {_interval(found)}{of_limits(found)}{_short_overload(found.overload)}"
        case "at_or_below":
            return f"capacity below {rate(found.high_per_s)}"
        case "departs":
            return f"goodput{of_limits(found)} below the offered rate from {rate(found.per_s)}"
        case "keeps_up":
            return f"served in full up to {rate(found.per_s)}{', then the generator limits' * (found.limit == 'generator')}"


def short_rate_capacity(found: RateCapacity) -> str:
    """The capacity without the behaviour beyond it, for small spaces: `capacity 198/s [190–206]`."""
    return rate_capacity(msgspec.structs.replace(found, overload=None, limit=None))


def rates(found: RateVerdict, blamed: str = "", more: str = "") -> str:
    """One sentence: `Capacity 198/s [190–206]; stay at 152/s or less; high confidence; beyond it requests queue ...`.
    `blamed`, `more`: as of `capacity`.
    """
    known = found.capacity
    if known is None and any(each.why in ("other_service", "disturbed") for each in found.levels):
        return "No level of an offered rate shows what the service can do."
    if known is None and (failing := [each for each in found.levels if each.state in _LOSE and each.why != "recovery"]):
        return _fails_at_every_rate(failing)
    if known is None:
        return "No level of an offered rate had enough arrivals to say whether it was served in full."
    sure = f" ({known.confidence} confidence)" if known.confidence else ""
    changed = "; a higher rate was served in full than one that was not: the service changed" if known.contradicted else ""
    back = "".join(f"; {recovered(each)}" for each in found.recoveries[-1:] if each.recovered is not None)
    match known.kind:
        case "capacity":
            is_below = known.kept_per_s is not None and known.kept_per_s < NEAR_CAPACITY * known.per_s
            kept = f", served in full up to {rate(known.kept_per_s)}" if is_below else ""
            limit = "; ".join(each for each in (BROKEN.get(known.limit or "unknown"), blamed) if each)
            capacity = f"Capacity {rate(known.per_s)} {_interval(known)}{tokens(known.tokens_per_s)}{of_limits(known)}"
            where = f"{capacity}{kept}{f': {limit}' * bool(limit)}"
            return f"{where}{then(more, known.confidence)}{_overload(known.overload)}{back}{changed}."
        case "at_or_below":
            lowest = f"the capacity is below {rate(known.high_per_s)}, the lowest rate: offer less to find it"
            return f"{lowest[:1].upper()}{lowest[1:]}{f' ({blamed})' * bool(blamed)}{_overload(known.overload)}{back}."
        case "departs":
            where = f"Goodput{of_limits(known)} is less than the offered rate from {rate(known.per_s)} on{sure}"
            return f"{where}{_without_maximum(known, found.return_per_s)}{back}{changed}."
        case "keeps_up":
            if known.limit != "generator":
                most = f"All offered iterations were served{_usual_failures(found.levels)}, up to {rate(known.per_s)}"
                return f"{most}{_near_capacity(known)}{sure}{back}{changed}."
            where = f"Served in full up to {rate(known.per_s)}{sure}"
            return f"{where}; beyond that the generator is the limit, not the service: more users (max_users) or workers{back}."


def _fails_at_every_rate(failing: Sequence[RateLevelVerdict]) -> str:
    """Levels in which iterations fail, while no lower rate was served that would show that load is the cause."""
    late = all(each.state == "beyond_limits" for each in failing)
    shares = sorted(
        {numbers.percent(each.beyond_limits_ratio if late else each.failure_ratio) for each in (failing[0], failing[-1])}
    )
    at = rate(min(each.offered_per_s for each in failing))
    where = f"at {at}" if len(failing) == 1 else f"at every rate, from {at} on"
    do = "exceed a limit" if late else "fail"
    return f"{' to '.join(shares)} of the iterations {do} {where}; a lower rate shows whether load is the cause."


_LOSE = ("fails", "beyond_limits")
"""States in which iterations end and are no goodput."""


def _usual_failures(levels: Sequence[RateLevelVerdict]) -> str:
    """The share of iterations that fail at every rate that was served; empty below USUAL_FAILURES_LEAST."""
    least = min((each.failure_ratio for each in levels if each.state == "kept"), default=0.0)
    return f" except the {numbers.percent(least)} that fail at every rate" if least >= USUAL_FAILURES_LEAST else ""


def _near_capacity(found: RateCapacity) -> str:
    """What a long queue at the greatest rate says about the capacity; empty if there was none."""
    if found.slower_times is None:
        return ""
    times = numbers.number(found.slower_times)
    return f", near the capacity: there the mean time from plan is {times} times that at the lowest rate"


def _without_maximum(found: RateCapacity, return_per_s: float | None) -> str:
    """Why goodput that is less than the offered rate gives no capacity."""
    if found.rises:
        served, most = rate(found.kept_per_s), rate(found.high_per_s)
        served = served if served == most else f"a rate between {served} and {most}"
        short = "a short queue refuses requests, or " * (found.limit == "errors")
        return f", but still rises with it, since {short}only a part of the requests is limited: all is served up to {served}"
    if found.overload is None or found.overload.fall_ratio is None:
        return ", but its maximum was not reached"
    falls = f"falls by {found.overload.fall_ratio:.0%} at {rate(found.overload.offered_per_s)}"
    return f", and {falls}: a return to {rate(return_per_s)} shows whether load causes that, or the service has changed"


def _interval(found: RateCapacity) -> str:
    return f"[{numbers.number(found.low_per_s)}–{numbers.number(found.high_per_s)}]"


def _short_overload(found: Overload | None) -> str:
    if found is None:
        return ""
    if found.kind == "beyond_limits":
        return ", exceeds limits beyond"
    words = {"refuses": ", refuses beyond", "times_out": ", times out beyond", "queues": ", queues beyond"}[found.kind]
    return ", collapses beyond" if found.collapses else words


def _overload(found: Overload | None) -> str:
    """A clause about the behaviour of the service beyond its capacity; empty if it is not known."""
    if found is None:
        return ""
    at = f"at {rate(found.offered_per_s)}"
    match found.kind:
        case "queues" if found.growth_per_s < found.dropped_ratio * found.offered_per_s:
            dropped = f"{numbers.percent(found.dropped_ratio)} of the arrivals are dropped"
            words = f"requests queue without bound until all users wait ({at} {dropped})"
        case "queues":
            words = f"requests queue without bound ({at} {rate(found.growth_per_s)} more are in flight each second)"
        case "refuses":
            words = f"the service refuses what exceeds it ({numbers.percent(found.failure_ratio)} {at})"
        case "times_out":
            words = f"requests time out ({numbers.percent(found.failure_ratio)} {at})"
        case "beyond_limits":
            return f"; beyond it requests exceed a limit ({numbers.percent(found.beyond_limits_ratio)} of the iterations {at})"
    fall = ""
    if found.fall_ratio is not None:
        fall = f" and goodput {'collapses' if found.collapses else 'falls'} by {found.fall_ratio:.0%}"
    return f"; beyond it {words}{fall}"


def recovered(found: RateRecovery) -> str:
    """`at 120/s it recovered 4 s after overload at 300/s`."""
    way = f"overload at {rate(found.from_per_s)}"
    if found.recovered:
        return f"at {rate(found.to_per_s)} it recovered {numbers.number(found.after_s)} s after {way}"
    return f"at {rate(found.to_per_s)} it did not recover from {way}"


def rate_level(found: RateLevelVerdict) -> str:
    """One level, in a few words: `not stationary: the queue grows by 84/s`."""
    part = ", in a part of it: the service changed" if found.is_part and found.why in (None, "recovery") else ""
    return _rate_level(found) + part


def _rate_level(found: RateLevelVerdict) -> str:
    match found.why:
        case "other_service":
            return "the service was a different one then: not in the verdict"
        case "unsteady":
            return "a backlog was worked off" if found.growth_per_s < 0 else "goodput varied too much to be judged"
        case "disturbed":
            return "disturbed by other processes or the generator's host"
        case "recovery":
            return "recovery from overload"
    match found.state:
        case "queue_grows":
            return f"{RATE_STATES['queue_grows']} by {rate(found.growth_per_s)}"
        case "fails":
            return f"{numbers.percent(found.failure_ratio)} of the iterations fail"
        case "beyond_limits":
            return f"{numbers.percent(found.beyond_limits_ratio)} of the iterations exceed a limit on a request"
        case "dropped":
            return f"{numbers.percent(found.dropped_ratio)} of the arrivals are dropped"
    return RATE_STATES[found.state]


def rate_objective(found: RateObjective) -> str:
    """`p95 from plan ≤ 300 ms up to 141/s [120–160]`."""
    words = rate_objective_name(found)
    if found.state == "broken":
        return f"{words} is not met at any rate, not even at {rate(found.high_per_s)}"
    known = found.low_per_s and found.high_per_s
    interval = f" [{numbers.number(found.low_per_s)}–{numbers.number(found.high_per_s)}]" if known else ""
    return f"{words} up to {'at least ' * (found.state == 'kept')}{rate(found.per_s)}{interval}"


def rate_objective_name(found: RateObjective) -> str:
    """`p95 from plan ≤ 300 ms`, `failures ≤ 1%`."""
    return objective_limit(found.name, found.limit).replace(" ≤", " from plan ≤" if found.name != "failure_ratio" else " ≤", 1)
