"""What one tick measured, as a sample: drains the users, reads the probes, and asks for the phase of the level.

Every method is called in the pump's thread. Emits nothing.
"""

from __future__ import annotations

import errno

from ..load.load_thread import LoadThread
from ..model.events import Sample
from ..probe.probes import Probes
from ..profile import Work
from ..steer.requested_load import RequestedLoad
from . import sampling
from .live_levels import LevelTracker
from .part_watch import PartWatch
from .pump import Pump
from .request_store import RequestStore
from .service import Service
from .suspension import SuspensionDetector


class TickSampler:
    """`watch` when the service is ready, `sample` once a tick, `close` at the end."""

    def __init__(
        self,
        load_thread: LoadThread,
        probes: Probes,
        parts: PartWatch,
        pump: Pump,
        requested_load: RequestedLoad,
        tracker: LevelTracker,
        work: Work,
        requests: RequestStore,
    ) -> None:
        self._load_thread, self._probes, self._pump = load_thread, probes, pump
        self._requested_load, self._tracker = requested_load, tracker
        self._parts, self._kept_requests = parts, requests
        self._work = sampling.WorkMeter(work)
        self._suspension = SuspensionDetector()
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
        tick = drained.tick
        self._kept_requests.add(tick.kept)
        exhausted = any(failure.signature.errno == errno.EADDRNOTAVAIL for failure in tick.failures)
        workers_cpu_ratio = drained.workers.here_cpu_ratio if drained.workers is not None else 0.0
        readings = self._probes.read(
            ended_s - started_s,
            ports_exhausted=exhausted,
            workers_cpu_ratio=workers_cpu_ratio,
            parts=self._parts.here,
        )
        suspended_s, offered_per_s = self._suspension.look(lag), self._requested_load.offered_per_s
        wanted = self._requested_load.wanted if offered_per_s is None else drained.users  # the pool's
        phase, settled = self._tracker.tick(
            started_s if drained.began_s is None else min(started_s, self._pump.at_s(drained.began_s)),
            ended_s,
            drained.users,
            tick,
            wanted,
            offered_per_s=offered_per_s,
            is_void=suspended_s is not None or not drained.is_whole,
        )
        self.requests += tick.all_requests
        self.failures += sum(failure.count for failure in tick.failures)
        parts = self._parts.read()
        self._unusable += [*readings.unusable, *self._parts.take_unusable()]
        return sampling.build(
            started_s=started_s,
            ended_s=ended_s,
            level=max(0, self._tracker.index),
            drained=drained,
            wanted=wanted,
            phase=phase,
            settled=settled,
            suspended_s=suspended_s,
            work=self._work.read(tick, readings.app),
            lag=lag,
            readings=readings,
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
