"""Admits workers, keeps the list of them, and notices when one is lost. In the load thread.

A worker of capexplorer asks for its job over a separate connection and gets it, or a refusal. Then it connects as a Locust worker
and identifies itself before it reports that it is ready. Messages of a lost worker are refused: it must end, and may join again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import gevent
from locust.env import Environment
from locust.exception import RPCReceiveError
from locust.rpc import Message
from locust.runners import STATE_STOPPED, STATE_STOPPING, MasterRunner
from msgpack import OutOfData  # type: ignore[import-untyped]

from ...errors import InputError
from ...model import outside
from ...model.load import OfferedRate, Rate
from ..engine import Change, Report, RunnerEnded, Spawned, WorkerRefused, WorkersChanged
from . import messages
from .merging import KnownWorker
from .messages import BeginsLevel, Job, WorkerHello, WorkerRate, split

# -- master --------------------------------------------------------------------------------------------------------------------
# Locust's MasterRunner with our own rules on admitted and lost workers, and with dispatches that do not block messages.


LOOK_EVERY_S = 0.25

WHY_MOST = 200
"""Characters of the reason why a worker is lost."""


class Master(MasterRunner):
    """The runner. Call `dispatch` in place of `start`, which does nothing."""

    is_over = False
    """Whether the run has ended, or the locustfile has called `quit`."""

    def __init__(self, environment: Environment, host: str, port: int, registry: WorkerRegistry) -> None:
        self._registry = registry
        super().__init__(environment, host, port)
        receive = self.server.recv_from_client

        def receive_well_formed() -> Any:
            try:
                return receive()  # type: ignore[no-untyped-call]
            except (gevent.GreenletExit, RPCReceiveError):
                raise
            except (ValueError, TypeError, IndexError, OutOfData) as error:  # else malformed bytes end the receiving greenlet
                raise RPCReceiveError(f"not a message: {error}") from error

        self.server.recv_from_client = receive_well_formed  # type: ignore[method-assign]

    def start(self, user_count: int, spawn_rate: float, wait: bool = False, user_classes: Any = None) -> None:
        """Do nothing. Locust calls this when workers join or leave, in the greenlet that receives messages; the engine
        dispatches in another one.
        """

    def quit(self) -> None:
        """End the test for good: workers that leave from now on get no successors, whose start would clear the statistics that
        listeners of `quitting` read.
        """
        self.is_over = True
        super().quit()

    def dispatch(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Send users to workers at this rate. Blocks until all are sent, and up to a second more until they run."""
        super().start(users, spawn_rate, user_classes=classes)

    def heartbeat_worker(self) -> NoReturn:
        """Call `check_workers` regularly, in place of Locust's count of heartbeats, of which a worker may miss four."""
        while True:
            gevent.sleep(LOOK_EVERY_S)
            self._registry.check_workers()

    def handle_message(self, client_id: str, msg: Message) -> None:
        """Pass a message to the registry, and to Locust if the registry says so."""
        try:
            if self._registry.receive(client_id, msg):
                super().handle_message(client_id, msg)
                self._registry.handled(client_id, msg)
        except Exception as error:  # noqa: BLE001 - else a message of one peer ends the greenlet that receives all messages
            why = outside.text(f"its message `{msg.type}` cannot be read: {type(error).__name__}: {error}", WHY_MOST)
            self._registry.lose(client_id, why)

    def send_to(self, client_id: str, kind: str, data: Any = None) -> None:
        """Send one message to one peer."""
        self.server.send_to_client(Message(kind, data, client_id))  # type: ignore[no-untyped-call]

    def active(self) -> list[Any]:
        """Locust's worker nodes that users can be sent to."""
        return [*self.clients.ready, *self.clients.spawning, *self.clients.running]

    def forget(self, client_id: str) -> None:
        """Remove this worker from Locust's list, so that it gets no users."""
        node = self.clients.get(client_id)
        if node is None:
            return
        del self.clients[client_id]
        if self._users_dispatcher is not None:
            self._users_dispatcher.remove_worker(node)

    @property
    def is_stopped(self) -> bool:
        """Whether the locustfile has stopped the test."""
        return self.state in (STATE_STOPPING, STATE_STOPPED)


SILENT_S = 3.0
"""Seconds without a message after which a worker is lost: the time of three reports. A suspended worker is marked within four."""

CLOCK_EVERY_S = 10.0
CLOCK_TRIPS_AT_FIRST = 3

SUSPENDED_S = 1.0
"""Lateness of a call of `check_workers`, in seconds, from which this process was suspended itself: silence does not count."""


# -- the registry --------------------------------------------------------------------------------------------------------------


