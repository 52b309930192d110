"""The texts of a comparison's table cells, and the note on noise below the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ... import wording
from ...model.events import ClientOverhead, Mark
from ...model.findings import Cause
from ...model.intervals import Z95
from ...model.load import Users
from ...wording import numbers, quantities, units
from ...wording.quantities import latency
from .across_levels import OverallChange
from .comparison import Comparison, Curve, MatchedLoad, Pair
from .difference import FIGURES, HEADLINE_LATENCIES, LEAST_RATIO, SERVICE_TIME, STAGE_P95S, Difference
from .environment import Differing

MISSING = "–"

NOISE = (
    "A difference is significant if it exceeds its noise and 2%. Noise is computed for each row separately: if nothing differs, "
    "about 1 row in 20 is significant. It is the variation within both sessions (overlapping batches of seconds) and between "
    "levels, and an allowance for the variation between equal runs. The verdict tests the capacity; service time (mean latency "
    "below the knee, 1/goodput beyond it), goodput, failures, mean latency and p95 over all user counts together; and single "
    "counts at which one of the two is at its limit, if other counts or the capacity show the difference too. What 'would be "
    "found' is the smallest change that it finds in nine of ten comparisons (docs/compare.md has its error rate). Where other "
    "processes may have slowed down the service, no difference is claimed. Repeat important measurements. "
    f"{wording.INTERVALS}"
)

BEYOND = {True: "better, beyond noise", False: "worse, beyond noise", None: "differs beyond noise"}

JUDGEMENTS = {
    "within": "within noise",
    "unknown": "noise unknown",
    "client": "client overhead",
    "partly_client": "partly client",
    "neighbours": "others' CPU",
    "not_measured": "not measured",
}


def unit(one: Difference) -> str:
    """The unit of a row, as it stands behind a value: `/s`, ` ms`, or in the chosen units ` s`."""
    figure, latency = FIGURES[one.figure], _latency_unit(one)
    return figure.unit if figure.unit in ("/s", "%") else f" {figure.unit if latency is None else latency.name}"


def heading(one: Difference) -> str:
    """The figure and its unit: `goodput/s`, `p95 ms`, `failed %`."""
    return f"{FIGURES[one.figure].title}{' ' * (FIGURES[one.figure].unit == '%')}{unit(one)}"


def before(one: Difference) -> str:
    """The first value in the unit of its row: 117.2; a ratio in per cent: 0.42."""
    return _in_unit_of(one, one.before.value)


def after(one: Difference) -> str:
    """The second value in the unit of its row."""
    return _in_unit_of(one, one.after.value)


def change(one: Difference) -> str:
    """The signed change in the figure's unit; that of ratios in percentage points."""
    if one.change is None:
        return MISSING
    return numbers.signed(_in_unit_of(one, abs(one.change)), one.change)


def ratio(one: Difference) -> str:
    """The signed change in per cent of the first value; a dash if that is zero or not measured."""
    return MISSING if one.ratio is None else numbers.signed_percent(one.ratio)


def noise(one: Difference) -> str:
    """The noise that the difference must exceed, in the figure's unit: `2.1`, or `unknown`."""
    if one.noise is None:
        return MISSING if one.change is None else "unknown"
    return _in_unit_of(one, one.noise)


def judgement(one: Difference) -> str:
    """`worse, beyond noise`, `noise unknown`."""
    return BEYOND[one.better] if one.counts else JUDGEMENTS[one.judgement]


def interval(of: tuple[float, float] | None) -> str:
    """` [+86% to +109%]`; empty if it is not known."""
    return "" if of is None else f" [{numbers.brief_percent(of[0])} to {numbers.brief_percent(of[1])}]"


def overall(pair: Pair) -> str:
    """`Mean change over user counts in common: p95 +9.8% over 12 (noise 4.1%, found from 6.2% on).`; may be empty. Without
    changes of which not even a doubling would be found.
    """
    sentence = [
        f"{title(one)} {numbers.signed_percent(one.ratio)} over {one.levels}{_noise_and_significance(one)}"
        for one in pair.overall
        if not one.says_nothing
    ]
    return f"Mean change over user counts in common: {'; '.join(sentence)}." if sentence else ""


def overall_words(one: OverallChange) -> str:
    """`service time +9.8% [+7.1% to +13%] over 12 user counts (latency at 8 below the knee, 1/goodput at 4 beyond it)`,
    `2.9% of requests fail instead of 0% over 6 user counts`.
    """
    over = f"over {one.levels} user counts"
    if one.means is not None:
        before, after = (f"{100 * share:.2g}%" for share in one.means)
        return f"{after} of requests fail instead of {before} {over}"
    if one.beyond == one.levels:
        over += " at or beyond the knee"
    elif one.beyond:
        over += f" (latency at {one.levels - one.beyond} below the knee, 1/goodput at {one.beyond} beyond it)"
    return f"{title(one)} {numbers.brief_percent(one.ratio)}{interval(one.interval)} {over}"


