"""The causes of failed requests that a conclusion names, the most severe first, and whether their failures depend on load."""

from __future__ import annotations

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
    return RequestsFailed(mark, share, even, is_capacity=mark.id in REFUSALS and not even and _has_a_top(view))


def _has_a_top(view: EpochView) -> bool:
    """Whether more users brought no more goodput: only then is a refusal the service's capacity."""
    found = view.knee
    return found is not None and (found.kind in ("knee", "at_or_below") or found.peak is not None)


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
    levels = view.settled()
    ratios = [level.figures.failure_ratio for level in levels]
    known = [ratio for ratio in ratios if ratio]
    causes = [mark for mark in view.marks if mark.kind == "cause" and mark.severity in ("critical", "error")]
    if len(known) < len(ratios) or len({level.users for level in levels}) < 2 or len(causes) > 1:
        return False
    return max(known) <= EVEN_MOST * min(known)
