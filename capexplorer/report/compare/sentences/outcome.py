"""The verdict of a comparison: which session is better, by how much and how sure; then what else differs, and where nothing does.

    B (--pool 4) is better than A: capacity 76.8 to 151/s (+97% [+86% to +109%]), knee 25 to 51 users; p95 at 48 users
    385 to 89.7 ms (-77% [-80% to -73%]); no significant difference below 24 users.

The capacity and the knee are the answer, so they come first, unless only another figure differs. Only claimed differences are
called better or worse. Brackets hold 90% intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .... import wording
from ....wording import numbers, quantities
from ..comparison import Comparison, MatchedLevel, MatchedRate, Pair
from ..difference import LEAST_RATIO, Difference
from ..figures import FIGURES, HEADLINE_LATENCIES, SERVICE_TIME
from .cells import brief, detectable, interval, isolated, judgement, overall_words, title
from .curve_facts import failures
from .reservations import names

_CLIENTS = ("client", "partly_client")

_SUBJECTS = {"capacity": "capacity", "goodput": "goodput", "failure_ratio": "failures"}
"""What a figure is about; any other is a latency."""

_NOT_CLAIMED = "not significant when all figures are tested"
"""Said of a difference that is significant by itself, but not among the figures of a verdict."""


def verdict(comparison: Comparison) -> str:
    """The verdict with a reservation if conditions differ. The first curve is the baseline."""
    sentence = verdict_sentence(comparison)
    if comparison.conditions:
        sentence += f"; but conditions differ ({names(comparison.conditions)}), so the target may not be the cause"
    return f"{sentence}."


def verdict_sentence(comparison: Comparison) -> str:
    """The verdict without the warnings and without a full stop."""
    return ". ".join(_pair(pair, pair.after.named, pair.before.letter) for pair in comparison.pairs)


def _pair(pair: Pair, after: str, before: str) -> str:
    answer, claims = ", ".join(_capacities(pair)), list(_claims(pair))
    rest = [*_failing_alone(pair), *_no_difference(pair)]
    if not pair.directions:
        precision = detectable(pair)
        sure = f" ({precision})" if precision else ""
        lead = _why_not(pair, after, before) or f"No significant difference between {after} and {before}{sure}"
        found = "; ".join(each for each in [*claims, answer or _highest(pair)] if each)
        return f"{lead}{f': {found}' if found else ''}" + "".join(f"; {each}" for each in rest)
    is_first = any(one.claimed for one in pair.capacities if one.figure == "capacity")
    ordered = [answer, *claims] if is_first or not claims else [claims[0], answer, *claims[1:]]
    return f"{after} is {_which(pair, before)}: " + "; ".join(each for each in [*ordered, *rest] if each)


def _which(pair: Pair, before: str) -> str:
    """`better than A`; if both are claimed, in what, the capacity first: `worse than A in capacity, but better in latency`."""
    if len(pair.directions) == 1:
        return f"{'better' if True in pair.directions else 'worse'} than {before}"
    better, worse = (("better", _subjects(pair, True)), ("worse", _subjects(pair, False)))
    if set(better[1]) & set(worse[1]):
        return f"better and worse than {before}"
    first, second = (worse, better) if "capacity" in worse[1] else (better, worse)
    return f"{first[0]} than {before} in {' and '.join(first[1])}, but {second[0]} in {' and '.join(second[1])}"


def _subjects(pair: Pair, is_better: bool) -> list[str]:
    """What the claims in one direction are about; goodput only without the capacity that it shows."""
    found = {_SUBJECTS.get(one.figure, "latency") for one in pair.claimed if one.better is is_better}
    return sorted(found - {"goodput"} if "capacity" in found else found)


# -- capacity and knee


def _capacities(pair: Pair) -> Iterable[str]:
    """`capacity 76.8 to 151/s (+97% [+86% to +109%])`, `knee 25 to 51 users`, and the capacity as a rate."""
    for one in sorted(pair.capacities, key=lambda one: one.figure == "knee"):
        if one.figure == "knee":
            ours, theirs = (f"{numbers.users(each.value)} users" for each in (one.before, one.after))
            users = f"knee {ours.removesuffix(' users')} to {theirs}" if ours != theirs else f"knee {ours} in both"
            yield users if one.claimed or ours == theirs else f"{users} ({_unclaimed(one)})"
        else:
            name = "capacity as a rate" if one is pair.rate_capacity else "capacity"
            yield f"{name} {_capacity_values(one)} ({_change(one)})"
    measured = {one.figure for one in pair.knee if one.judgement != "not_measured"}
    has = [curve.letter for curve in (pair.before, pair.after) if curve.knee]
    if "knee" not in measured and len(has) == 1:
        yield f"only {has[0]} has a knee{_instead(pair)}"
    at_rates = [c.letter for c in (pair.before, pair.after) if c.rate_capacity is not None] if pair.rate_capacity else []
    if len(at_rates) == 1:
        yield f"only {at_rates[0]} has a capacity as a rate"


def _capacity_values(one: Difference) -> str:
    values = (one.before.value, one.after.value)
    if one.at_least is None:
        return quantities.rates(values, " to ", quantities.rate_cell)
    ours, theirs = ("at least " * (one.at_least == side) for side in ("before", "after"))
    return f"{ours}{quantities.rate_figure(values[0])} to {theirs}{quantities.rate_figure(values[1])}"


def _instead(pair: Pair) -> str:
    """` (B: no knee up to 60 users)` for a session in which the detector found no knee; else empty."""
    without = next((one for one in (pair.before, pair.after) if not one.knee and one.verdict is not None), None)
    return "" if without is None or without.verdict is None else f" ({without.letter}: {wording.knee(without.verdict)})"


def _change(one: Difference) -> str:
    """`+97% [+86% to +109%]`; for one that is not claimed why: `+4.9%, within noise of 7.4%`. Its interval would not agree with
    that at a glance: it leaves out 10% of true changes, and may leave out zero where the test, at 5%, finds nothing.
    """
    change = "" if one.ratio is None else brief(one.ratio)
    return f"{change}{interval(one.interval)}" if one.claimed else f"{change}, {_unclaimed(one)}{_of_noise(one)}".lstrip(", ")


def _unclaimed(one: Difference) -> str:
    return _NOT_CLAIMED if one.counts else judgement(one)


def _of_noise(one: Difference) -> str:
    """` of 7.4%`: the relative change from which it would be significant; empty for other reasons."""
    if one.judgement != "within" or not one.before.value or one.noise is None:
        return ""
    return f" of {brief(max(one.noise / one.before.value, LEAST_RATIO)).lstrip('+')}"


# -- levels and the whole curve


def _claims(pair: Pair) -> Iterable[str]:
    """What is claimed besides capacity and knee: failures, goodput if no capacity is claimed, and a latency. The service time
    comes last, since it is computed from figures that each say more where they are claimed themselves.
    """
    yield from _of(("failure_ratio",), pair)
    if not any(one.claimed for one in pair.capacities if one.figure == "capacity"):
        yield from _of(("goodput",), pair)
    by_client = _of_clients(pair)
    yield from [by_client] if by_client else _of((*HEADLINE_LATENCIES, SERVICE_TIME.name), pair)


def _failing_alone(pair: Pair) -> Iterable[str]:
    """`only in B: bad gateway (HTTP 502)`: kinds of failures that the other one does not have. If the verdict claims nothing of
    failures it says so: `only in B, but not significant: bad gateway (HTTP 502)`.
    """
    is_claimed = any(one.figure == "failure_ratio" for one in pair.claimed)
    is_tested = any(one.figure == "failure_ratio" for one in pair.overall) or any(
        one.change for load in pair.loads for one in load.differences if one.figure == "failure_ratio"
    )
    but = "" if is_claimed else ", but not significant" if is_tested else ", but at too few loads to test"
    for one, other in ((pair.after, pair.before), (pair.before, pair.after)):
        only = failures(one) - failures(other)
        if only:
            yield f"only in {one.letter}{but}: {', '.join(sorted(only))}"


def _of(figures: Sequence[str], pair: Pair) -> Iterable[str]:
    """Of the first of these figures that is claimed at each load, the strongest difference in each direction; else that of the
    whole curve.
    """
    at_loads = [(load, one) for load in pair.loads if (one := _first_claimed(load, figures)) is not None]
    for is_better in (True, False):
        same = [each for each in at_loads if each[1].better is is_better]
        if same:
            yield _at_load(*max(same, key=lambda each: _size(each[1])))
    if not at_loads:
        claimed = {one.figure: one for one in pair.overall if one.claimed}
        yield from [overall_words(claimed[name]) for name in figures if name in claimed][:1]


def _first_claimed(load: MatchedLevel | MatchedRate, figures: Sequence[str]) -> Difference | None:
    return next((one for name in figures for one in load.differences if one.figure == name and one.claimed), None)


def _size(one: Difference) -> float:
    """The size of a change by its factor, so that halved and doubled are equal; from or to zero it is infinite."""
    return abs(math.log1p(one.ratio)) if one.ratio is not None and one.ratio > -1 else math.inf


def _at_load(load: MatchedLevel | MatchedRate, one: Difference) -> str:
    """`p95 at 48 users 385 to 89.7 ms (-77% [-80% to -73%])`."""
    change = "" if one.ratio is None or FIGURES[one.figure].unit == "%" else f" ({brief(one.ratio)}{interval(one.interval)})"
    return f"{_values_at(load, one)}{change}"


def _values_at(load: MatchedLevel | MatchedRate, one: Difference) -> str:
    values = (one.before.value, one.after.value)
    match FIGURES[one.figure].unit:
        case "ms":
            shown = quantities.latencies(values, " to ")
        case "%":
            shown = f"{' to '.join(f'{100 * (each or 0.0):.2g}%' for each in values)} of requests"
        case _:
            shown = quantities.rates(values, " to ", quantities.rate_cell)
    return f"{title(one)} at {load.load} {'users' if isinstance(load, MatchedLevel) else 'offered'} {shown}"


def _of_clients(pair: Pair) -> str | None:
    """The clause if the client may explain the latencies; None if it does not."""
    known = [one for level in pair.levels for one in level.differences if one.figure in HEADLINE_LATENCIES]
    judgements = {one.judgement for one in known}
    if not pair.clients or any(one.claimed for one in known) or judgements.isdisjoint(_CLIENTS):
        return None
    before, after = pair.clients
    classes = f"({after} instead of {before})"
    if "partly_client" in judgements:
        return f"the difference in latency is at least partly caused by the client {classes}: no verdict on the target"
    return f"the difference in latency is caused by the client {classes}, not by the target"


# -- where nothing differs, or is not known


def _highest(pair: Pair) -> str:
    """Without a capacity, the goodput at the highest load in common: `goodput at 48 users 100 to 101/s (+1.0%, noise 3.9%)`."""
    measured = [load for load in pair.loads if load["goodput"].ratio is not None and load["goodput"].noise is not None]
    if not measured:
        return ""
    one = measured[-1]["goodput"]
    return f"{_values_at(measured[-1], one)} ({_change(one)})"


def _no_difference(pair: Pair) -> Iterable[str]:
    """Below which load nothing differs; without any claim what is not known, and a level to repeat."""
    if pair.directions:
        limited = [level.users for level in pair.levels if level.at_limit]
        free = any(not level.at_limit and not level.disturbed for level in pair.levels)
        if limited and free and not any(one.claimed for one in pair.overall if one.figure != "goodput"):
            yield f"no significant difference below {min(limited)} users"
    else:
        undisturbed = [level for level in pair.levels if not level.disturbed]
        if undisturbed and not pair.capacities and all(level["goodput"].p is None for level in undisturbed):
            yield "whether goodput differs is unknown: standard errors are missing"
        yield from [isolated(pair)] if isolated(pair) else []


def _why_not(pair: Pair, after: str, before: str) -> str:
    """Why the two cannot be compared; empty if they can."""
    undisturbed = [level for level in pair.levels if not level.disturbed]
    if pair.capacities or undisturbed or pair.rates:
        return ""
    if pair.levels:
        return f"Other processes used the machine's CPU at every common user count, so {after} and {before} cannot be compared"
    load = "user count" if pair.before.points or pair.after.points else "load"
    return f"{after} and {before} have no settled {load} in common, so no figure can be compared"