class WorkerRegistry:
    """Calls `on_change` after the set of workers has changed, and `on_second(worker id, report)`
    with each report.
    """

    def __init__(
        self,
        job: Job,
        report: Callable[[Report], None],
        on_change: Callable[[], None],
        on_second: Callable[[str, Any], None],
        *,
        here: str,
        accepts_plain: bool,
    ) -> None:
        """`here`: name of this machine."""
        self.workers: dict[str, KnownWorker] = {}
        self.unusable: deque[tuple[str, str]] = deque()
        """(worker id, why) of workers to be lost, since the pump's thread cannot use what they report."""
        self.boundary_s: float | None = None
        """`time.monotonic` of a boundary between ticks; None: not known yet."""
        self._job, self._report, self._on_change, self._on_second = job, report, on_change, on_second
        self._here, self._accepts_plain = here, accepts_plain
        self._introduced: dict[str, WorkerHello] = {}
        self._numbers = 0
        self._rate: WorkerRate | None = None
        self._rate_turn = 0
        self._looked_s = time.monotonic()
        self._master: Master | None = None

    def listen(self, environment: Environment, host: str, port: int) -> Master:
        """The runner that listens for workers at this address. Raises RPCError, ZMQError."""
        self._master = Master(environment, host, port, self)
        return self._master

    # -- messages

    def receive(self, client_id: str, message: Message) -> bool:
        """Handle a message. Returns whether Locust must handle it too."""
        worker = self.workers.get(client_id)
        if worker is not None:
            worker.heard_s = time.monotonic()
            return self._of_worker(client_id, worker, message)
        return self._of_stranger(client_id, message)

    def _of_stranger(self, client_id: str, message: Message) -> bool:
        match message.type:
            case messages.HELLO:
                self._greet(client_id, message.data)
            case messages.WHO:
                self._introduced[client_id] = messages.unpacked(message.data, WorkerHello)
            case "client_ready":
                if client_id in self._introduced or self._accepts_plain:
                    return True
                self._refuse(client_id, client_id.rpartition("_")[0], "a plain Locust worker, and --plain-workers was not given")
            case _:
                self._send(client_id, "quit")  # from a worker that was lost or never admitted
        return False

    def _greet(self, client_id: str, data: object) -> None:
        try:
            hello = messages.unpacked(data, WorkerHello)
        except InputError as error:
            self._refuse(client_id, "a worker", str(error))
            return
        why = messages.why_refused(hello)
        if why is not None:
            self._refuse(client_id, hello.host, why)
        else:
            self._send(client_id, messages.JOB, messages.packed(self._job))

    def _refuse(self, client_id: str, host: str, why: str) -> None:
        self._send(client_id, messages.REFUSED, why)
        self._send(client_id, "quit")
        self._report(WorkerRefused(host, why))

    def _of_worker(self, client_id: str, worker: KnownWorker, message: Message) -> bool:
        if worker.is_plain and message.type.startswith(messages.PREFIX):
            raise ValueError("a plain Locust worker has no such message")
        messages.check_locusts_own(message.type, message.data)
        match message.type:
            case "client_ready" if self._master is not None and client_id in self._master.clients:
                self._send(client_id, "ack", {"index": 0})  # it repeated the message, since the first answer took long
                return False
            case messages.CLOCK:
                sent_s, worker_s = (outside.number(message.data[name]) for name in ("sent_s", "worker_s"))
                if sent_s is None or worker_s is None:
                    raise ValueError("a time that is no number")
                worker.clock.trip(sent_s, worker_s, time.monotonic())
                worker.trips += 1
                self._send_boundary(client_id, worker)
                if worker.trips < CLOCK_TRIPS_AT_FIRST:
                    self._ask_clock(client_id, worker)
                return False
            case messages.ENDED:
                if message.data not in ("stop", "quit"):
                    raise ValueError("neither stop nor quit")
                self._report(RunnerEnded(message.data))
                return False
            case "quit":
                self._remove(client_id, "left")
                return False
            case messages.RATE_BEGAN:
                worker.rate_turn = int(message.data)
                self._report_rate_if_begun()
                return False
            case "stats":
                self._on_second(client_id, message.data)
        return True

    def handled(self, client_id: str, message: Message) -> None:
        """Note that Locust has handled a message: a worker is ready, so it has joined; has started its users; or stopped them."""
        worker = self.workers.get(client_id)
        match message.type:
            case "client_ready" if worker is None:
                self._join(client_id)
            case "spawning_complete" if worker is not None:
                worker.started_users = int(message.data["user_count"])
            case "client_stopped" if worker is not None:
                worker.started_users = 0

    def _join(self, client_id: str) -> None:
        hello = self._introduced.pop(client_id, None)
        host = hello.host if hello is not None else client_id.rpartition("_")[0]
        self._numbers += 1
        is_here = host == self._here
        name = str(self._numbers) if is_here else f"{self._numbers}@{host}"
        worker = self.workers[client_id] = KnownWorker(name, hello, is_here, heard_s=time.monotonic())
        if hello is not None:
            self._ask_clock(client_id, worker)
        self._changed("joined", worker)

    # -- regularly, and on demand

    def check_workers(self) -> None:
        """Remove workers that were silent for SILENT_S, and measure clocks. Called every LOOK_EVERY_S."""
        now_s = time.monotonic()
        if now_s - self._looked_s > SUSPENDED_S:
            for worker in self.workers.values():
                worker.heard_s = now_s
        self._looked_s = now_s
        while self.unusable:
            self.lose(*self.unusable.popleft())
        for client_id, worker in tuple(self.workers.items()):
            if now_s - worker.heard_s > SILENT_S:
                self.lose(client_id, f"no report for {SILENT_S:g} s")
            elif worker.hello is not None and now_s - worker.asked_s > CLOCK_EVERY_S:
                self._ask_clock(client_id, worker)

    def lose(self, client_id: str, why: str) -> None:
        """Remove a worker that is assumed to make no load any more."""
        if client_id in self.workers:
            self._remove(client_id, "lost", why)

    def lose_process(self, token: str, why: str) -> None:
        """Remove the worker with this token, whose process has ended."""
        for client_id, worker in tuple(self.workers.items()):
            if worker.hello is not None and worker.hello.token == token:
                self.lose(client_id, why)

    def release(self, token: str) -> None:
        """Move the users of the worker with this token to the others, and ask it to end."""
        for client_id, worker in tuple(self.workers.items()):
            if worker.hello is not None and worker.hello.token == token:
                self._remove(client_id, "left")
                self._send(client_id, "quit")

    def offer(self, offered: OfferedRate) -> None:
        """Split a rate among the workers. `Spawned` is reported when the schedules of all of them have it. Plain Locust workers
        get no part of it.
        """
        self._rate_turn += 1
        self._rate = whole = WorkerRate(turn=self._rate_turn, offered=offered)
        own = [client_id for client_id, worker in self.workers.items() if not worker.is_plain]
        for client_id, rate in zip(own, split(whole, len(own)) if own else (), strict=True):
            self._send(client_id, messages.RATE, messages.packed(rate))

    def end_rate(self) -> None:
        """End the offered rate."""
        self._rate = None
        for client_id in self.workers:
            self._send(client_id, messages.RATE_ENDED)

    def begin_level(self, level: BeginsLevel) -> None:
        """Let workers attribute requests from now on to this level."""
        for client_id, worker in self.workers.items():
            if not worker.is_plain:
                self._send(client_id, messages.LEVEL, messages.packed(level))

    def _report_rate_if_begun(self) -> None:
        if self._rate is not None and all(worker.rate_turn == self._rate.turn for worker in self.workers.values()):
            self._report(Spawned(Rate(self._rate.offered.per_s), time.monotonic()))

    def align_seconds(self, boundary_s: float) -> None:
        """Set the boundaries between ticks: this moment (`time.monotonic`) and every whole second from it."""
        self.boundary_s = boundary_s
        for client_id, worker in self.workers.items():
            self._send_boundary(client_id, worker)

    def _remove(self, client_id: str, change: Change, why: str = "") -> None:
        worker = self.workers.pop(client_id)
        if self._master is not None:
            self._master.forget(client_id)
        self._changed(change, worker, why)

    def _changed(self, change: Change, worker: KnownWorker, why: str = "") -> None:
        self._on_change()
        token = worker.hello.token if worker.hello is not None else ""
        self._report(
            WorkersChanged(change, worker.name, len(self.workers), time.monotonic(), why, plain=worker.is_plain, token=token)
        )

    def _ask_clock(self, client_id: str, worker: KnownWorker) -> None:
        worker.asked_s = time.monotonic()
        self._send(client_id, messages.CLOCK, {"sent_s": worker.asked_s})

    def _send_boundary(self, client_id: str, worker: KnownWorker) -> None:
        if self.boundary_s is not None and worker.clock.is_known:
            self._send(client_id, messages.GRID, {"boundary_s": self.boundary_s - worker.clock.offset_s})

    def _send(self, client_id: str, kind: str, data: Any = None) -> None:
        assert self._master is not None  # no message arrives before there is a master
        self._master.send_to(client_id, kind, data)
