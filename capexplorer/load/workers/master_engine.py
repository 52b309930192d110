"""Users in worker processes: Locust's MasterRunner in the load thread distributes them, and the workers' reports become ticks."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import gevent
import msgspec
import zmq
from gevent.lock import BoundedSemaphore
from locust.env import Environment
from locust.exception import RPCError
from zmq.error import ZMQError

from ...errors import InputError
from ...model.experiments import Experiment
from ...model.kept_request import PlacedRequest
from ...model.load import OfferedRate
from ..engine import Drained, EngineContext, SecondReported
from ..locust_bounds import STALLED_S
from ..offering import BEGIN_PER_S, FIRST_MOST, SPARE_S
from ..user_code import KEPT, UserError
from .merging import Gathering, KnownWorker, Merging, busiest, workers_reading
from .messages import KEY, BeginsLevel, Job, MergedRate, WorkerSecond, reported_second
from .worker_registry import WorkerRegistry

_log = logging.getLogger(__name__)

POLL_S = 0.05


class MasterOptions(msgspec.Struct, frozen=True):
    """How workers find the run, and which may join."""

    bind_host: str = "127.0.0.1"
    port: int = 0
    """0: any free port."""
    accepts_plain: bool = False
    """Whether plain Locust workers may join."""
    here: str = ""
    """Name of this machine."""


class MasterEngine:
    """The `LoadEngine` whose users run in worker processes."""

    runner: Any = None

    def __init__(self, context: EngineContext, options: MasterOptions, job: Job) -> None:
        """`job`: sent to workers that join."""
        self._context, self._options = context, options
        self.registry = WorkerRegistry(
            job,
            context.report,
            self._on_change,
            self._on_second,
            here=options.here,
            accepts_plain=options.accepts_plain,
        )
        self._turn = BoundedSemaphore(1)
        self._dispatching: Any = None
        self._latest_step: tuple[int, float, Any] = (0, 1.0, None)
        """Users, spawn rate and classes of the latest step."""
        self._came: deque[tuple[str, Any, float | None, float]] = deque()
        """(worker, report, the worker's CPU in cores, time of receipt), passed from the load thread to the pump's."""
        self._sets: deque[tuple[tuple[str, ...], float]] = deque()
        """(workers, `time.monotonic` since when they make the load), passed in the same way."""
        self._gathering, self._merging = Gathering(), Merging()
        self._replaced: dict[str, int] = {}
        self._offered: OfferedRate | None = None
        """None: no rate is offered."""
        self._merged_rate = MergedRate()

    # -- in the load thread

    @property
    def port(self) -> int:
        """Where workers connect."""
        return int(self.runner.server.port)

    def create_runner(self, environment: Environment) -> None:
        """Make a MasterRunner, which listens for workers. Raises InputError if it cannot listen at this address."""
        host, port = self._options.bind_host, self._options.port
        try:
            self.runner = environment.runner = self.registry.listen(environment, host, port)
        except (RPCError, ZMQError) as error:
            failed = error.__context__ if isinstance(error, RPCError) else error
            why = zmq.strerror(failed.errno).lower() if isinstance(failed, ZMQError) and failed.errno is not None else str(error)
            at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise InputError(f"workers cannot join at {at}: {why}; expected an address of this machine and a free port") from None
        if environment.shape_class is not None:
            environment.shape_class.runner = self.runner

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Begin a step in a greenlet of its own, which replaces a step that is under way."""
        if self._offered is not None:
            self._offered = None
            self.registry.end_rate()
        self._latest_step = (users, spawn_rate, classes)
        self._redispatch()

    def offer(self, offered: OfferedRate) -> None:
        """Split the rate among the workers, which have pools of their own. The first users are dispatched, so that a test
        begins.
        """
        is_new, self._offered = self._offered is None, offered
        self.registry.offer(offered)
        if is_new:
            first = max(len(self.registry.workers), min(FIRST_MOST, math.ceil(offered.per_s * SPARE_S)), self._latest_step[0])
            self._latest_step = (min(first, offered.max_users), BEGIN_PER_S, None)
            self._redispatch(offers=False)

    def begin_level(self, index: int, experiment: Experiment | None) -> None:
        """Send the level's index to the workers, which keep requests, and its experiment."""
        self.registry.begin_level(BeginsLevel(index=index, experiment=experiment))

    def repeat_step(self) -> None:
        """Dispatch the latest step again: to other workers, or to those that have stopped their users."""
        if self.runner is not None and self._dispatching is not None:
            self._redispatch()

    def _redispatch(self, *, offers: bool = True) -> None:
        """Dispatch the latest step, and with `offers` also the offered rate."""
        if offers and self._offered is not None:
            self.registry.offer(msgspec.structs.replace(self._offered, at_once=False))
        with self._turn:
            if self._dispatching is not None:
                self._dispatching.kill()
            self._dispatching = gevent.spawn(self._dispatch, *self._latest_step)

    def _dispatch(self, users: int, spawn_rate: float, classes: Any) -> None:
        self.runner.target_user_count = users
        if (users == 0 and self.runner.is_stopped) or not self.runner.active():
            if users == 0:
                self._context.on_spawned()  # there are no users to stop
            return  # otherwise the step begins when a worker joins
        self.runner.dispatch(users, spawn_rate, classes)
        expected = sum(self.runner.target_user_classes_count.values())  # fewer than wanted with a `fixed_count`
        self._wait_for(expected)
        self._context.on_spawned()

    def _wait_for(self, users: int) -> None:
        """Wait until this many users have started, or until the number that run has not changed for STALLED_S."""
        running, quiet_s = self.runner.user_count, 0.0
        while not self._have_started(users) and quiet_s < STALLED_S:
            gevent.sleep(POLL_S)
            quiet_s = quiet_s + POLL_S if self.runner.user_count == running else 0.0
            running = self.runner.user_count
        if not self._have_started(users):
            _log.warning("%d users run instead of %d: no more have started for %g s", self.runner.user_count, users, STALLED_S)

    def _have_started(self, users: int) -> bool:
        """Whether the workers have started this many users, those that died since and are replaced included; more may run in the
        pools of an offered rate.
        """
        count = sum(worker.started_users for worker in self.registry.workers.values())
        return bool(count >= users if self._offered is not None else count == users)

    def _on_change(self) -> None:
        self._sets.append((tuple(self.registry.workers), time.monotonic()))
        if self._dispatching is not None and not self.runner.is_over:
            gevent.spawn(self._redispatch)

    def _on_second(self, client_id: str, data: Any) -> None:
        worker, now_s = self.registry.workers[client_id], time.monotonic()
        if worker.hello is not None:
            blob = data.pop(KEY, None)
            if blob is not None:
                self._came.append((client_id, blob, None, now_s))
                self._context.report(SecondReported())
            return
        node = self.runner.clients.get(client_id)
        cpu = node.cpu_usage / 100 if node is not None else None
        for second in worker.plain.seconds(data, cpu, now_s):
            self._came.append((client_id, second, cpu, now_s))

    # -- from other threads

    @property
    def users(self) -> int:
        """Users running, as the workers last reported to Locust, which does not count those that are about to be replaced."""
        return int(self.runner.user_count) if self.runner is not None else 0

    @property
    def replaced(self) -> int:
        """Dead users replaced by all workers so far."""
        return sum(self._replaced.values())

    # -- in the pump's thread

    def is_due(self, boundary_s: float) -> bool:
        """Whether all workers have reported the second that ends at this moment."""
        self._take_in()
        return self._gathering.is_complete(boundary_s)

    def _take_in(self) -> None:
        while self._sets:
            self._gathering.expect(*self._sets.popleft())
        while self._came:
            client_id, report, _, _ = self._came.popleft()
            worker = self.registry.workers.get(client_id)
            if worker is None:
                continue
            try:
                second = report if isinstance(report, WorkerSecond) else placed(reported_second(report), worker.clock.offset_s)
            except InputError as error:
                self.registry.unusable.append((client_id, str(error)))
                continue
            self._gathering.add(client_id, second, in_turn=worker.hello is None)

    def drain(self, boundary_s: float) -> Drained:
        """The merged reports of the workers on the second that ends at this moment."""
        self._take_in()
        gathered = self._gathering.take(boundary_s)
        workers = dict(tuple(self.registry.workers.items()))  # the load thread changes it
        for client_id, second in gathered.seconds:
            self._count_user_errors(client_id, second)
        offered = self._merged_rate.tick([(worker, second.offered) for worker, second in gathered.seconds], workers)
        tick = self._merging.merge([second for _, second in gathered.seconds], boundary_s, offered)
        users = tick.users if gathered.is_whole else self.users
        return Drained(
            msgspec.structs.replace(tick, users=users, kept=self._kept(gathered.seconds, workers)),
            is_whole=gathered.is_whole,
            generator=busiest(dict(gathered.seconds)),
            workers=workers_reading(workers, gathered),
        )

    def _kept(self, seconds: Iterable[tuple[str, WorkerSecond]], workers: Mapping[str, KnownWorker]) -> tuple[PlacedRequest, ...]:
        """Requests that workers kept. Of the uniform samples, each worker contributes its share of the places."""
        order, found = list(workers), []
        for client_id, second in seconds:
            if client_id not in workers:
                continue
            for each in second.kept:
                if each.place.why != "even" or int(each.place.key) % len(order) == order.index(client_id):
                    own = PlacedRequest(each.place, msgspec.structs.replace(each.request, worker=workers[client_id].name))
                    found.append(own.named(*self._merging.names.canonical(*own.endpoint)))
        return tuple(found)

    def _count_user_errors(self, client_id: str, second: WorkerSecond) -> None:
        self._replaced[client_id] = second.replaced
        for each in second.user_errors:
            self._context.errors.waiting.extend([UserError(each.type, each.text, each.line)] * min(each.count, KEPT))

    def drain_all(self) -> None:
        """Let the next drain include all waiting failures."""
        self._merging.drain_all_failures()


def placed(second: WorkerSecond, offset_s: float) -> WorkerSecond:
    """A worker's second with its times by the master's clock. `offset_s`: from `ClockOffset`."""
    kept = tuple(PlacedRequest(each.place, each.request.moved(offset_s)) for each in second.kept)
    return msgspec.structs.replace(second, t_s=second.t_s + offset_s, kept=kept)
