"""The causes of failed requests that a conclusion names, the most severe first, and whether their failures depend on load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..model.conclusions import RequestsFailed, TargetDied
from ..model.events import Mark
from ..model.findings import Cause
from .causes.catalogue import COUNT_NO_REQUESTS, DEATHS, RAISED, REFUSALS, invalidates_run, where
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
    """The clauses about failed requests: severe causes, those that failed many requests, and the one that failed the most. Causes
    that invalidate the run have a clause of their own, and those that have ended have none.
    """
    causes = view.causes("generator", "host", "network", "target", "check")
    shares = {mark.key: _share(view, mark) for mark in causes}
    reported = {mark.key for mark in causes if _is_reported(mark, shares[mark.key])}
    most = max(causes, key=requests_failed, default=None)
    if reported and most is not None and requests_failed(most) and not invalidates_run(most.id, most.severity):
        reported.add(most.key)
    for mark in causes:
        if mark.key in reported and not _is_rather(mark, causes):
            yield TargetDied(mark) if mark.id in DEATHS else _failed(view, mark, shares[mark.key])


def requests_failed(mark: Mark) -> int:
    """Number of requests that a cause failed; 0 if it counts something else. Failures hidden by a retry are not counted."""
    cause = mark.finding
    if not isinstance(cause, Cause) or mark.id in (*COUNT_NO_REQUESTS, *DEATHS) or mark.key.endswith(RAISED):
        return 0
    return 0 if "seconds" in cause.counted else cause.count - cause.counted.get("retried", 0)


def _is_rather(mark: Mark, causes: Sequence[Mark]) -> bool:
    """Whether these failures may have another cause of the same place, which is certain for more failures of this epoch."""
    competing = mark.finding.competing if isinstance(mark.finding, Cause) and mark.id not in DEATHS else ()
    others = (other for other in causes if other.id in competing and where(other.id) == where(mark.id))
    return any(requests_failed(other) > requests_failed(mark) for other in others)


def _is_reported(mark: Mark, share: float | None) -> bool:
    if invalidates_run(mark.id, mark.severity):
        return False
    return mark.severity in ("critical", "error") or mark.id in REFUSALS or (share or 0.0) >= SHARE_LEAST


def _failed(view: EpochView, mark: Mark, share: float | None) -> RequestsFailed:
    even = _is_even(view)
    always = even and all(level.figures.failure_ratio for level in view.settled())
    return RequestsFailed(mark, share, always, is_capacity=mark.id in REFUSALS and not even and _failures_limit(view))


def _failures_limit(view: EpochView) -> bool:
    """Whether more users brought no more goodput but more failures: only then is a refusal the service's capacity."""
    found = view.knee
    if found is None:
        return False
    return found.limit == "errors" if found.kind in ("knee", "at_or_below") else found.peak is not None


def _share(view: EpochView, mark: Mark) -> float | None:
    """Share of all requests that it failed, from the start of the level in which the cause first occurred to the end of that in
    which it last did; None if it counts no failed requests. One failure in a second of 33 requests is not 3%.
    """
    failed, cause = requests_failed(mark), mark.finding
    if not failed or not isinstance(cause, Cause) or mark.id in DEATHS:
        return None
    begin_s, end_s = _levels_around(view, cause.first_s or 0.0, last_s(mark))
    requests = view.requests(begin_s, end_s)
    return min(1.0, failed / requests) if requests else None


def _levels_around(view: EpochView, first_s: float, last_s: float) -> tuple[float, float]:
    """(start of the level at `first_s`, end of the level at `last_s`), in seconds of the session."""
    spans = [(level.started_s, math.inf if level.ended_s is None else level.ended_s) for level in view.levels()]
    begin_s = max((begin for begin, end in spans if begin <= first_s <= end), default=first_s)
    end_s = max((end for begin, end in spans if begin <= last_s <= end), default=last_s)
    return begin_s, min(end_s, view.timeline.last_s)


def _is_even(view: EpochView) -> bool:
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