def title(one: OverallChange | Difference) -> str:
    """Its name in a sentence: `mean latency`."""
    if isinstance(one, OverallChange) and one.means is not None:
        return "share that succeeds"
    return "mean latency" if one.figure == "mean" else FIGURES[one.figure].title


def _noise_and_significance(one: OverallChange) -> str:
    where = " beyond the knee" if one.beyond == one.levels else ""
    noise = f"noise {numbers.signed_percent(one.noise).lstrip('+')}"
    smallest = "" if one.detectable is None else f", found from {numbers.signed_percent(one.detectable).lstrip('+')} on"
    return f"{where} ({noise}{smallest}){', beyond noise' if one.claimed else ''}"


def detectable(pair: Pair) -> str:
    """`a change of 6.2% would be found`: the most precise of the tests of the whole curve; empty without any. That of the service
    time is not named: a service that is so much slower has it at all loads.
    """
    asked = [one for one in pair.overall if one.detectable is not None and one.means is None and one.figure != "p50"]
    best = min(asked, key=lambda one: one.detectable or math.inf, default=None)
    if best is None or best.says_nothing:
        return "not even a doubling would be found: the levels are too few, or differ too much" if asked else ""
    of = "" if best.figure == SERVICE_TIME.name else f" in {title(best)}"
    return f"a change of {numbers.brief_percent(best.detectable or 0.0).lstrip('+')}{of} would be found"


def isolated(pair: Pair) -> str:
    """`p95 stands out at 60 users alone (+300%): repeat that level`; empty if no single user count stands out."""
    found = [(level.name, one) for level in pair.levels for one in level.differences if one.isolated]
    if not found:
        return ""
    users, one = max(found, key=lambda each: abs(each[1].ratio or 0.0))
    return f"{title(one)} stands out at {users} users alone ({ratio(one)}): repeat that level"


def _latency_unit(one: Difference) -> units.LatencyUnit | None:
    """The unit of a row of latencies, by the greater of its two values; None for other figures."""
    if FIGURES[one.figure].unit != "ms":
        return None
    return units.latency_unit_of(max(one.before.value or 0.0, one.after.value or 0.0))


def _in_unit_of(one: Difference, number: float | None) -> str:
    if number is None:
        return MISSING
    unit = _latency_unit(one)
    if unit is not None:
        return numbers.four_digits(number / unit.in_ms, unit.decimals)
    return numbers.four_digits(number * 100 if FIGURES[one.figure].unit == "%" else number)


# -- reservations --------------------------------------------------------------------------------------------------------------
# Warnings to read before any figure: conditions that differ besides the target, and data that the sessions lack.


NAMED = 6
"""Maximum number of differing conditions that a sentence names."""


_LEFT_OUT = "Levels of another state than the one that its verdict is about are not compared."


def warnings(comparison: Comparison) -> list[str]:
    """The warnings; empty if nothing impairs the comparison."""
    sentence = []
    if comparison.conditions:
        sentence.append(f"Conditions differ ({names(comparison.conditions)}): they may cause the differences, not the target.")
    sentence += [f"{one.letter}: {one.judged.sentence}" for one in comparison.curves if one.judged.severity == "critical"]
    sentence += [f"{one.letter}: {wording.first_change(one.regimes)}. {_LEFT_OUT}" for one in comparison.curves if one.regimes]
    for pair in comparison.pairs:
        if pair.clients is not None:
            sentence.append(_clients(pair))
        disturbed = [level.name for level in pair.levels if level.disturbed]
        if disturbed:
            sentence.append(
                f"Other processes used the machine's CPU at {', '.join(disturbed)} users of {pair.before.letter} or "
                f"{pair.after.letter}, and any figure may differ because of that: no difference is claimed there."
            )
        if not pair.loads:
            sentence.append(f"{pair.before.letter} and {pair.after.letter} have no settled load in common.")
    sentence += [
        f"{one.letter}: {one.damaged} damaged or missing line{'s' * (one.damaged > 1)} in its log are missing from its figures."
        for one in comparison.curves
        if one.damaged
    ]
    sentence += [f"{one.letter} ended early: its last level may be missing." for one in comparison.curves if not one.complete]
    return sentence


