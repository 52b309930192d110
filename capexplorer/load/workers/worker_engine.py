"""The engine of a worker process: the master's spawn messages start and stop its users."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NoReturn
from uuid import uuid4

import gevent
import msgspec
from gevent.event import Event
from locust import __version__
from locust.env import Environment
from locust.rpc import Message, zmqrpc
from locust.runners import STATE_INIT, STATE_RUNNING, WorkerRunner

from ...errors import InputError
from ...model.load import OfferedRate
from ...model.readings import GeneratorReading, PortsReading
from ..engine import EngineContext
from ..lag import Lag
from ..local_engine import InProcessEngine
from ..offering import WorkerUsers
from ..recorder import RecordedTick
from ..user_code import UserError, UserErrors
from . import messages
from .messages import (
    HELLO,
    JOB,
    KEY,
    REFUSED,
    USER_ERRORS_MOST,
    BeginsLevel,
    Job,
    UserErrorCount,
    WorkerHello,
    WorkerRate,
    WorkerSecond,
)

# -- joining -------------------------------------------------------------------------------------------------------------------
# A worker's request for its job, over a connection used only for that. In the load thread.


ASK_EVERY_S = 2.0
"""Time to wait for an answer before asking again: the run may start later than its workers."""


def ask(host: str, port: int, hello: WorkerHello, within_s: float) -> Job:
    """The job. Raises InputError if the run refuses this worker, or does not answer in time (there is no run, or secrets
    differ).
    """
    client = zmqrpc.Client(host, port, f"{hello.host}_{uuid4().hex}")  # type: ignore[no-untyped-call]
    deadline_s = time.monotonic() + within_s
    try:
        while (left_s := deadline_s - time.monotonic()) > 0:
            client.send(Message(HELLO, messages.packed(hello), ""))  # type: ignore[no-untyped-call]
            with gevent.Timeout(min(left_s, ASK_EVERY_S), False):
                answer = client.recv()  # type: ignore[no-untyped-call]
                if answer.type == REFUSED:
                    raise InputError(f"the run at {host}:{port} refuses this worker: {answer.data}")
                if answer.type == JOB:
                    return messages.unpacked(answer.data, Job)
    finally:
        client.close(linger=0)  # type: ignore[no-untyped-call]
    raise InputError(f"no answer of a run at {host}:{port} in {within_s:g} s: is it there, with the same secret and --bind?")


# -- worker runner -------------------------------------------------------------------------------------------------------------
# Locust's WorkerRunner, which in addition identifies itself, reports each second, and stops its users if the master is
# silent.


ABANDONED_S = 3.0
"""Seconds without a message of the master, which answers each heartbeat, after which users stop: their load is not measured."""

GIVEN_UP_S = 15.0
"""Seconds without a message of the master after which the worker ends."""


class Worker(WorkerRunner):
    """The runner. `report` sends the report on one second."""

    def __init__(self, environment: Environment, engine: WorkerEngine) -> None:
        self._engine = engine
        self.ended_because = ""
        """Why the master ended this worker; empty before that, and at the normal end of the run."""
        self.has_ended = False
        self._waiting: deque[bytes] = deque(maxlen=60)
        self._news = Event()
        self._heard_s = time.monotonic()
        super().__init__(environment, *engine.address)

    def report(self, second: bytes) -> None:
        """Send this report now, in a `stats` message of Locust."""
        self._waiting.append(second)
        self._news.set()

    def stats_reporter(self) -> NoReturn:
        """Send waiting reports as soon as there are any, in place of Locust's fixed period."""
        while True:
            self._news.wait()
            self._news.clear()
            while self._waiting:
                data: dict[str, Any] = {KEY: self._waiting.popleft()}
                self.environment.events.report_to_master.fire(client_id=self.client_id, data=data)  # type: ignore[no-untyped-call]
                self.send_message("stats", data)

    def connect_to_master(self) -> None:
        """Identify this worker, and then report that it is ready."""
        self.send_message(messages.WHO, self._engine.hello)  # type: ignore[arg-type]
        super().connect_to_master()  # type: ignore[no-untyped-call]

    def handle_message(self, msg: Message) -> None:
        """Handle our own kinds of messages, and let Locust handle its own."""
        self._heard_s = time.monotonic()
        match msg.type:
            case messages.CLOCK:
                self.send_message(messages.CLOCK, {**msg.data, "worker_s": time.monotonic()})
            case messages.GRID:
                self._engine.on_boundary(msg.data["boundary_s"])
            case messages.LEVEL:
                level = messages.unpacked(msg.data, BeginsLevel)
                self._engine.begin_level(level.index, level.experiment)
            case messages.RATE:
                self._engine.offer_share(self, msg.data)
            case messages.RATE_ENDED:
                self._engine.end_rate(self)
            case messages.REFUSED:
                self.ended_because = str(msg.data)
            case "quit":
                self.has_ended = True  # the main thread sees this and ends the process gracefully
            case "stop":
                self._stop_for_now()
            case _:
                super().handle_message(msg)

    def _stop_for_now(self) -> None:
        """Stop the test as Locust does, since the run's locustfile has stopped it. `Worker.stop` is not called on the instance,
        where it would count as a call by this worker's user code.
        """
        self._engine.end_rate(self)
        type(self).stop(self)
        self.send_message("client_stopped")
        self.client.send(Message("client_ready", __version__, self.client_id))  # type: ignore[no-untyped-call]
        self.worker_state = STATE_INIT

    def start_worker(self, user_classes_count: dict[str, int], **kwargs: Any) -> None:
        """Start and stop users as the master requests, but keep those that a pool has added, which the master does not know."""
        if self._engine.offers:
            present = self.target_user_classes_count
            user_classes_count = {kind: max(count, present.get(kind, 0)) for kind, count in user_classes_count.items()}
        super().start_worker(user_classes_count, **kwargs)

    def spawning_complete(self, user_count: int) -> None:
        """Report the users of the step, of whom some may have died meanwhile: they are replaced."""
        present = self.target_user_classes_count
        self.send_message("spawning_complete", {"user_classes_count": present, "user_count": sum(present.values())})
        self.worker_state = STATE_RUNNING

    def heartbeat_timeout_checker(self) -> NoReturn:
        """Check how long the master has been silent, in place of Locust's check for a minute of silence."""
        while True:
            gevent.sleep(0.5)
            silent_s = time.monotonic() - self._heard_s
            if silent_s > GIVEN_UP_S:
                self.ended_because, self.has_ended = f"the run has not answered for {GIVEN_UP_S:g} s", True
                self.stop_users(self.user_classes_count)
            elif silent_s > ABANDONED_S and self.user_count:
                self._engine.end_rate(self)
                self.target_user_classes_count, self.target_user_count = {}, 0
                self.stop_users(self.user_classes_count)


