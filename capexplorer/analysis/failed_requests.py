"""The causes of failed requests that a conclusion names, the most severe first, and whether their failures depend on load."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..model.conclusions import RequestsFailed, TargetDied
from ..model.events import Mark
from ..model.findings import Cause
from .causes.catalogue import COUNT_NO_REQUESTS, DEATHS, REFUSALS, invalidates_run
from .epoch_view import EpochView, last_s

SHARE_LEAST = 0.01
"""A cause that failed at least this share of the requests is in the conclusion, whatever its severity."""

EVEN_RATIO_MOST = 2.0
"""Failures do not depend on load if the greatest failure ratio of a level is at most this many times the least."""

EVEN_ERRORS = 2.6
"""Standard errors of its own failure ratio by which a level may lie outside that range."""

NONE_EXPECTED_MOST = 3.0
"""A level where at most this many failures are expected may have none by chance: for 3, the probability is 5% (Poisson)."""


def failed_requests(view: EpochView) -> Iterator[RequestsFailed | TargetDied]:
    """The clauses about failed requests. Causes that invalidate the run have a clause of their own, and those that have ended
    have none.
    """
    for mark in view.causes("generator", "host", "network", "target", "check"):
        share = _share(view, mark)
        if _is_reported(mark, share):
            yield TargetDied(mark) if mark.id in DEATHS else _failed(view, mark, share)


def _is_reported(mark: Mark, share: float | None) -> bool:
    if invalidates_run(mark.id, mark.severity):
        return False
    return mark.severity in ("critical", "error") or mark.id in REFUSALS or (share or 0.0) >= SHARE_LEAST


def _failed(view: EpochView, mark: Mark, share: float | None) -> RequestsFailed:
    even = _at_every_load(view)
    return RequestsFailed(mark, share, even, is_capacity=mark.id in REFUSALS and not even and _failures_limit(view))


def _failures_limit(view: EpochView) -> bool:
    """Whether more users brought no more goodput but more failures: only then is a refusal the service's capacity."""
    found = view.knee
    if found is None:
        return False
    return found.limit == "errors" if found.kind in ("knee", "at_or_below") else found.peak is not None


def _share(view: EpochView, mark: Mark) -> float | None:
    """Share of all requests, from the cause's first occurrence to its last, that it failed; None if it counts no failed
    requests. Failures hidden by a retry are not counted.
    """
    cause = mark.finding
    if not isinstance(cause, Cause) or mark.id in COUNT_NO_REQUESTS or not {"seconds", "deaths"}.isdisjoint(cause.counted):
        return None
    count, hidden = cause.count, cause.counted.get("retried", 0)
    requests = view.requests(cause.first_s or 0.0, last_s(mark))
    return min(1.0, (count - hidden) / requests) if requests and count > hidden else None


def _at_every_load(view: EpochView) -> bool:
    """Whether there is only one cause, and its failure ratio is nearly the same at levels of different users."""
    found = [(level.users, level.figures.failure_ratio, level.figures.requests) for level in view.settled()]
    levels = [(users, ratio, requests) for users, ratio, requests in found if ratio is not None]
    causes = [mark for mark in view.marks if mark.kind == "cause" and mark.severity in ("critical", "error")]
    if len({users for users, _, _ in levels}) < 2 or len(causes) > 1:
        return False
    usual = math.fsum(ratio * (requests or 1) for _, ratio, requests in levels) / sum(requests or 1 for _, _, requests in levels)
    return all(_is_near(ratio, usual, requests) for _, ratio, requests in levels)


def _is_near(ratio: float, usual: float, requests: int) -> bool:
    """Whether a level's failure ratio is the `usual` one, within EVEN_RATIO_MOST and noise. `requests`: 0 if not counted."""
    if not ratio:
        return 0 < usual * requests <= NONE_EXPECTED_MOST
    noise = EVEN_ERRORS * math.sqrt(usual * (1 - usual) / requests) if requests else 0.0
    return usual / math.sqrt(EVEN_RATIO_MOST) - noise <= ratio <= usual * math.sqrt(EVEN_RATIO_MOST) + noise