def names(rows: Sequence[Differing]) -> str:
    """The names of the first NAMED conditions, and the number of further ones."""
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return ", ".join(row.name for row in rows[:NAMED]) + more


def _clients(pair: Pair) -> str:
    before, after = pair.clients or ("", "")
    letters = f"{pair.before.letter} used {before}, {pair.after.letter} {after}"
    if len(pair.before.overheads) == 1 and len(pair.after.overheads) == 1:
        (ours,), (theirs,) = pair.before.overheads.values(), pair.after.overheads.values()
        size = theirs.p50_ms - ours.p50_ms
        return (
            f"{letters}: by itself {after} costs {latency(abs(size))} {'less' if size < 0 else 'more'} at the median, "
            "and that share of latency is client overhead, not the target's."
        )
    return f"{letters}, whose overheads were not measured: no difference in latency can be attributed to the target."


# -- curve facts ---------------------------------------------------------------------------------------------------------------
# The texts on one curve: its session, its client overhead, its knee, its marks.


def curve(one: Curve) -> str:
    """Name, title and label of the session, and whether it was cut short."""
    parts = [one.name]
    if one.title:
        parts.append(one.title)
    if one.label:
        parts.append(f"[{one.label}]")
    if not one.complete:
        parts.append("(cut short)")
    return "  ".join(parts)


def began(one: Curve) -> str:
    """`2026-01-01 12:00:00 UTC`."""
    return wording.wall_time(one.started_at) or MISSING


def overheads(one: Curve) -> str:
    """The client overhead of each client class."""
    if not one.overheads:
        return "not measured"
    return ", ".join(f"{name} {_overhead(each)}" for name, each in sorted(one.overheads.items()))


def _overhead(measured: ClientOverhead) -> str:
    """`0.41 ms (p99 1.2)`."""
    unit = units.latency_unit_of(measured.p99_ms)
    return f"{numbers.number(measured.p50_ms / unit.in_ms)} {unit.name} (p99 {numbers.number(measured.p99_ms / unit.in_ms)})"


def knee(one: Curve) -> str:
    """`60 [55–65] users, 118.4 ± 4.7/s`, or what was found instead."""
    if not one.knee:
        return "none marked" if one.verdict is None else wording.knee(one.verdict)
    interval = "" if one.knee_users is None else f" {numbers.interval(*one.knee_users)}"
    capacity = one.knee["capacity"]
    error = None if capacity.se is None else Z95 * capacity.se
    rate = (
        quantities.rate(capacity.value, numbers.significant)
        if error is None
        else quantities.rate_with_error(capacity.value, error)
    )
    return f"{numbers.users(one.knee['knee'].value)}{interval} users{'' if capacity.value is None else f', {rate}'}"


def marked(one: Curve) -> str:
    """The marks: `the service's CPU is saturated (GIL) at 60 users; connections are reset at 80 users, 412 ×`."""
    return "; ".join(map(_marked, one.marks)) or MISSING


def failures(one: Curve) -> frozenset[str]:
    """The kinds of failed requests that were marked: `bad gateway (HTTP 502)`."""
    return frozenset(wording.title(mark) for mark in one.marks if isinstance(mark.finding, Cause) and mark.finding.count)


def _marked(mark: Mark) -> str:
    counted = wording.counted(mark.finding)
    return f"{wording.title(mark)}{wording.at_load(mark)}{f', {counted}' if counted else ''}"


# -- outcome -------------------------------------------------------------------------------------------------------------------
# The verdict of a comparison: which session is better, by how much and how sure; then what else differs, and where nothing does.
#
#     B (--pool 4) is better than A: capacity 76.8 to 151/s (+97% [+86% to +109%]), knee 25 to 51 users; p95 at 48 users
#     385 to 89.7 ms (-77% [-80% to -73%]); no significant difference below 24 users.
#
# The capacity and the knee are the answer, so they come first, unless only another figure differs. Only claimed differences are
# called better or worse. Brackets hold 90% intervals.


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
        lead = _why_not(pair, after, before) or _not_sure(pair, after, before)
        found = "; ".join(each for each in [*claims, answer or _highest(pair)] if each)
        return f"{lead}{f': {found}' if found else ''}" + "".join(f"; {each}" for each in rest)
    is_first = any(one.claimed for one in pair.capacities if one.figure == "capacity")
    ordered = [answer, *claims] if is_first or not claims else [claims[0], answer, *claims[1:]]
    return f"{after} is {_which(pair, before)}: " + "; ".join(each for each in [*ordered, *rest] if each)