# -- the engine ----------------------------------------------------------------------------------------------------------------


class WorkerEngine(InProcessEngine):
    """The `LoadEngine` of a worker, whose users the master sets."""

    def __init__(
        self, context: EngineContext, address: tuple[str, int], hello: bytes, on_boundary: Callable[[float], None]
    ) -> None:
        """`hello`: the same as in its request for a job. `on_boundary` gets a boundary between ticks, by this machine's clock."""
        super().__init__(context)
        self.address, self.hello, self.on_boundary = address, hello, on_boundary

    def create_runner(self, environment: Environment) -> None:
        """Make a WorkerRunner and join. Raises ConnectionError."""
        self.runner = runner = environment.runner = Worker(environment, self)
        self.replace_dead_users(lambda: runner.target_user_classes_count)

    @property
    def offers(self) -> bool:
        """Whether a rate is offered, whose pool of users the master's messages must not reduce."""
        return self._context.offering.is_on

    def end_rate(self, runner: Any) -> None:
        """End the rate."""
        self._context.offering.close(lambda: runner.user_count <= runner.target_user_count)

    def offer_share(self, runner: Any, data: object) -> None:
        """Offer the share of a rate that the master sent. The first may arrive before `create_runner` returns."""
        rate = messages.unpacked(data, WorkerRate)
        self._context.offering.offer(
            rate.offered, WorkerUsers(runner), began=lambda: runner.send_message(messages.RATE_BEGAN, rate.turn)
        )

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Do nothing: a worker's users follow the master's steps."""

    def offer(self, offered: OfferedRate) -> None:
        """Do nothing: a worker's rate is its share of the master's."""


def second_of(
    tick: RecordedTick,
    *,
    began_s: float,
    lag: Lag,
    errors: UserErrors,
    replaced: int,
    generator: GeneratorReading,
    ports: PortsReading | None,
) -> WorkerSecond:
    """The report on the second of this tick, which began at `began_s`."""
    return WorkerSecond(
        **msgspec.structs.asdict(msgspec.structs.replace(tick, duration_s=tick.t_s - began_s)),
        user_errors=_user_errors(errors),
        replaced=replaced,
        generator=lag.added_to(generator),
        ports=ports,
    )


def _user_errors(errors: UserErrors) -> tuple[UserErrorCount, ...]:
    """The USER_ERRORS_MOST most frequent exceptions since the last call; the count of the last one includes all others."""
    counts: Counter[UserError] = Counter(errors.waiting.popleft() for _ in range(len(errors.waiting)))
    common = counts.most_common(USER_ERRORS_MOST)
    rest = counts.total() - sum(count for _, count in common)
    found = [UserErrorCount(each.type, each.text, each.line, count) for each, count in common]
    if rest:
        last = found[-1]
        found[-1] = UserErrorCount(last.type, last.text, last.line, last.count + rest)
    return tuple(found)
