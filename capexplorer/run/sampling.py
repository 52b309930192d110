"""What one tick measured, as a sample: drains the users, reads the probes, and asks for the phase of the level.

Every method is called in the pump's thread. Emits nothing.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..load.engine import Drained
from ..model.events import Sample, Tick
from ..model.kept_request import EVEN_MOST, FAILURES_MOST, SLOWEST_MOST, KeptRequest, Place, PlacedRequest, RequestBrief, Why
from ..model.load import Users
from ..model.readings import GeneratorReading
from ..profile import Work
from ..read.probes import Probes
from ..steer.requested_load import RequestedLoad
from .context import RunContext
from .live_levels import LiveLevels
from .part_watch import PartWatch
from .pump import INTERVAL_S, Pump, SuspensionDetector, waited_s
from .service import Service

if TYPE_CHECKING:
    from ..load.load_thread import LoadThread  # imports Locust, which patches the process


class FinishedWork(NamedTuple):
    """Of one tick, by the names of its fields in a sample."""

    work: float | None
    """None: it could not be measured."""
    work_beyond_limits: float | None = None
    warmup_work: float = 0.0


class WorkMeter:
    """Finished work per tick: successful requests, those within limits if there are limits on a single request, or the growth of
    the target's own counter."""

    def __init__(self, work: Work, *, is_limited: bool) -> None:
        self._endpoints, self._metric, self._is_limited = frozenset(work.endpoints), work.metric, is_limited
        self._last: float | None = None

    def read(self, tick: Tick, app: dict[str, float] | None) -> FinishedWork:
        """It is not measured when the counter could not be read, now or a tick ago, or fell, and under limits when a worker is
        plain Locust."""
        if self._metric is None:
            return self._successes(tick)
        value = (app or {}).get(self._metric)
        last, self._last = self._last, value
        if value is None or last is None or value < last:
            return FinishedWork(None)
        return FinishedWork(value - last)

    def _successes(self, tick: Tick) -> FinishedWork:
        of = [each for each in tick.endpoints if not self._endpoints or f"{each.method} {each.name}" in self._endpoints]
        successes = float(sum(each.requests - each.failures for each in of))
        warmup = float(sum(each.warmup_requests - each.warmup_failures - each.warmup_beyond_limits for each in of))
        if not self._is_limited:
            return FinishedWork(successes, None, warmup)
        if any(each.within_limits is None for each in of):
            return FinishedWork(None)
        within = float(sum(each.within_limits or 0 for each in of))
        return FinishedWork(within, successes - within, warmup)


