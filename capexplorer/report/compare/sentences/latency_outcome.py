"""The clause of the verdict on latency. A difference caused by the client is attributed to the client."""

from __future__ import annotations

from collections.abc import Sequence

from ..comparison import MatchedLevel, Pair
from ..difference import Difference
from ..figures import HEADLINE_LATENCIES, SERVICE_TIME
from .cells import detectable, isolated, percent, strongest

_CLIENTS = ("client", "partly_client")
_Differences = Sequence[tuple[int, Difference]]


def latency(pair: Pair) -> str:
    """The clause, from levels that other processes did not disturb; empty if there are none."""
    undisturbed = [level for level in pair.levels if not level.disturbed]
    if not undisturbed:
        return ""
    judged = [(level.users, one) for level in undisturbed if (one := _judged_latency(level)) is not None]
    claimed = [(users, one) for users, one in judged if one.claimed]
    return _of_clients(pair, judged, claimed) or _over_all(pair, claimed) or _at_single_counts(pair, judged, claimed)


def _of_clients(pair: Pair, judged: _Differences, claimed: _Differences) -> str:
    judgements = {one.judgement for _, one in judged}
    if not pair.clients or claimed or judgements.isdisjoint(_CLIENTS):
        return ""
    before, after = pair.clients
    classes = f"({after} instead of {before})"
    if "partly_client" in judgements:
        return f"and the difference in latency is at least partly caused by the client {classes}: no verdict on the target"
    return f"and the difference in latency is caused by the client {classes}, not by the target"


def _over_all(pair: Pair, claimed: _Differences) -> str:
    """The difference over all counts; empty if none is significant, or if single counts contradict it."""
    overall = next((one for one in pair.overall if one.claimed and one.figure != "goodput"), None)
    if overall is None or any((one.change or 0.0) * overall.log_ratio <= 0 for _, one in claimed):
        return ""
    most = f", {strongest(claimed)}" if claimed else ""
    over = f"{percent(overall.ratio)} over {overall.levels} user counts{most}"
    return f"and {_change_in_words(overall.figure, overall.log_ratio)} ({over})"


def _at_single_counts(pair: Pair, judged: _Differences, claimed: _Differences) -> str:
    if not claimed:
        details = (detectable(pair, SERVICE_TIME.name) or detectable(pair, "mean")) + isolated(pair, HEADLINE_LATENCIES)
        return f"and latency does not differ beyond noise{details}" if judged else "and the noise of latency is unknown"
    _, one = max(claimed, key=lambda each: abs(each[1].ratio or 0.0))
    also = " and at some counts the opposite" if len({(each.change or 0) > 0 for _, each in claimed}) > 1 else ""
    return f"and {_change_in_words(one.figure, one.change or 0.0)} ({strongest(claimed)}){also}"


def _change_in_words(figure: str, change: float) -> str:
    if figure == SERVICE_TIME.name:
        return f"its service time is {'shorter' if change < 0 else 'longer'}"
    return f"its {'mean latency' if figure == 'mean' else figure} is {'lower' if change < 0 else 'higher'}"


def _judged_latency(level: MatchedLevel) -> Difference | None:
    """The first latency that may be claimed; else the first whose difference the client may explain, or whose noise is known."""
    known = [one for name in HEADLINE_LATENCIES if (one := level[name]).judgement not in ("unknown", "not_measured")]
    differing = [one for one in known if one.claimed] or [one for one in known if one.judgement in _CLIENTS]
    return next(iter(differing or known), None)
