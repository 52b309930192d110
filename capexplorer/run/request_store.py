"""The sample of whole requests of a run, from all of its processes, bounded in number and size.

Filled in the pump's thread; read in the screen's thread and that of the run's socket, which get copies. A place is a slot of the
sample, such as "the slowest of this endpoint in this level"; it has at most one request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from ..model.kept_request import EVEN_MOST, FAILURES_MOST, SLOWEST_MOST, KeptRequest, Place, PlacedRequest, RequestBrief, Why

_MOST: dict[Why, int] = {"first": FAILURES_MOST, "last": FAILURES_MOST, "slowest": SLOWEST_MOST, "even": EVEN_MOST}
"""Number of places of each kind. When they are full, the oldest of the slowest requests makes way for a new one, while a failure
of a new kind is not kept."""


class RequestStore:
    """`KeptRequests` of a run. `at_s` turns `time.monotonic` into seconds of the session."""

    why_none = ""

    def __init__(self, at_s: Callable[[float], float]) -> None:
        self._at_s = at_s
        self._kept: dict[Place, KeptRequest] = {}
        self._count: dict[Why, int] = dict.fromkeys(_MOST, 0)
        self._numbers = 0

    def add(self, kept: Iterable[PlacedRequest]) -> None:
        """Add requests that were sampled. Several workers may give one for the same place."""
        for each in kept:
            self._put(each.place, self._numbered(each.request))

    def _numbered(self, request: KeptRequest) -> KeptRequest:
        self._numbers += 1
        t_s = max(0.0, round(self._at_s(request.brief.t_s), 3))
        return msgspec.structs.replace(request, brief=msgspec.structs.replace(request.brief, number=self._numbers, t_s=t_s))

    def _put(self, place: Place, request: KeptRequest) -> None:
        present = self._kept.get(place)
        if present is not None:
            if _replaces(place.why, request.brief, present.brief):
                self._kept[place] = request
            elif place.why == "first":  # of another worker, later than the first: it may be the latest so far
                last = msgspec.structs.replace(request, brief=msgspec.structs.replace(request.brief, why="last"))
                self._put(Place("last", place.key), last)
            return
        if self._count[place.why] >= _MOST[place.why] and not self._drop_oldest(place.why):
            return
        self._count[place.why] += 1
        self._kept[place] = request

    def _drop_oldest(self, why: Why) -> bool:
        """Drop the oldest of the slowest requests. False for other kinds, of which none is dropped."""
        oldest = next((place for place in self._kept if place.why == why), None)
        if why != "slowest" or oldest is None:
            return False
        del self._kept[oldest]
        self._count[why] -= 1
        return True

    # -- from any thread

    def briefs(self) -> Sequence[RequestBrief]:
        """Summaries of all requests, sorted by start."""
        return sorted((request.brief for request in tuple(self._kept.values())), key=lambda brief: brief.t_s)

    def request(self, number: int) -> KeptRequest | None:
        """The whole request with this number; None if it is no longer kept."""
        return next((request for request in tuple(self._kept.values()) if request.brief.number == number), None)

    def all(self) -> Sequence[KeptRequest]:
        """All whole requests, sorted by start."""
        return sorted(tuple(self._kept.values()), key=lambda request: request.brief.t_s)


def _replaces(why: Why, new: RequestBrief, old: RequestBrief) -> bool:
    match why:
        case "first":
            return new.t_s < old.t_s
        case "last":
            return new.t_s >= old.t_s
        case "slowest":
            return new.response_ms > old.response_ms
        case "even":
            return True  # the sampler has drawn this place for the new request
