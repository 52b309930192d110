"""The verdict of a comparison: one sentence on goodput, latency, knee and rates, which claims only significant differences."""

from __future__ import annotations

from ..comparison import Comparison, Pair
from .goodput_outcome import goodput
from .knee_outcome import knees
from .latency_outcome import latency
from .rate_outcome import rates
from .reservations import names


def verdict(comparison: Comparison) -> str:
    """The verdict with a reservation if conditions differ. The first curve is the baseline."""
    sentence = verdict_sentence(comparison)
    if comparison.conditions:
        sentence += f"; but conditions differ ({names(comparison.conditions)}), so the target may not be the cause"
    return f"{sentence}."


def verdict_sentence(comparison: Comparison) -> str:
    """The verdict without the warnings and without a full stop."""
    sentence = "; ".join(_pair(pair) for pair in comparison.pairs)
    return sentence[:1].upper() + sentence[1:]


def _pair(pair: Pair) -> str:
    if not pair.levels and pair.rate_capacity is not None:
        return rates(pair) or f"{pair.after.letter} and {pair.before.letter} have no offered rate in common"
    if not pair.levels:
        load = "user count" if pair.before.points or pair.after.points else "load"
        return f"{pair.after.letter} and {pair.before.letter} have no settled {load} in common, so no figure can be compared"
    return ", ".join(part for part in (goodput(pair), latency(pair), knees(pair), rates(pair)) if part)
