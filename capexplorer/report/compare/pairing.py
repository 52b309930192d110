"""Compares two curves: at each common user count, at the knee, and over all levels.

Figures are compared only at equal user counts. A difference caused by client classes is attributed to the client. If other
processes disturbed a level, no difference is claimed there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...model.clients import clients_of
from . import rates
from .across_levels import OverallChange, Pairs, failure_change, latency_change, overall_change, service_time_change, with_scatter
from .claims import with_claims
from .comparison import Curve, MatchedLevel, Pair
from .difference import Difference, difference, overhead_difference
from .estimates import Estimate
from .figures import HEADLINE_LATENCIES, LATENCIES, LEVEL_FIGURES
from .level_noise import widened


def pair_of(before: Curve, after: Curve) -> Pair:
    """The second curve (`after`, theirs) compared with the first (`before`, ours)."""
    ours, theirs = ({point.users: point for point in curve.points} for curve in (before, after))
    common = sorted(ours.keys() & theirs)
    figures = {
        figure.name: widened(
            figure.name, [(ours[users].figures[figure.name], theirs[users].figures[figure.name]) for users in common]
        )
        for figure in LEVEL_FIGURES
    }
    disturbed = [ours[users].disturbed or theirs[users].disturbed for users in common]
    figures["target_cpu"] = with_scatter(figures["target_cpu"])
    clients = _clients(before, after)

    def differences(index: int) -> tuple[Difference, ...]:
        each = (_difference(name, *pairs[index], before, after, clients) for name, pairs in figures.items())
        return tuple(map(_neighbours, each) if disturbed[index] else each)

    knee = (difference("knee", before.knee.get("knee"), after.knee.get("knee")), _capacity(before, after))
    limit = _Limit.of(before, after, *knee)
    if any(is_disturbed and users >= limit.of_one for is_disturbed, users in zip(disturbed, common, strict=True)):
        knee = (_neighbours(knee[0]), _neighbours(knee[1]))
    found = Pair(
        before=before,
        after=after,
        levels=tuple(
            MatchedLevel(users, differences(index), disturbed[index], limit.of_one == math.inf or users >= limit.of_one)
            for index, users in enumerate(common)
        ),
        only_before=tuple(sorted(ours.keys() - theirs.keys())),
        only_after=tuple(sorted(theirs.keys() - ours.keys())),
        knee=knee,
        overall=(*_failures(before, after), *_overall(common, figures, disturbed, limit, clients is not None)),
        clients=clients,
    )

    def compared(figure: str, ours: Estimate, theirs: Estimate) -> Difference:
        return _difference(figure, ours, theirs, before, after, clients)

    if before.rate_points and after.rate_points:
        found = replace(
            found,
            rates=tuple(rates.matched(before, after, compared)),
            rates_only_before=rates.only(before.rate_points, after.rate_points),
            rates_only_after=rates.only(after.rate_points, before.rate_points),
            rate_capacity=rates.capacity_moved(before, after),
        )
    return with_claims(found)


def _neighbours(one: Difference) -> Difference:
    """The difference; a significant one is attributed to other processes on the machine."""
    return replace(one, judgement="neighbours") if one.counts else one


@dataclass(frozen=True, slots=True)
class _Limit:
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
    clear: its highest load makes more than the first one ever did, which is the least that its capacity can be; or no load makes
    as much as that capacity, although they reach from below that knee to beyond it. Else not measured.
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
        found = difference("capacity", ours or measured[-1], theirs or measured[-1])
        return replace(found, at_least="before" if ours is None else "after") if _is_better(found, theirs is None) else unknown
    most = max(measured, key=_goodput)
    found = difference("capacity", ours or most, theirs or most)
    reaches = other.points[0].users < low and other.points[-1].users >= high
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
        found += [latency_change(name, at(name, below)) for name in HEADLINE_LATENCIES]
    return tuple(each for each in found if each is not None)


def _failures(before: Curve, after: Curve) -> Iterator[OverallChange]:
    """The change of the share of failed requests over all levels that other processes did not disturb."""
    ours, theirs = (
        [(point.users, point.figures["failure_ratio"]) for point in curve.points if not point.disturbed]
        for curve in (before, after)
    )
    found = failure_change(ours, theirs)
    yield from [] if found is None else [found]


def _clients(before: Curve, after: Curve) -> tuple[str, str] | None:
    """The client classes if they differ; None if they are the same, or if one of them is unknown."""
    names = [_client(curve) for curve in (before, after)]
    return (names[0], names[1]) if all(names) and names[0] != names[1] else None


def _client(curve: Curve) -> str:
    return " + ".join(clients_of(curve.run.header))


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
    (ours,), (theirs,) = before.overheads.values(), after.overheads.values()
    return theirs.p99_ms - ours.p99_ms if figure in ("p95", "p99") else theirs.p50_ms - ours.p50_ms
