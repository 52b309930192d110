"""Compares two curves: at each common user count, at the knee, and over all levels.

Figures are compared only at equal user counts. A difference caused by client classes is attributed to the client. If other
processes disturbed a level, no difference is claimed there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...model.clients import clients_of
from . import rates
from .across_levels import LEVELS_LEAST, OverallChange, Pairs, overall_change, service_time_change, with_scatter
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

    knees = _knee_counts(before, after)
    least_knee, greatest_knee = min(knees, default=math.inf), max(knees, default=math.inf)
    beyond = [len(knees) == 2 and users >= least_knee for users in common]
    knee = tuple(difference(name, before.knee.get(name), after.knee.get(name)) for name in ("knee", "capacity"))
    found = Pair(
        before=before,
        after=after,
        levels=tuple(MatchedLevel(users, differences(index), disturbed[index]) for index, users in enumerate(common)),
        only_before=tuple(sorted(ours.keys() - theirs.keys())),
        only_after=tuple(sorted(theirs.keys() - ours.keys())),
        knee=tuple(map(_neighbours, knee))
        if any(is_disturbed and is_beyond for is_disturbed, is_beyond in zip(disturbed, beyond, strict=True))
        else knee,
        overall=_overall(common, figures, disturbed, (least_knee, greatest_knee), clients is not None),
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


def _overall(
    common: Sequence[int],
    figures: Mapping[str, Pairs],
    disturbed: Sequence[bool],
    knees: tuple[float, float],
    other_clients: bool,
) -> tuple[OverallChange, ...]:
    """Overall changes of latencies over all common user counts, of goodput over those beyond the knee (or all, if these are too
    few), and of the service time. `knees`: the lesser and the greater knee, in users; infinite if neither session has one.

    Levels disturbed by other processes are left out. Below the knee goodput depends on the users and hardly on the service.
    """
    users = [count for count, is_disturbed in zip(common, disturbed, strict=True) if not is_disturbed]
    free = {
        name: [pair for pair, is_disturbed in zip(pairs, disturbed, strict=True) if not is_disturbed]
        for name, pairs in figures.items()
    }
    saturated = [pair for count, pair in zip(users, free["goodput"], strict=True) if count >= knees[1]]
    enough = len(saturated) >= LEVELS_LEAST
    goodput = overall_change("goodput", saturated if enough else free["goodput"])
    found = [None if goodput is None else replace(goodput, beyond_knee=enough)]
    if not other_clients:
        found.append(service_time_change(users, free["mean"], free["goodput"], *knees))
        found += [overall_change(name, free[name]) for name in HEADLINE_LATENCIES]
    return tuple(each for each in found if each is not None)


def _knee_counts(before: Curve, after: Curve) -> list[float]:
    """Users at the knee of each session that has one."""
    found = [curve.knee["knee"].value for curve in (before, after) if curve.knee]
    return [users for users in found if users is not None]


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
