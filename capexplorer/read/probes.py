"""All probes: opened before load starts, read once per tick by the pump, switched to the new target after a restart."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from ..model.readings import GeneratorReading, HostReading, NeighboursReading, PortsReading, TargetReading, TcpReading
from .metrics import AppProbe
from .neighbours import PartHere, apart_from_target

if sys.platform == "linux":
    from .generator import GeneratorProbe
    from .machine import HostProbe
    from .neighbours import NeighboursProbe
    from .ports import PortsProbe
    from .target import TargetProbe
    from .tcp import TcpProbe
else:
    from .portable import GeneratorProbe, HostProbe, NeighboursProbe, PortsProbe, TargetProbe, TcpProbe


T = TypeVar("T")

METRICS = "the target's metrics"


@dataclass(frozen=True, slots=True)
class Readings:
    """What all probes read in one tick."""

    generator: GeneratorReading
    targets: tuple[TargetReading, ...]
    """Empty while no target is watched."""
    host: HostReading
    neighbours: NeighboursReading
    ports: PortsReading
    tcp: TcpReading
    app: dict[str, float] | None
    """The target's own metrics; None if it has none, or they did not arrive in time."""
    unusable: tuple[str, ...] = ()
    """What could not be used, each with its name: metrics that are no finite numbers, a reader that has ended."""


class Probes:
    """The pump reads; `watch` may be called from any thread. A reader that raises ends, and no other one does."""

    def __init__(self, load_tid: int | None = None, screen_tid: int | None = None, pump_tid: int | None = None) -> None:
        self._generator = GeneratorProbe(load_tid, screen_tid, pump_tid)
        self._host = HostProbe()
        self._neighbours = NeighboursProbe()
        self._ports = PortsProbe()
        self._tcp = TcpProbe()
        self._watched = _Watched(None, None, None, False)
        self._requested: deque[_Watched] = deque()
        self._ended: set[str] = set()
        """Names of readers that have raised, which are not read any more."""
        self._unusable: list[str] = []

    def watch(
        self, pid: int | None, port: int | None = None, metrics_url: str | None = None, *, has_unwatched_service: bool = False
    ) -> None:
        """From the next tick on the target is `pid` and its descendants; None: there is no target to watch.

        `port`: where it listens, for its accept queue and the client ports of connections to it. `has_unwatched_service`: the
        service runs on this machine and is not watched, so the CPU use of other processes is unknown. Files are opened in this
        call.
        """
        target = TargetProbe(pid, port) if pid is not None else None
        self._requested.append(_Watched(target, AppProbe(metrics_url) if metrics_url else None, port, has_unwatched_service))

    def read(
        self,
        elapsed_s: float,
        ports_exhausted: bool = False,
        workers_cpu_ratio: float | None = 0.0,
        parts: Sequence[PartHere] = (),
    ) -> Readings:
        """All readings over the `elapsed_s` since the last call; rates are None at the first call.

        `ports_exhausted`: EADDRNOTAVAIL was seen, so count ports now. `workers_cpu_ratio`: cores used by worker processes of this
        machine, which belong to the generator; None: unknown. `parts`: watched parts on this machine.
        """
        self._switch_target()
        generator = self._of("generator", lambda: self._generator.read(elapsed_s), GeneratorReading())
        no_targets: tuple[TargetReading, ...] = ()
        targets = self._of("target", lambda: self._targets(elapsed_s), no_targets)
        host = self._of("host", lambda: self._host.read(elapsed_s), HostReading())
        ours = [generator.process_cpu_ratio, workers_cpu_ratio, *(target.cpu_ratio for target in targets if target.alive)]
        ours += [None] if self._watched.has_unwatched_service else []
        parts = apart_from_target(parts, self._watched.pids)
        ours += [part.cpu_ratio or 0.0 for part in parts]
        own = (self._watched.pid, *(part.pid for part in parts))
        return Readings(
            generator=generator,
            targets=targets,
            host=host,
            neighbours=self._of(
                "other processes",
                lambda: self._neighbours.read(host.cpu_ratio, ours, own),
                NeighboursReading(),
            ),
            tcp=self._of("tcp", lambda: self._tcp.read(elapsed_s), TcpReading()),
            ports=self._of("ports", lambda: self._ports.read(elapsed_s, dump_now=ports_exhausted), PortsReading()),
            app=self._of(METRICS, self._read_app, None),  # last: it may take half a second
            unusable=self._take_unusable(),
        )

    def _of(self, name: str, read: Callable[[], T], empty: T) -> T:
        """A reader's reading; `empty` once it has raised."""
        if name in self._ended:
            return empty
        try:
            return read()
        except Exception as error:  # the boundary of a reader: what it reads was written by others
            self._ended.add(name)
            self._unusable.append(f"{name} (not read any more): {type(error).__name__}: {error}")
            return empty

    def _read_app(self) -> dict[str, float] | None:
        app = self._watched.app
        found = app.read() if app is not None else None
        self._unusable += [f"{METRICS}: {name}" for name in app.unusable] if app is not None else []
        return found

    def _take_unusable(self) -> tuple[str, ...]:
        found, self._unusable = tuple(self._unusable), []
        return found

    def _switch_target(self) -> None:
        """Switches to the target of the latest `watch`. The old one's files are closed here, in the thread that reads them."""
        while self._requested:
            self._watched.close()
            self._watched = self._requested.popleft()
            self._ended -= {"target", METRICS}
            self._tcp.watch(self._watched.pid, self._watched.port)
            self._ports.watch(self._watched.port)

    def _targets(self, elapsed_s: float) -> tuple[TargetReading, ...]:
        target = self._watched.target
        if target is None:
            return ()
        queue = self._tcp.listen_queue(target.port) if target.port is not None else None
        return (target.read(elapsed_s, queue),)

    def close(self) -> None:
        """Close all files and sockets. Must not be called while `read` runs."""
        self._switch_target()
        for each in (self._generator, self._host, self._ports, self._tcp, self._watched):
            each.close()


class WorkerProbes:
    """The probes of a worker process: itself, and the ports of its machine."""

    def __init__(self, load_tid: int | None, pump_tid: int | None, *, with_ports: bool) -> None:
        self._generator = GeneratorProbe(load_tid, None, pump_tid)
        self._ports = PortsProbe() if with_ports else None

    def read(self, elapsed_s: float) -> tuple[GeneratorReading, PortsReading | None]:
        """Over the `elapsed_s` since the last call."""
        own = msgspec.structs.replace(self._generator.read(elapsed_s), screen_cpu_ratio=0.0)  # a worker has no screen
        return own, self._ports.read(elapsed_s) if self._ports is not None else None


@dataclass(frozen=True, slots=True)
class _Watched:
    target: TargetProbe | None
    app: AppProbe | None
    port: int | None
    has_unwatched_service: bool

    @property
    def pid(self) -> int | None:
        return self.target.pid if self.target is not None else None

    @property
    def pids(self) -> Collection[int]:
        return self.target.pids if self.target is not None else ()

    def close(self) -> None:
        if self.target is not None:
            self.target.close()
