"""The clause of the verdict on knees: both knees if both sessions have one, and the capacities if they differ significantly."""

from __future__ import annotations

from .... import wording
from ..comparison import Pair
from .cells import after, before, judgement, ratio

_NOT_CLAIMED = "not significant when all figures are tested"
"""Added to a difference that is significant by itself, but not among the many figures of a verdict."""


def knees(pair: Pair) -> str:
    """The knees if both sessions have one; the capacities if they differ significantly."""
    moved, capacity = pair.knee
    if moved.judgement == "not_measured":
        has = [one.letter for one in (pair.before, pair.after) if one.knee]
        return f"and only {has[0]} has a knee{_instead(pair)}" if has else ""
    sentence = f"and the knee is at {after(moved)} instead of {before(moved)} users "
    sentence += f"({ratio(moved)}, {judgement(moved) if moved.claimed or not moved.counts else _NOT_CLAIMED})"
    if capacity.claimed:
        rates = f"{after(capacity)} instead of {before(capacity)}/s"
        sentence += f", and the capacity is {rates} ({ratio(capacity)}, {judgement(capacity)})"
    return sentence


def _instead(pair: Pair) -> str:
    """` (B: no knee up to 60 users)` for a session in which the detector found no knee; else empty."""
    without = next((one for one in (pair.before, pair.after) if not one.knee and one.verdict is not None), None)
    return "" if without is None or without.verdict is None else f" ({without.letter}: {wording.knee(without.verdict)})"
