"""The clause of the verdict on offered rates: both capacities, or the session that has one."""

from __future__ import annotations

from ....wording.quantities import offered_rate
from ..comparison import Pair
from .cells import after, before, judgement, ratio


def rates(pair: Pair) -> str:
    """`the capacity as a rate is 131 instead of 101/s (+30%, beyond noise)`; empty without levels of rates."""
    moved = pair.rate_capacity
    if moved is None:
        return ""
    if moved.judgement != "not_measured":
        capacities = f"{after(moved)} instead of {before(moved)}/s"
        return f"the capacity as a rate is {capacities} ({ratio(moved)}, {judgement(moved)})"
    has = [one.letter for one in (pair.before, pair.after) if one.rate_capacity is not None]
    if has:
        return f"only {has[0]} has a capacity as a rate"
    changed = [each for each in pair.rates if each["goodput"].counts]
    if changed:
        most = max(changed, key=lambda each: abs(each["goodput"].ratio or 0.0))
        return f"goodput differs at {offered_rate(most.per_s)} ({ratio(most['goodput'])}, {judgement(most['goodput'])})"
    return "goodput does not differ at any offered rate" if pair.rates else ""
