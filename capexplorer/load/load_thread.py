"""Runs Locust's runner in a thread of its own: starts and stops users, offers rates, and follows a locustfile's shape.

Everything that touches the runner happens in the load thread. The engine decides where users run: in this process or in workers.
"""

from __future__ import annotations

import sys
import time
from _queue import SimpleQueue
from _thread import get_native_id
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Literal, TypeVar

import gevent
import locust
import msgspec
from gevent.event import Event as HubEvent
from gevent.hub import set_hub
from gevent.lock import BoundedSemaphore
from locust.env import Environment
from locust.event import Events
from msgspec.structs import replace

from ..errors import InputError
from ..model import outside
from ..model.experiments import Experiment
from ..model.load import OfferedRate, Users
from ..model.stages import RequestLimits
from . import locust_bounds
from .engine import (
    Drained,
    EngineContext,
    LoadEngine,
    MakeEngine,
    Report,
    RunnerEnded,
    ShapeEnded,
    ShapeStep,
    Spawned,
    UsersMovedToWorkers,
)
from .guard import HostGuard
from .hooks.hook import put_in_place
from .hooks.hook_table import USERS
from .hooks.task_hooks import Observers
from .kept_requests import RequestSampling
from .lag import LagMeter
from .local_engine import LocalEngine
from .locust_bounds import BoundedStats
from .native import allocate_lock, start_thread, wake_when_due
from .offering import Offering
from .recorder import Recorder
from .user_activity import MetricNames, UserActivity
from .user_code import LoadHub, UserCodeFault, UserErrors, place, place_in_user_code
from .workload import Workload, configure

T = TypeVar("T")


# -- the thread: native, with a gevent hub of its own. Other threads post calls to it and get values back.


BEAT_S = 0.25


class HubThread:
    """Start once, call, stop once. Calls return at once unless they say otherwise."""

    def __init__(self, errors: UserErrors) -> None:
        self.errors = errors
        self.lag = LagMeter(self._where_in_user_code)
        self.beats = 0
        """Grows four times a second while the hub runs."""
        self.ended_by: BaseException | None = None
        """The exception that ended the thread before it was stopped; None if there was none."""
        self.has_ended = False
        self.native_id: int | None = None
        """Thread id of the operating system, for CPU accounting."""
        self._python_id = 0
        self._posted: deque[Callable[[], None]] = deque()
        self._wake: Any = None
        self._heartbeat: Any = None
        self._asked_to_end: HubEvent | None = None
        self._running = allocate_lock()
        """A lock held while the thread runs (`Inbox` of `run/pump.py` says why it is not a queue)."""
        self._running.acquire()
        self._was_stopped = False

    # -- from any thread

    def start(self) -> None:
        """Start the thread and wait for its hub."""
        ready: SimpleQueue[None] = SimpleQueue()
        start_thread(lambda: self._main(ready))
        ready.get()

    def stop(self, timeout_s: float = 10.0) -> bool:
        """End the thread. False if that took longer than `timeout_s`, or `stop` was called before and the thread still runs."""
        if self._asked_to_end is None or self.has_ended:
            return True
        if self._was_stopped:
            return False
        self._was_stopped = True
        self.post(self._asked_to_end.set)
        return self._running.acquire(timeout=timeout_s)

    def post(self, body: Callable[[], None]) -> None:
        """Run `body` in a greenlet of the thread, soon."""
        self._posted.append(body)
        self._wake.send()

    def call(self, body: Callable[[], T]) -> T:
        """Run `body` in a greenlet of the thread and wait for its value or exception. Not from the thread itself.

        Raises RuntimeError if the thread has ended.
        """
        answers: list[tuple[T | None, BaseException | None]] = []
        waiting = allocate_lock()
        waiting.acquire()

        def run() -> None:
            try:
                answers.append((body(), None))
            except BaseException as error:  # noqa: BLE001 - handed over to the caller
                answers.append((None, error))
            waiting.release()

        self.post(run)
        while not waiting.acquire(timeout=1.0):
            if self.has_ended:
                raise RuntimeError("the load thread has ended") from self.ended_by
        value, error = answers[0]
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def where(self) -> str:
        """`FILE:LINE in FUNCTION` that the thread executes now; empty when it has ended."""
        frame = sys._current_frames().get(self._python_id)
        return place(frame, frame.f_lineno) if frame is not None else ""

    def _where_in_user_code(self) -> str:
        """As `where`, of user code alone: empty while it runs none."""
        return place_in_user_code(sys._current_frames().get(self._python_id))

    # -- in the thread

    def _main(self, ready: SimpleQueue[None]) -> None:
        try:
            self._begin()
            ready.put(None)
            self._asked_to_end.wait()  # type: ignore[union-attr]
            self.at_end()
        except BaseException as error:  # noqa: BLE001 - the thread's boundary: `ended_by` shows it to other threads
            self.ended_by = error
        finally:
            self.has_ended = True
            self._running.release()

    def _begin(self) -> None:
        hub = LoadHub(self.errors, self.is_user)
        set_hub(hub)
        wake_when_due()
        self.native_id, self._python_id = get_native_id(), hub.thread_ident
        self._asked_to_end = HubEvent()
        self._wake = hub.loop.async_()
        self._wake.start(self._run_posted)
        self._heartbeat = hub.loop.timer(BEAT_S, BEAT_S)
        self._heartbeat.start(self._beat)
        gevent.spawn(self.lag.run)

    def is_user(self, greenlet: Any) -> bool:
        """Whether a greenlet is a user's, so that its exceptions count as user errors."""
        raise NotImplementedError

    def at_end(self) -> None:
        """What the thread does when it is stopped."""

    def _beat(self) -> None:
        self.beats += 1

    def _run_posted(self) -> None:
        while self._posted:
            gevent.spawn(self._posted.popleft())