class TickSampler:
    """`watch` when the service is ready, `sample` once a tick, `close` at the end."""

    def __init__(
        self,
        context: RunContext,
        load_thread: LoadThread,
        requested_load: RequestedLoad,
        levels: LiveLevels,
        parts: PartWatch,
        requests: RequestStore,
        probes: Probes,
    ) -> None:
        self._pump, self._load_thread, self._probes = context.pump, load_thread, probes
        self._requested_load, self._levels = requested_load, levels
        self._parts, self._kept_requests = parts, requests
        profile = context.options.profile
        self._work = WorkMeter(profile.work, is_limited=profile.slo.of_request is not None)
        self._suspension = SuspensionDetector(waited_s=partial(waited_s, (context.pump.thread_id, load_thread.native_id)))
        self.requests = self.failures = 0
        """Requests and failures of the session so far, warm-up included."""
        self._unusable: list[str] = []

    def beat(self) -> None:
        """Check for a suspension, and poll the parts shortly before a tick. Called several times a second."""
        self._suspension.beat()
        self._parts.beat(self._pump.until_tick_s)

    def watch(self, service: Service) -> None:
        """Read the processes of this service from now on."""
        has_unwatched_service = service.pid is None and service.is_here
        self._probes.watch(service.pid, service.port or None, service.metrics_url, has_unwatched_service=has_unwatched_service)

    def sample(self, started_s: float, ended_s: float) -> Sample:
        """The sample of the tick between these two times in seconds of the session."""
        drained, lag = self._load_thread.drain(self._pump.boundary_s), self._load_thread.lag.drain()
        tick, workers = drained.tick, drained.workers
        self._kept_requests.add(tick.kept)
        readings = self._probes.read(
            ended_s - started_s,
            ports_exhausted=any(failure.signature.errno == errno.EADDRNOTAVAIL for failure in tick.failures),
            workers_cpu_ratio=workers.here_cpu_ratio if workers is not None else 0.0,
            parts=self._parts.here,
        )
        suspended_s, load = self._suspension.look(lag), self._requested_load.load
        wanted = load.users if isinstance(load, Users) else tick.users  # the pool's
        phase, settled = self._levels.tick(
            started_s if workers is None else min(started_s, self._pump.at_s(tick.t_s - tick.duration_s)),
            ended_s,
            tick,
            is_void=suspended_s is not None or not drained.is_whole,
        )
        self.requests += tick.all_requests
        self.failures += sum(failure.count for failure in tick.failures)
        parts = self._parts.read()
        self._unusable += [*readings.unusable, *self._parts.take_unusable()]
        own = readings.generator or GeneratorReading()
        counted: dict[str, Any] = {name: getattr(tick, name) for name in Tick.__struct_fields__}
        known: dict[str, Any] = {
            "t_s": ended_s,
            "duration_s": INTERVAL_S if workers is not None and drained.is_whole else ended_s - started_s,
            "level": max(0, self._levels.index),
            "wanted": wanted,
            "phase": phase,
            "settled": settled,
            "suspended_s": suspended_s,
            **self._work.read(tick, readings.app)._asdict(),
        }
        return Sample(
            **counted | known,
            generator=lag.added_to(own) if workers is None else _of_workers(drained, own),
            workers=workers,
            targets=readings.targets,
            host=readings.host,
            neighbours=readings.neighbours,
            ports=readings.ports,
            tcp=readings.tcp,
            app=readings.app or {},
            parts=parts,
        )

    def take_unusable(self) -> list[str]:
        """Names of values since the last call that were left out: they are not finite, too large, or too many."""
        found, self._unusable = self._unusable, []
        return found

    def close(self) -> None:
        """Close the probes' files, and end what reads the parts."""
        self._probes.close()
        self._parts.end()


def _of_workers(drained: Drained, own: GeneratorReading) -> GeneratorReading:
    """The reading of the busiest worker, with the CPU of the threads of this process that draw the screen and record."""
    found = drained.generator or GeneratorReading()
    return msgspec.structs.replace(found, screen_cpu_ratio=own.screen_cpu_ratio, recorder_cpu_ratio=own.recorder_cpu_ratio)


# -- request store -------------------------------------------------------------------------------------------------------------
# The sample of whole requests of a run, from all of its processes, bounded in number and size.
#
# Filled in the pump's thread; read in the screen's thread and that of the run's socket, which get copies. A place is a slot of
# the sample, such as "the slowest of this endpoint in this level"; it has at most one request.


_PLACES_MOST: dict[Why, int] = {"first": FAILURES_MOST, "last": FAILURES_MOST, "slowest": SLOWEST_MOST, "even": EVEN_MOST}
"""Number of places of each kind. When they are full, the oldest of the slowest requests makes way for a new one, while a failure
of a new kind is not kept."""


class RequestStore:
    """`KeptRequests` of a run."""

    why_none = ""

    def __init__(self, pump: Pump) -> None:
        self._pump = pump
        self._kept: dict[Place, KeptRequest] = {}
        self._count: dict[Why, int] = dict.fromkeys(_PLACES_MOST, 0)
        self._numbers = 0

    def add(self, kept: Iterable[PlacedRequest]) -> None:
        """Add requests that were sampled. Several workers may give one for the same place."""
        for each in kept:
            self._put(each.place, self._numbered(each.request))

    def _numbered(self, request: KeptRequest) -> KeptRequest:
        self._numbers += 1
        t_s = max(0.0, round(self._pump.at_s(request.brief.t_s), 3))
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
        if self._count[place.why] >= _PLACES_MOST[place.why] and not self._drop_oldest(place.why):
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
