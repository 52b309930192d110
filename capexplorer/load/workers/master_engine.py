"""Users in worker processes: Locust's MasterRunner in the load thread sends them, and what workers report becomes a tick."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gevent
import msgspec
from gevent.lock import BoundedSemaphore
from locust.env import Environment

from ...errors import InputError
from ...model.kept_request import PlacedRequest
from ...model.offered import Arrivals
from ..bounded_waits import STALLED_S, Stalled
from ..engine import Drained, EngineContext
from ..offered.pool import FIRST_MOST, SPARE_S
from ..offered.pool_users import BEGIN_PER_S
from ..user_code import UserError
from ..worker_changes import SecondReported
from .desk import FrontDesk, KnownWorker
from .fullest import fullest, workers_reading
from .gathering import Gathering
from .job import Job
from .master import Master
from .merging import Merging
from .offered_rate import MergedRate
from .second import KEY, WorkerSecond, decode

POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class MasterOptions:
    """How workers find the run, and which may join."""

    bind_host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free."""
    accepts_plain: bool = False
    here: str = ""
    """Name of this machine."""


class MasterEngine:
    """A `LoadEngine`."""

    runner: Any = None

    def __init__(self, context: EngineContext, options: MasterOptions, job: Job, work_endpoints: tuple[str, ...] = ()) -> None:
        """`job`: what workers that join get."""
        self._context, self._options = context, options
        self.desk = FrontDesk(
            job,
            context.report,
            self._on_change,
            self._on_second,
            here=options.here,
            accepts_plain=options.accepts_plain,
        )
        self._turn = BoundedSemaphore(1)
        self._dispatching: Any = None
        self._step: tuple[int, float, Any] = (0, 1.0, None)
        """Users, spawn rate and classes of the latest step."""
        self._came: deque[tuple[str, Any, float | None, float]] = deque()
        """(worker, report, its CPU, when it came) on their way between the threads."""
        self._sets: deque[tuple[tuple[str, ...], float]] = deque()
        """(workers, since when) on their way."""
        self._gathering, self._merging = Gathering(), Merging(work_endpoints)
        self._replaced: dict[str, int] = {}
        self._complaint = ""
        self._offered: tuple[float, Arrivals, int] | None = None
        """Rate, arrivals and most users that are offered now."""
        self._merged_rate = MergedRate()

    # -- in the load thread

    @property
    def port(self) -> int:
        """Where workers connect."""
        return int(self.runner.server.port)

    def create_runner(self, environment: Environment) -> None:
        """A MasterRunner that listens."""
        self.runner = environment.runner = self.desk.master = Master(
            environment, self._options.bind_host, self._options.port, self.desk
        )
        if environment.shape_class is not None:
            environment.shape_class.runner = self.runner

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Dispatch in a greenlet of its own, in place of one that is under way."""
        if self._offered is not None:
            self._offered = None
            self.desk.end_rate()
        self._step = (users, spawn_rate, classes)
        self._redispatch()

    def offer(self, offered_per_s: float, arrivals: Arrivals, max_users: int, *, at_once: bool) -> None:
        """Split among the workers, which have pools of their own; the first users are sent as ever, so that a test begins."""
        is_new, self._offered = self._offered is None, (offered_per_s, arrivals, max_users)
        self.desk.offer(offered_per_s, arrivals, max_users, at_once=at_once)
        if is_new:
            first = max(len(self.desk.workers), min(FIRST_MOST, math.ceil(offered_per_s * SPARE_S)), self._step[0])
            self._step = (min(first, max_users), BEGIN_PER_S, None)
            self._redispatch(offers=False)

    def begin_level(self, index: int) -> None:
        """Tell the workers, which keep requests."""
        self.desk.begin_level(index)

    def repeat_step(self) -> None:
        """Send the latest step once more: to other workers, or to those that lost their users."""
        if self.runner is not None and self._dispatching is not None:
            self._redispatch()

    def _redispatch(self, *, offers: bool = True) -> None:
        """The latest step, and the rate with `offers`."""
        if offers and self._offered is not None:
            self.desk.offer(*self._offered, at_once=False)
        with self._turn:
            if self._dispatching is not None:
                self._dispatching.kill()
            self._dispatching = gevent.spawn(self._dispatch, *self._step)

    def _dispatch(self, users: int, spawn_rate: float, classes: Any) -> None:
        self.runner.target_user_count = users
        if (users == 0 and self.runner.is_stopped) or not self.runner.active():
            if users == 0:
                self._context.on_spawned()  # nobody is there to go
            return  # else a worker that joins begins it
        self.runner.dispatch(users, spawn_rate, classes)
        expected = sum(self.runner.target_user_classes_count.values())  # fewer than wanted with a `fixed_count`
        self._wait_for(expected)
        self._context.on_spawned()

    def _wait_for(self, users: int) -> None:
        """Until so many run, or their number has not changed for STALLED_S."""
        there, quiet_s = self.runner.user_count, 0.0
        while not self._are_there(users) and quiet_s < STALLED_S:
            gevent.sleep(POLL_S)
            quiet_s = quiet_s + POLL_S if self.runner.user_count == there else 0.0
            there = self.runner.user_count
        if not self._are_there(users):
            self._context.errors.add(Stalled(f"{self.runner.user_count} users run instead of {users} after {STALLED_S:g} s"))

    def _are_there(self, users: int) -> bool:
        """Pools of an offered rate may have more."""
        count = self.runner.user_count
        return bool(count >= users if self._offered is not None else count == users)

    def _on_change(self) -> None:
        self._sets.append((tuple(self.desk.workers), time.monotonic()))
        if self._dispatching is not None:
            gevent.spawn(self._redispatch)

    def _on_second(self, client_id: str, data: Any) -> None:
        worker, now_s = self.desk.workers[client_id], time.monotonic()
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
        """As workers have reported."""
        return int(self.runner.user_count) if self.runner is not None else 0

    @property
    def replaced(self) -> int:
        """By all workers."""
        return sum(self._replaced.values())

    # -- in the recorder's thread

    def is_due(self, boundary_s: float) -> bool:
        """Whether all workers have reported the second that ends at this moment."""
        self._take_in()
        return self._gathering.is_complete(boundary_s)

    def _take_in(self) -> None:
        while self._sets:
            self._gathering.expect(*self._sets.popleft())
        while self._came:
            client_id, report, _, _ = self._came.popleft()
            worker = self.desk.workers.get(client_id)
            if worker is None:
                continue
            try:
                second = report if isinstance(report, WorkerSecond) else placed(decode(report), worker.clock.offset_s)
            except InputError as error:
                self._complaint = str(error)
                continue
            self._gathering.add(client_id, second, in_turn=worker.hello is None)

    def drain(self, boundary_s: float) -> Drained:
        """What workers gave for the second that ends at this moment."""
        self._take_in()
        gathered = self._gathering.take(boundary_s)
        seconds = [second for _, second in gathered.seconds]
        workers = dict(tuple(self.desk.workers.items()))  # the load thread changes it
        for client_id, second in gathered.seconds:
            self._count_user_errors(client_id, second)
        offered = self._merged_rate.tick([(worker, second.offered) for worker, second in gathered.seconds], workers)
        return Drained(
            replace(self._merging.tick(seconds), offered=offered, kept=self._kept(gathered.seconds, workers)),
            self.users,
            is_whole=gathered.is_whole,
            began_s=min((second.began_s for second in seconds), default=None),
            duration_s=1.0 if gathered.is_whole else None,
            generator=fullest(dict(gathered.seconds)),
            workers=workers_reading(workers, gathered),
        )

    def _kept(self, seconds: Iterable[tuple[str, WorkerSecond]], workers: Mapping[str, KnownWorker]) -> tuple[PlacedRequest, ...]:
        """Requests that workers kept. Of the even samples each gives its share of the places."""
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
            self._context.errors.waiting.extend([UserError(each.type, each.text, each.line)] * each.count)

    def drain_all(self) -> None:
        """Also emit the failures that wait."""
        self._merging.drain_all_failures()


def placed(second: WorkerSecond, offset_s: float) -> WorkerSecond:
    """By the master's clock."""
    kept = tuple(PlacedRequest(each.place, each.request.moved(offset_s)) for each in second.kept)
    return msgspec.structs.replace(second, began_s=second.began_s + offset_s, ended_s=second.ended_s + offset_s, kept=kept)
