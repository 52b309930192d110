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
"""Share of failed requests from which a cause is in the conclusion, whatever its severity."""

EVEN_MOST = 2.0
"""Ratio of the greatest to the least failure ratio of levels, up to which failures do not depend on load."""

EVEN_ERRORS = 2.6
"""Standard errors by which a level may lie outside of that."""

NONE_EXPECTED = 3.0
"""Failures expected at a level, up to which it may have none by chance (5%): where 2% fail, none of 24 requests may."""


def failed_requests(view: EpochView) -> Iterator[RequestsFailed | TargetDied]:
    """The clauses about failed requests, without causes that invalidate the run (or did, before they ended and were
    superseded).
    """
    for mark in view.causes("generator", "host", "network", "target", "check"):
        share = _share(view, mark)
        if _matters(mark, share):
            yield TargetDied(mark) if mark.id in DEATHS else _failed(view, mark, share)


def _matters(mark: Mark, share: float | None) -> bool:
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
    """Share of all requests since the cause began; None if it counts no failed requests."""
    cause = mark.finding
    if not isinstance(cause, Cause) or mark.id in COUNT_NO_REQUESTS or not {"seconds", "deaths"}.isdisjoint(cause.counted):
        return None
    count, hidden = cause.count, cause.counted.get("retried", 0)
    requests = view.requests(cause.first_s or 0.0, last_s(mark))
    return min(1.0, (count - hidden) / requests) if requests and count > hidden else None


def _at_every_load(view: EpochView) -> bool:
    """Whether there is one cause only, with nearly the same failure ratio at levels of different users."""
    found = [(level.users, level.figures.failure_ratio, level.figures.requests) for level in view.settled()]
    levels = [(users, ratio, requests) for users, ratio, requests in found if ratio is not None]
    causes = [mark for mark in view.marks if mark.kind == "cause" and mark.severity in ("critical", "error")]
    if len({users for users, _, _ in levels}) < 2 or len(causes) > 1:
        return False
    usual = math.fsum(ratio * (requests or 1) for _, ratio, requests in levels) / sum(requests or 1 for _, _, requests in levels)
    return all(_is_near(ratio, usual, requests) for _, ratio, requests in levels)


def _is_near(ratio: float, usual: float, requests: int) -> bool:
    """`requests`: 0 if they were not counted."""
    if not ratio:
        return 0 < usual * requests <= NONE_EXPECTED
    noise = EVEN_ERRORS * math.sqrt(usual * (1 - usual) / requests) if requests else 0.0
    return usual / math.sqrt(EVEN_MOST) - noise <= ratio <= usual * math.sqrt(EVEN_MOST) + noise
