"""Compares two curves: at each common user count, at the knee, and over all levels.

Figures are compared only at equal user counts. A difference caused by client classes is attributed to the client. If other
processes disturbed a level, no difference is claimed there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ...errors import InputError
from ...model.events import clients_of
from ...model.load import Load
from .across_levels import (
    OverallChange,
    Pairs,
    failure_change,
    latency_change,
    overall_change,
    service_time_change,
    widened,
    with_scatter,
)
from .comparison import Comparison, Curve, CurvePoint, MatchedLoad, Pair, Session
from .curves import RATE_FIGURES, curve_of, epochs_of
from .difference import (
    CLAIMED_FIGURES,
    CLAIMED_LATENCIES,
    CLAIMED_RATE_FIGURES,
    HEADLINE_LATENCIES,
    LATENCIES,
    LEVEL_FIGURES,
    SERVICE_TIME,
    STAGE_FIGURES,
    STAGE_P95S,
    Difference,
    difference,
    overhead_difference,
)
from .environment import conditions, distinction, subject
from .estimates import FALSE_MOST, Estimate, pooled, significant_by_holm

# -- claims --------------------------------------------------------------------------------------------------------------------
# Selects the differences that the verdict of a pair may claim, so that few verdicts on equal services claim anything.
#
# The capacity is the answer, and is tested by itself: a doubling is always found. The service time, to which every level
# contributes, has most of FALSE_MOST, since it finds small changes; without it (the client classes differ) goodput has that
# share. A longer latency with the same capacity, or a longer tail, shows in mean latency or p95 below the limit, which are tested
# by themselves (Holm 1979), with the share of the service time, too, if that has changed (fallback procedure; Wiens & Dmitrienko,
# J. Biopharmaceutical Statistics 15, 2005). So are failures over all levels.
#
# Single user counts are tested where one of the two sessions is at its limit (Holm over these counts and figures): below both
# knees the users determine goodput, and only latency and failures can differ, which the tests of the whole curve contain. Such a
# change is claimed only if the counts on one side of it, or the capacity, show it too: a service that collapses now and then may
# do so in one of two equal runs, which no error estimated within one run contains.
#
# The knee follows from goodput and latency, so it is claimed only together with another claim. So is a capacity or goodput that
# is significant by itself, but not at the level of its test (gatekeeping; Maurer, Hothorn & Lehmacher 1995).
#
# The levels of these tests sum to 86% of FALSE_MOST: the errors of services that collapse now and then are too small. They were
# chosen on seeds from 1,200,000: 10 of 180 equal pairs with levels of 10 s were called different, 13 with Holm's method over
# goodput, mean latency and p95, and at least as many of 240 pairs with a change of 10% were found.


CLAIMED_CAPACITY = 0.002 * FALSE_MOST
"""Share of pairs of equal services with a false claim about the capacity alone: enough to find a doubling. At 0.05% it made 5 of
240 verdicts on equal explorations false, since a capacity is that of two or three levels of 6 s."""

CLAIMED_SERVICE_TIME = 0.7 * FALSE_MOST
"""The same of the service time alone."""

CLAIMED_LATENCY = 0.06 * FALSE_MOST
"""The same of mean latency and p95 below the limit (Holm)."""

CLAIMED_FAILURES = 0.04 * FALSE_MOST
"""The same of failures alone."""

CLAIMED_SINGLE = 0.06 * FALSE_MOST
"""The same of single user counts."""

CLAIMED_FEW = 0.4 * FALSE_MOST
"""The same of single user counts if there are too few for tests of the whole curve."""

CLAIMED_RATE = 0.8 * FALSE_MOST
"""Share of pairs of sessions of offered rates with a false claim about the capacity as a rate; single rates have the rest."""

AGREEING_LEAST = 2 / 3
"""Share of the user counts on one side of a claimed one (upwards or downwards, itself included) that must differ in the same
direction."""

SIDE_LEAST = 0.25
"""Least share of the common user counts that such a side has: the highest count alone would confirm itself."""

AGREEING_LEVELS_LEAST = 4
"""Number of common user counts below which a single one needs no confirmation by others."""

OTHERS_LEAST = 2
"""Least number of user counts on such a side, the claimed one included: one count would confirm itself."""


def with_claims(pair: Pair) -> Pair:
    """The pair with `claimed`, `isolated` and `detectable` set in its differences and overall changes."""
    overall = _overall_claims(pair.overall)
    singles = _significant_singles(pair, CLAIMED_SINGLE if overall else CLAIMED_FEW)
    levels = tuple(
        replace(
            level,
            differences=tuple(_claimed(one, level.load, pair, (level.load, one.figure) in singles) for one in level.differences),
        )
        for level in pair.levels
    )
    certain = tuple(
        replace(one, claimed=one.figure == "capacity" and one.counts and one.p is not None and one.p < CLAIMED_CAPACITY)
        for one in pair.knee
    )
    found = replace(pair, levels=levels, overall=overall, knee=certain)
    knee = tuple(replace(one, claimed=one.counts and _is_confirmed(one, found.directions)) for one in pair.knee)
    return _with_rate_claims(replace(found, knee=knee))


def _is_confirmed(one: Difference, directions: frozenset[bool]) -> bool:
    """Whether another claim has its direction, which failures or a latency that changed the other way do not; the knee may move
    either way with a latency.
    """
    return bool(directions) if one.figure == "knee" else one.better in directions


def _with_rate_claims(pair: Pair) -> Pair:
    """Offered rates are a family of their own: the capacity as a rate, and single rates with what it leaves of FALSE_MOST."""
    capacity = pair.rate_capacity
    asked = capacity.p if capacity is not None else None
    family = {(each.load, name): each[name].p for each in pair.rates for name in CLAIMED_RATE_FIGURES}
    measured = {key: p for key, p in family.items() if p is not None}
    singles = significant_by_holm(measured, FALSE_MOST if asked is None else FALSE_MOST - CLAIMED_RATE)
    curves = tuple(
        replace(
            each,
            differences=tuple(
                replace(one, claimed=one.counts and (each.load, one.figure) in singles) for one in each.differences
            ),
        )
        for each in pair.rates
    )
    claimed = capacity and replace(capacity, claimed=capacity.counts and asked is not None and asked < CLAIMED_RATE)
    return replace(pair, rates=curves, rate_capacity=claimed)


def _overall_claims(changes: tuple[OverallChange, ...]) -> tuple[OverallChange, ...]:
    by_figure = {one.figure: one for one in changes}
    first = SERVICE_TIME.name if SERVICE_TIME.name in by_figure else "goodput"
    is_changed = first in by_figure and by_figure[first].counts and by_figure[first].p < CLAIMED_SERVICE_TIME
    latencies = {name: by_figure[name].p for name in CLAIMED_LATENCIES if name in by_figure}
    kept = significant_by_holm(latencies, CLAIMED_LATENCY + CLAIMED_SERVICE_TIME * is_changed)
    levels = {first: CLAIMED_SERVICE_TIME, "failure_ratio": CLAIMED_FAILURES}
    levels |= dict.fromkeys(latencies, CLAIMED_LATENCY / len(latencies) if latencies else 0.0)

    def is_claimed(one: OverallChange) -> bool:
        if one.figure in latencies:
            return one.figure in kept
        return one.p < (FALSE_MOST if one.figure == "goodput" and is_changed else levels.get(one.figure, 0.0))

    return tuple(
        replace(
            one,
            claimed=one.counts and is_claimed(one),
            detectable=one.found_from(levels[one.figure]) if one.figure in levels and one.means is None else None,
        )
        for one in changes
    )


def _significant_singles(pair: Pair, false_most: float) -> frozenset[tuple[Load, str]]:
    """The (load, figure) that are significant, of user counts at which one of the two is at its limit."""
    family = {
        (level.load, one.figure): one.p for level in _at_limit(pair) for one in level.differences if one.figure in CLAIMED_FIGURES
    }
    return significant_by_holm({key: p for key, p in family.items() if p is not None}, false_most)


def _at_limit(pair: Pair) -> list[MatchedLoad]:
    return [level for level in pair.levels if level.at_limit and not level.disturbed]


def _claimed(one: Difference, load: Load, pair: Pair, is_significant: bool) -> Difference:
    stands_out = one.counts and is_significant
    agrees = stands_out and (_capacity_agrees(pair, one) or _agreeing(pair, load, one) >= AGREEING_LEAST)
    return replace(one, claimed=agrees, isolated=stands_out and not agrees)


def _capacity_agrees(pair: Pair, one: Difference) -> bool:
    """Whether the capacity is significantly better where the figure is, or worse where it is."""
    capacity = next((each for each in pair.knee if each.figure == "capacity"), None)
    return capacity is not None and capacity.counts and capacity.better is one.better


def _agreeing(pair: Pair, load: Load, one: Difference) -> float:
    """Share of the user counts on one side of `load` at which the figure differs in this direction; the greater of the two."""
    compared = _at_limit(pair)
    if sum(not level.disturbed for level in pair.levels) < AGREEING_LEVELS_LEAST:
        return 1.0
    if len(compared) < OTHERS_LEAST:
        return 0.0
    least = max(math.ceil(SIDE_LEAST * len(compared)), OTHERS_LEAST)
    here = next(index for index, level in enumerate(compared) if level.load == load)
    same = [each.counts and (each.change or 0) * (one.change or 0) > 0 for each in (level[one.figure] for level in compared)]
    up, down = same[min(here, len(same) - least) :], same[: max(here + 1, least)]
    return max(sum(side) / len(side) for side in (up, down))


def pair_of(before: Curve, after: Curve) -> Pair:
    """The second curve (`after`, theirs) compared with the first (`before`, ours)."""
    common = _common(before.points, after.points)
    users = [ours.load.users for ours, _ in common]
    figures = {
        figure.name: widened(figure.name, [(ours.figures[figure.name], theirs.figures[figure.name]) for ours, theirs in common])
        for figure in (*LEVEL_FIGURES, *STAGE_FIGURES)
        if all(figure.name in each.figures for both in common for each in both)
    }
    disturbed = [ours.disturbed or theirs.disturbed for ours, theirs in common]
    figures["target_cpu"] = with_scatter(figures["target_cpu"])
    clients = _clients(before, after)

    def differences(index: int) -> tuple[Difference, ...]:
        each = (_difference(name, *pairs[index], before, after, clients) for name, pairs in figures.items())
        return tuple(map(_neighbours, each) if disturbed[index] else each)

    knee = (difference("knee", before.knee.get("knee"), after.knee.get("knee")), _capacity(before, after))
    limit = _Limit.of(before, after, *knee)
    if any(is_disturbed and each >= limit.of_one for is_disturbed, each in zip(disturbed, users, strict=True)):
        knee = (_neighbours(knee[0]), _neighbours(knee[1]))
    found = Pair(
        before=before,
        after=after,
        levels=tuple(
            MatchedLoad(ours.load, differences(index), disturbed[index], limit.of_one == math.inf or users[index] >= limit.of_one)
            for index, (ours, _) in enumerate(common)
        ),
        only_before=_only(before.points, after.points),
        only_after=_only(after.points, before.points),
        knee=knee,
        overall=(*_failures(before, after), *_overall(users, figures, disturbed, limit, clients is not None)),
        clients=clients,
    )
    if before.rate_points and after.rate_points:
        found = replace(
            found,
            rates=tuple(
                MatchedLoad(
                    ours.load,
                    tuple(
                        _difference(name, ours.figures[name], theirs.figures[name], before, after, clients)
                        for name in RATE_FIGURES
                    ),
                )
                for ours, theirs in _common(before.rate_points, after.rate_points)
            ),
            only_before=(*found.only_before, *_only(before.rate_points, after.rate_points)),
            only_after=(*found.only_after, *_only(after.rate_points, before.rate_points)),
            rate_capacity=difference("capacity", before.rate_capacity, after.rate_capacity),
        )
    return with_claims(found)


def _common(ours: Sequence[CurvePoint], theirs: Sequence[CurvePoint]) -> list[tuple[CurvePoint, CurvePoint]]:
    """The points of equal loads, ascending."""
    by_load = {point.load: point for point in theirs}
    return [(point, by_load[point.load]) for point in ours if point.load in by_load]


def _only(ours: Sequence[CurvePoint], theirs: Sequence[CurvePoint]) -> tuple[Load, ...]:
    """Loads of `ours` that `theirs` lacks, ascending."""
    others = {point.load for point in theirs}
    return tuple(point.load for point in ours if point.load not in others)


def _neighbours(one: Difference) -> Difference:
    """The difference; a significant one is attributed to other processes on the machine."""
    return replace(one, judgement="neighbours") if one.counts else one


class _Limit(msgspec.Struct, frozen=True):
    """Which user counts saturate one or both of two curves."""

    of_one: float
    """Users from which one of the two is at its limit, at the earliest; infinite if neither is limited."""
    apart_from: float
    apart_until: float
    """Users between which one of them is at its limit and the other is not, so that a mean over levels leaves them out: between
    the two knees, and if these differ beyond noise, between the outer ends of their intervals. Infinite without a knee."""

    @classmethod
    def of(cls, before: Curve, after: Curve, knee: Difference, capacity: Difference) -> _Limit:
        """The limits of two curves, whose knees and capacities differ as given."""
        ends = [curve.limit for curve in (before, after) if curve.limit is not None]
        low, high = min((first for first, _ in ends), default=math.inf), max((last for _, last in ends), default=math.inf)
        if capacity.at_least is not None:
            return cls(low, low, math.inf)
        if knee.counts:
            return cls(low, low, high)
        knees = [users for curve in (before, after) if curve.knee and (users := curve.knee["knee"].value) is not None]
        return cls(low, min(knees, default=math.inf), max(knees, default=math.inf))


def _capacity(before: Curve, after: Curve) -> Difference:
    """The difference of the capacities. If only one curve has a knee, goodput stands for the other's capacity where that is
    clear: its highest load makes more than the first one ever did, and the goodput from where it flattens on, or of that load if
    it does not, is the least that its capacity can be; or no load makes as much as that capacity, although they reach from below
    that knee to beyond it. Else not measured.
    """
    ours, theirs = before.knee.get("capacity"), after.knee.get("capacity")
    unknown = difference("capacity", ours, theirs)
    if (ours is None) == (theirs is None):
        return unknown
    limited, other = (after, before) if ours is None else (before, after)
    measured = [point.figures["goodput"] for point in other.points]
    low, high = limited.limit or (math.inf, math.inf)
    if not measured:
        return unknown
    if _goodput(measured[-1]) > max(_goodput(point.figures["goodput"]) for point in limited.points or other.points):
        _, flat_from = other.limit or (math.inf, math.inf)
        least = pooled([point.figures["goodput"] for point in other.points if point.load.users > flat_from] or measured[-1:])
        found = difference("capacity", ours or least, theirs or least)
        return replace(found, at_least="before" if ours is None else "after") if _is_better(found, theirs is None) else unknown
    most = max(measured, key=_goodput)
    found = difference("capacity", ours or most, theirs or most)
    reaches = other.points[0].load.users < low and other.points[-1].load.users >= high
    return found if reaches and _is_better(found, ours is None) else unknown


def _goodput(one: Estimate) -> float:
    return one.value or 0.0


def _is_better(one: Difference, after: bool) -> bool:
    """Whether it is significant, and for the better if `after`, else for the worse."""
    return one.counts and one.better is after


def _overall(
    common: Sequence[int], figures: Mapping[str, Pairs], disturbed: Sequence[bool], limit: _Limit, other_clients: bool
) -> tuple[OverallChange, ...]:
    """Overall changes over the common user counts: of latencies over those that saturate neither, of goodput over those that
    saturate both, of the service time over both kinds. Without a knee, over all of them.

    Levels disturbed by other processes are left out, and those at which only one of the two is at its limit: they show the
    distance of the knees. Below its knee goodput depends on the users and hardly on the service; beyond it latency depends on
    the users, too.
    """
    free = [index for index, is_disturbed in enumerate(disturbed) if not is_disturbed]
    below = [index for index in free if common[index] < limit.apart_from]
    beyond = [index for index in free if common[index] >= limit.apart_until]

    is_limited = limit.apart_from < math.inf

    def at(name: str, indices: Sequence[int]) -> Pairs:
        return [figures[name][index] for index in indices]

    goodput = overall_change("goodput", at("goodput", beyond if is_limited else free))
    found = [goodput and replace(goodput, beyond=goodput.levels * is_limited)]
    if not other_clients:
        found.append(service_time_change(at("mean", below), at("goodput", beyond)))
        found += [latency_change(name, at(name, below)) for name in (*HEADLINE_LATENCIES, *STAGE_P95S) if name in figures]
    return tuple(each for each in found if each is not None)


def _failures(before: Curve, after: Curve) -> Iterator[OverallChange]:
    """The change of the share of failed requests over all levels that other processes did not disturb."""
    ours, theirs = (
        [(point.load.users, point.figures["failure_ratio"]) for point in curve.points if not point.disturbed]
        for curve in (before, after)
    )
    found = failure_change(ours, theirs)
    yield from [] if found is None else [found]


def _clients(before: Curve, after: Curve) -> tuple[str, str] | None:
    """The client classes if they differ; None if they are the same, or if one of them is unknown."""
    names = [" + ".join(clients_of(curve.run.header)) for curve in (before, after)]
    return (names[0], names[1]) if all(names) and names[0] != names[1] else None


def _difference(
    figure: str, ours: Estimate, theirs: Estimate, before: Curve, after: Curve, clients: tuple[str, str] | None
) -> Difference:
    if clients is not None and figure in LATENCIES:
        return overhead_difference(figure, ours, theirs, _overhead_change(figure, before, after))
    return difference(figure, ours, theirs)


def _overhead_change(figure: str, before: Curve, after: Curve) -> float | None:
    """The difference of the client overheads in ms: of p99 for p95 and p99, of the median for other latencies. None: unknown."""
    if any(len(each.overheads) != 1 or len(clients_of(each.run.header)) != 1 for each in (before, after)):
        return None
    if figure.startswith("tpot"):  # what a client adds to each token is not measured
        return None
    (ours,), (theirs,) = before.overheads.values(), after.overheads.values()
    return theirs.p99_ms - ours.p99_ms if figure.endswith(("p95", "p99")) else theirs.p50_ms - ours.p50_ms


# -- across sessions -----------------------------------------------------------------------------------------------------------
# Makes a typed comparison of sessions: their curves, and the comparison of each with the first one.
#
# Figures are compared only at equal user counts. A difference counts if it exceeds its noise at 95% (`difference`) and 2%. If one
# of the errors is unknown, the noise is unknown and the difference does not count. The overhead of different client classes is
# attributed to the clients. The verdict tests many figures, and claims only those that are significant among all of them
# (`estimates`).


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def compare(sessions: Sequence[Session]) -> Comparison:
    """Compare the other curves with the first one. Raises InputError for fewer than two curves, and for an unknown epoch."""
    split = [(session, epoch) for session in sessions for epoch in epochs_of(session)]
    if len(split) < 2:
        raise InputError("compare: expected two sessions or more, or one with two epochs or more that have settled levels")
    if len(split) > len(LETTERS):
        raise InputError(f"compare: expected at most {len(LETTERS)} sessions and epochs, got {len(split)}")
    found = [curve_of(letter, session, epoch) for letter, (session, epoch) in zip(LETTERS, split, strict=False)]
    runs = [each.run for each in found]
    differing, compared = conditions(runs), subject(runs)
    curves = tuple(replace(each, distinction=distinction((*compared, *differing), at)) for at, each in enumerate(found))
    return Comparison(
        curves=curves, pairs=tuple(pair_of(curves[0], after) for after in curves[1:]), conditions=differing, subject=compared
    )