def _not_sure(pair: Pair, after: str, before: str) -> str:
    """`No significant difference between B and A (a change of 6.2% would be found)`; beside a row that is significant by itself,
    `No difference between B and A is sure when all figures are tested (...)`.
    """
    is_bare = _strongest(pair) is None and not any(one.counts for one in pair.capacities)
    lead = f"No significant difference between {after} and {before}"
    if not is_bare:
        lead = f"No difference between {after} and {before} is sure when all figures are tested"
    precision = detectable(pair)
    return f"{lead} ({precision})" if precision else lead


def _strongest(pair: Pair) -> tuple[MatchedLoad, Difference] | None:
    """The row of a load that is significant by itself and for the better or the worse, with the least p-value."""
    rows = [(load, one) for load in pair.loads for one in load.differences if one.better is not None]
    return min(rows, key=lambda each: each[1].p or 0.0, default=None)


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
    change = "" if one.ratio is None else numbers.brief_percent(one.ratio)
    return f"{change}{interval(one.interval)}" if one.claimed else f"{change}, {_unclaimed(one)}{_of_noise(one)}".lstrip(", ")


def _unclaimed(one: Difference) -> str:
    return _NOT_CLAIMED if one.counts else judgement(one)


def _of_noise(one: Difference) -> str:
    """` of 7.4%`: the relative change from which it would be significant; empty for other reasons."""
    if one.judgement != "within" or not one.before.value or one.noise is None:
        return ""
    return f" of {numbers.brief_percent(max(one.noise / one.before.value, LEAST_RATIO)).lstrip('+')}"


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
    for name in STAGE_P95S:
        yield from _of((name,), pair)


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
    at_loads = [
        next((load, one) for name in figures for one in load.differences if one.figure == name and one.claimed)
        for load in pair.loads
        if any(one.claimed and one.figure in figures for one in load.differences)
    ]
    for is_better in (True, False):
        same = [each for each in at_loads if each[1].better is is_better]
        if same:
            yield _at_load(*max(same, key=lambda each: _size(each[1])))
    if not at_loads:
        claimed = {one.figure: one for one in pair.overall if one.claimed}
        yield from [overall_words(claimed[name]) for name in figures if name in claimed][:1]


def _size(one: Difference) -> float:
    """The size of a change by its factor, so that halved and doubled are equal; from or to zero it is infinite."""
    return abs(math.log1p(one.ratio)) if one.ratio is not None and one.ratio > -1 else math.inf


def _at_load(load: MatchedLoad, one: Difference) -> str:
    """`p95 at 48 users 385 to 89.7 ms (-77% [-80% to -73%])`."""
    change = (
        ""
        if one.ratio is None or FIGURES[one.figure].unit == "%"
        else f" ({numbers.brief_percent(one.ratio)}{interval(one.interval)})"
    )
    return f"{_values_at(load, one)}{change}"


def _values_at(load: MatchedLoad, one: Difference) -> str:
    values = (one.before.value, one.after.value)
    match FIGURES[one.figure].unit:
        case "ms":
            shown = quantities.latencies(values, " to ")
        case "%":
            shown = f"{' to '.join(f'{100 * (each or 0.0):.2g}%' for each in values)} of requests"
        case _:
            shown = quantities.rates(values, " to ", quantities.rate_cell)
    return f"{title(one)} at {load.name} {'users' if isinstance(load.load, Users) else 'offered'} {shown}"


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
    """Below which load nothing differs; without any claim what is not known, and a level to repeat, or a row that differs."""
    if pair.directions:
        limited = [level.load.users for level in pair.levels if level.at_limit]
        free = any(not level.at_limit and not level.disturbed for level in pair.levels)
        if limited and free and not any(one.claimed for one in pair.overall if one.figure != "goodput"):
            yield f"no significant difference below {min(limited)} users"
    else:
        undisturbed = [level for level in pair.levels if not level.disturbed]
        if undisturbed and not pair.capacities and all(level["goodput"].p is None for level in undisturbed):
            yield "whether goodput differs is unknown: standard errors are missing"
        strongest = _strongest(pair)
        if isolated(pair):
            yield isolated(pair)
        elif strongest is not None:
            yield f"beyond noise by itself: {_at_load(*strongest)}; repeat that level"


def _why_not(pair: Pair, after: str, before: str) -> str:
    """Why the two cannot be compared; empty if they can."""
    undisturbed = [level for level in pair.levels if not level.disturbed]
    if pair.capacities or undisturbed or pair.rates:
        return ""
    if pair.levels:
        return f"Other processes used the machine's CPU at every common user count, so {after} and {before} cannot be compared"
    load = "user count" if pair.before.points or pair.after.points else "load"
    return f"{after} and {before} have no settled {load} in common, so no figure can be compared"