# -- the load


class LoadThread(HubThread):
    """Call `start` once, then set users, then `stop`. `on_report` is called in the load thread and must not block."""

    def __init__(
        self,
        on_report: Callable[[Report], None],
        engine: MakeEngine = LocalEngine,
        *,
        guard: HostGuard | None = None,
        sampling: RequestSampling | None = None,
        limits: RequestLimits | None = None,
    ) -> None:
        """`guard`: counts connects. `sampling`, `limits`: those of the recorder."""
        super().__init__(UserErrors())
        self._on_report = on_report
        activity = UserActivity(self._greenlets_of_users)
        self.recorder = Recorder(activity, errors=self.errors, guard=guard, sampling=sampling, limits=limits)
        self.offering = Offering(self.recorder.iterations, self.errors)
        self._engine_context = EngineContext(self.recorder, self.errors, self._on_spawned, self.offering, on_report)
        self.engine = engine(self._engine_context)
        self.next_engine: LoadEngine | None = None
        """An engine that was prepared to replace `engine`."""
        self._make_environment: Callable[[], Any] = lambda: None
        self._next_environment: Any = None
        self._step_lock: Any = None
        """Locked during a step of the runner, which yields: two steps at once would leave two greenlets that spawn users."""
        self._environment: Any = None
        self._bounded_waits: Any = None
        self._shape: Any = None
        self._shape_tick: Any = None
        self._offered: OfferedRate | None = None
        """None: no rate is offered."""
        self._is_stopping = False
        """Whether the runner is stopping, because the locustfile asked for it or the run ends."""
        self._is_over = False
        self._stopper: Any = None
        """The greenlet that stops the runner."""

    # -- from any thread

    def start(self) -> None:
        """Start the thread, wait for its hub, and install what counts users' work."""
        super().start()
        self.call(self._prepare)

    def make_workload(self, make: Callable[[], Workload], url: str | None, *, own_events: bool) -> Workload:
        """Make the user classes in the load thread. Raises what `make` raises (InputError).

        `own_events`: use new event hooks instead of `locust.events`, with which locustfiles register listeners and profiles do
        not.
        """
        return self.call(lambda: self._make_workload(make, url, own_events))

    @property
    def users(self) -> int:
        """Users running now."""
        return 0 if self.has_ended else self.engine.users

    @property
    def replaced(self) -> int:
        """Dead users replaced so far."""
        return self.engine.replaced

    @property
    def process_exit_code(self) -> int | None:
        """What the locustfile set as `environment.process_exit_code`."""
        code = self._environment.process_exit_code if self._environment is not None else None
        return code if isinstance(code, int) else None

    def set_users(self, users: int, spawn_rate: float) -> None:
        """Set `users`; this replaces a step that is still spawning, and a shape, at once."""
        self.post(lambda: self._step(users, spawn_rate))

    def set_rate(self, offered: OfferedRate) -> None:
        """Offer iterations at this rate, once enough users have started unless `at_once`; this replaces a step, and a shape."""
        self.post(lambda: self._offer(offered))

    def start_shape(self, generation: int) -> None:
        """Let the locustfile's shape set the users until `set_users` is called. Its reports carry `generation`."""
        self.post(lambda: self._start_shape(generation))

    def begin_level(self, index: int, experiment: Experiment | None) -> None:
        """Requests that are kept from now on are of this level, and users do what its experiment changes."""
        self.post(lambda: self.engine.begin_level(index, experiment))

    def is_due(self, boundary_s: float) -> bool:
        """Whether all requests up to this moment (`time.monotonic`) can be drained."""
        return self.has_ended or self.engine.is_due(boundary_s)

    def drain(self, boundary_s: float) -> Drained:
        """What users did up to this moment since the last call. From the pump's thread."""
        drained = self.engine.drain(boundary_s)
        if self.has_ended:  # and all users with it
            return replace(drained, tick=msgspec.structs.replace(drained.tick, users=0))
        return drained

    def drain_all(self) -> None:
        """Let the next drain, which is the last, return everything that waits. From the pump's thread."""
        self.engine.drain_all()

    # -- in the load thread

    def _prepare(self) -> None:
        self._step_lock = BoundedSemaphore(1)
        put_in_place(USERS, Observers(self.recorder.activity, self.offering, self.errors))

    def is_user(self, greenlet: Any) -> bool:
        """As of HubThread."""
        return greenlet in self._greenlets_of_users()

    def _greenlets_of_users(self) -> Collection[object]:
        found: Collection[object] = self.engine.runner.user_greenlets if self.engine.runner is not None else ()
        return found

    def _make_workload(self, make: Callable[[], Workload], url: str | None, own_events: bool) -> Workload:
        workload = make()
        self._make_environment = partial(self._environment_of, workload, url, own_events)
        environment = self._environment = self._make_environment()
        self._shape, self.recorder.metrics = workload.shape, MetricNames(workload.metrics)
        environment.events.user_error.add_listener(self.errors.on_user_error)
        self.engine.create_runner(environment)
        environment.events.request.add_listener(self.recorder.on_request)
        self._wrap_runner()
        environment._filter_tasks_by_tags()
        try:
            environment.events.init.fire(environment=environment, runner=self.engine.runner, web_ui=None)
        except SystemExit as ended:
            raise InputError(f"the locustfile ended the program in a listener of `init`: {ended}") from None
        return workload

    @staticmethod
    def _environment_of(workload: Workload, url: str | None, own_events: bool) -> Any:
        if url is not None:
            workload.options.host = url
        environment = Environment(
            user_classes=list(workload.classes),
            shape_class=workload.shape,
            host=workload.options.host,
            parsed_options=workload.options,
            events=Events() if own_events else locust.events,  # type: ignore[no-untyped-call]
            **workload.available,
        )
        configure(environment)
        environment.stats = BoundedStats()
        return environment

    def _wrap_runner(self) -> None:
        self._bounded_waits = locust_bounds.BoundedWaits(self.engine.runner, self.errors)
        self._note_ending("stop")
        self._note_ending("quit")

    def prepare(self, make: MakeEngine) -> None:
        """Make another engine, while the present one goes on running the users. `adopt` replaces it. Raises InputError if workers
        cannot join.
        """
        engine = make(self._engine_context)
        self._next_environment = self._make_environment()
        engine.create_runner(self._next_environment)
        self.next_engine = engine

    def adopt(self) -> None:
        """Stop the users of the present engine, and start as many in the one that was prepared."""
        if self.next_engine is None or self._is_over:
            return
        with self._step_lock:
            users, runner = self.engine.runner.target_user_count, self.engine.runner
            self._stop(partial(type(runner).quit, runner), locust_bounds.STALLED_S)
            self.engine, self.next_engine = self.next_engine, None
            self._environment = self._next_environment
            self._wrap_runner()
            if self._offered is not None:
                self.engine.offer(msgspec.structs.replace(self._offered, at_once=False))
            else:
                self.engine.step(users, float(max(1, users)), None)
            self._on_report(UsersMovedToWorkers())

    def _offer(self, offered: OfferedRate) -> None:
        self._shape, self._offered = None, offered
        with self._step_lock:
            self.engine.offer(offered)

    def _step(self, users: int, spawn_rate: float) -> None:
        self._shape = None
        self._set_users(None, users, spawn_rate)

    def _set_users(self, shape: Any, users: int, spawn_rate: float, classes: Any = None) -> bool:
        """A step of `shape`, or of another driver (None). False, without any effect, for a shape that was replaced."""
        with self._step_lock:
            if self._shape is not shape:
                return False
            self._offered = None
            self.engine.step(users, spawn_rate, classes)
            return True

    def _note_ending(self, how: Literal["stop", "quit"]) -> None:
        """Report a call of `runner.stop` or `runner.quit` by the locustfile. The call runs in a greenlet of its own, since it
        may end the greenlet of its caller.
        """
        original = partial(getattr(type(self.engine.runner), how), self.engine.runner)

        def noted(**named: Any) -> None:
            if gevent.getcurrent() is self._stopper:
                original(**named)  # `quit` calls `stop`
            elif not self._is_stopping:
                self._is_stopping, self._shape = True, None
                self._on_report(RunnerEnded(how))
                gevent.spawn(self._stop_in_turn, original).join()

        setattr(self.engine.runner, how, noted)

    def _stop_in_turn(self, stop: Callable[[], None]) -> None:
        with self._step_lock:
            self._stop(stop, locust_bounds.STALLED_S)
        self._is_stopping = self._is_over

    def _stop(self, stop: Callable[[], None], within_s: float) -> None:
        def as_stopper() -> None:
            self._stopper = gevent.getcurrent()
            stop()

        self.offering.close()
        self._bounded_waits.stop(as_stopper, within_s)

    def _start_shape(self, generation: int) -> None:
        if self._shape is not None:  # otherwise another driver has already stepped
            self._shape.reset_time()  # as Locust does: a shape's time begins with its users
            gevent.spawn(self._follow_shape, self._shape, generation)

    def _follow_shape(self, shape: Any, generation: int) -> None:
        with self.errors.counted():
            while self._shape is shape and self._shape_ticked(shape, generation):
                gevent.sleep(1.0)
        if self._shape is shape:
            self._on_report(ShapeEnded(generation))

    def _shape_ticked(self, shape: Any, generation: int) -> bool:
        """One tick of a shape; False when it has ended."""
        tick = shape.tick()
        if tick is not None and tick != self._shape_tick:
            self._shape_tick = tick
            users, spawn_rate, classes = _checked_tick(tick)
            if self._set_users(shape, users, spawn_rate, classes):
                self._on_report(ShapeStep(users, spawn_rate, generation))
        return tick is not None

    def _on_spawned(self) -> None:
        """Report the requested count; fewer users may run if some died at once or a class has a `fixed_count`."""
        self._on_report(Spawned(Users(self.engine.runner.target_user_count), time.monotonic()))

    def at_end(self) -> None:
        """Stop the users, and fire the events of the end."""
        runner = self.engine.runner
        if runner is None:
            return
        self._shape, self._is_stopping, self._is_over = None, True, True
        self._step_lock.acquire(timeout=locust_bounds.LAST_STOPS_S)  # the locustfile may be stopping it right now
        self._stop(partial(type(runner).quit, runner), locust_bounds.LAST_STOPS_S)
        with self.errors.counted():
            self._environment.events.quitting.fire(environment=self._environment, reverse=True)
        with self.errors.counted():
            self._environment.events.quit.fire(exit_code=self.process_exit_code or 0)


def _checked_tick(tick: Any) -> tuple[int, float, Any]:
    """Users, spawn rate and user classes of a shape's tick. Raises UserCodeFault for anything else."""
    users, spawn_rate, classes = (*tick, None)[:3] if isinstance(tick, tuple | list) and len(tick) >= 2 else (None, None, None)
    number, rate = outside.number(users), outside.number(spawn_rate)
    if number is None or rate is None or number < 0 or rate <= 0:
        raise UserCodeFault(f"the shape's tick is {tick!r:.80}: expected users and a spawn rate")
    return int(number), rate, classes
