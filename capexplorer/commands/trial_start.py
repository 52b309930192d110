"""Starts a service from its command, to see that it starts, where it listens and what it answers; ends it afterwards."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep

from ..errors import TargetError
from ..probe.listener import listening_ports
from ..run.local_workers import SECRET
from ..target import ready
from ..target.free_port import free_port
from ..target.ready import wait_until_ready
from ..target.spec import TargetSpec
from ..target.supervisor import Supervisor

_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class StartedService:
    """A service that runs."""

    port: int
    others: tuple[int, ...] = ()
    """Further ports on which it listens."""

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def started(
    spec: TargetSpec, port: int | None, *, finds_port: bool, on_waiting: Callable[[str], None]
) -> Iterator[StartedService]:
    """The service, until the context ends. `finds_port`: it chooses its own port, which is searched for. `on_waiting`: called
    with what is waited for once the start takes longer than SILENT_S.

    Raises TargetError with its last output lines: it ended, listens nowhere, or is not ready in `spec.ready.timeout_s`.
    """
    os.environ.pop(SECRET, None)  # the service does not inherit it
    supervisor = Supervisor.launch()
    try:
        supervisor.listen(_start_thread, lambda report: None)
        port = port or free_port()
        run = supervisor.start(spec, spec.resolve({}), port)
        others: tuple[int, ...] = ()
        if finds_port:
            port, *rest = _ports(supervisor, run, spec, on_waiting)
            others = tuple(rest)
        wait_until_ready(supervisor, run, spec, port, sleep=sleep, on_waiting=on_waiting)
        yield StartedService(port, others)
    finally:
        supervisor.close()


def _ports(supervisor: Supervisor, run: int, spec: TargetSpec, on_waiting: Callable[[str], None]) -> list[int]:
    """At least one port on which the process or one of its descendants listens."""
    began_s, is_reported = monotonic(), False
    while monotonic() - began_s < spec.ready.timeout_s:
        ended = supervisor.exited(run)
        if ended is not None:
            raise TargetError(f"{spec.name}: ended before it listened on a port ({ended.how_it_ended()})", ended.output)
        found = listening_ports(supervisor.pid) if supervisor.pid is not None else []
        if found:
            return found
        if not is_reported and monotonic() - began_s >= ready.SILENT_S:
            is_reported = True
            on_waiting("it listens on no port")
        sleep(_POLL_S)
    raise TargetError(f"{spec.name}: listens on no port after {spec.ready.timeout_s:g} s", supervisor.output)


def _start_thread(body: Callable[[], None]) -> None:
    threading.Thread(target=body, daemon=True).start()
