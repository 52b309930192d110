"""Compares a level with one of the same load in another session, in a few words, for a screen that shows it during the level.

This is less precise than a comparison of sessions: the noise of percentiles is unknown, since the histograms of single seconds
are not available.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...model.figures import LevelFigures
from ...model.slice import BATCHES
from ...wording import quantities
from .difference import Difference, difference
from .estimates import Estimate

_NAMES = ("goodput", "p95")


def differences(before: Mapping[str, Estimate], after: LevelFigures) -> str:
    """`goodput 61.2 → 59.0/s (−4%, within noise), p95 210 → 235 ms (about +12%)`. "about": the noise is not known."""
    ours = estimates(after)
    found = (difference(name, before.get(name), ours[name]) for name in _NAMES)
    return ", ".join(_sentence(each) for each in found if each.judgement != "not_measured") or "nothing to compare"


def estimates(figures: LevelFigures) -> dict[str, Estimate]:
    """The goodput and p95 of one level; at an offered rate, those of iterations and of the time from plan."""
    offered, seconds = figures.offered, figures.settled_seconds
    degrees = BATCHES - 1.0
    if offered is not None:
        goodput = Estimate(offered.finished_per_s, offered.finished_se_per_s, seconds, degrees=degrees)
        return {"goodput": goodput, "p95": Estimate(offered.from_plan_ms.p95, None, seconds)}
    goodput = Estimate(figures.goodput_rps, figures.goodput_se_rps, seconds, degrees=degrees)
    return {"goodput": goodput, "p95": Estimate(figures.latency_ms.p95, None, seconds)}


def _sentence(one: Difference) -> str:
    pair = (one.before.value, one.after.value)
    words = f"{one.figure} {quantities.rates(pair) if one.figure == 'goodput' else quantities.latencies(pair)}"
    if one.ratio is None:
        return words
    ratio = f"{one.ratio:+.0%}".replace("-", "−")
    about, noise = "about " * (one.judgement == "unknown"), ", within noise" * (one.judgement == "within")
    return f"{words} ({about}{ratio}{noise})"
