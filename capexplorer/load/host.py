"""The Locust runner in a native thread of this process, with a gevent hub of its own.

Everything that touches the runner happens in that thread; others hand it calls through `_post` and get values back. The one
engine of today is the in-process LocalRunner; a MasterRunner with worker processes would stand behind the same methods.
"""

from __future__ import annotations

import sys
import time
from _queue import Empty, SimpleQueue
from _thread import get_native_id
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

import gevent
import locust
from gevent.event import Event as HubEvent
from gevent.hub import set_hub
from gevent.lock import BoundedSemaphore
from locust.argument_parser import get_parser
from locust.env import Environment
from locust.event import Events
from locust.runners import STATE_CLEANUP, STATE_RUNNING, STATE_STOPPED, LocalRunner
from locust.user.task import TaskSet

from . import patience
from .lag import LagMeter
from .native import start_thread
from .recorder import Recorder
from .user_code import LoadHub, UserErrors, place
from .users import Workload, seconds_of

T = TypeVar("T")

REPLACE_EVERY_S = 0.05
REPLACE_EVERY_AT_MOST_S = 1.0
"""A user that dies at once is replaced at once, then ever more slowly, so that a broken `on_start` cannot spin."""

BEAT_S = 0.25


@dataclass(frozen=True, slots=True)
class Spawned:
    """All users asked for are running."""

    users: int
    at_s: float
    """`time.monotonic`."""


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """A Locust shape changed the users."""

    users: int
    spawn_rate: float
    generation: int
    """As handed to `start_shape`."""


@dataclass(frozen=True, slots=True)
class ShapeEnded:
    """A Locust shape returned None."""

    generation: int


@dataclass(frozen=True, slots=True)
class RunnerEnded:
    """The locustfile called `runner.stop()` or `runner.quit()`."""

    by: Literal["stop", "quit"]


Report = Spawned | ShapeStep | ShapeEnded | RunnerEnded


class LoadHost:
    """Start once, step, stop. `tell` is called in the load thread and must not block."""

    def __init__(self, tell: Callable[[Report], None], work_endpoints: tuple[str, ...] = ()) -> None:
        self._tell = tell
        self.recorder = Recorder(work_endpoints=work_endpoints)
        self.lag = LagMeter()
        self.errors = UserErrors()
        self.recorder.on_odd = self.errors.add
        self.beats = 0
        """Grows while the hub runs."""
        self.ended_by: BaseException | None = None
        """What ended the load thread before it was stopped."""
        self.has_ended = False
        self.replaced = 0
        """Dead users replaced so far."""
        self.thread_id: int | None = None
        """Of the operating system, for CPU accounting."""
        self._python_id = 0
        self._posted: deque[Callable[[], None]] = deque()
        self._wake: Any = None
        self._heartbeat: Any = None
        self._done: HubEvent | None = None
        self._turn: Any = None
        """Held while the runner takes a step: it yields in there, and two at once would leave two that spawn."""
        self._finished: SimpleQueue[None] = SimpleQueue()
        self._was_asked_to_end = False
        self._runner: Any = None
        self._environment: Any = None
        self._patience: Any = None
        self._shape: Any = None
        self._shape_tick: Any = None
        self._is_stopping = False
        """The runner stops: asked by the locustfile, or at the end."""
        self._is_over = False
        self._stopper: Any = None
        """The greenlet that stops it."""

    # -- from any thread ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread and wait for its hub."""
        ready: SimpleQueue[None] = SimpleQueue()
        start_thread(lambda: self._main(ready))
        ready.get()

    def load(self, make: Callable[[], Workload], url: str | None, *, own_events: bool) -> Workload:
        """Make the user classes in the load thread. Raises what `make` raises (InputError).

        `own_events`: listeners of a locustfile hang on `locust.events`; a profile's users need none of that.
        """
        return self.call(lambda: self._load(make, url, own_events))

    @property
    def users(self) -> int:
        """Users running now."""
        return self._runner.user_count if self._runner is not None and not self.has_ended else 0

    @property
    def process_exit_code(self) -> int | None:
        """What the locustfile set as `environment.process_exit_code`."""
        code = self._environment.process_exit_code if self._environment is not None else None
        return code if isinstance(code, int) else None

    def where(self) -> str:
        """`FILE:LINE in FUNCTION` that the load thread executes now; empty when it has ended."""
        frame = sys._current_frames().get(self._python_id)
        return place(frame, frame.f_lineno) if frame is not None else ""

    def set_users(self, users: int, spawn_rate: float) -> None:
        """Step to `users`; takes over at once from a step that is still spawning, and from a shape."""
        self._post(lambda: self._step(users, spawn_rate))

    def start_shape(self, generation: int) -> None:
        """Let the locustfile's shape set the users until `set_users` is called. Its reports carry `generation`."""
        self._post(lambda: self._start_shape(generation))

    def stop(self, timeout_s: float = 10.0) -> bool:
        """Stop all users, fire the locustfile's ending events, end the thread; once. False when that took, or takes, too long."""
        if self._done is None or self.has_ended:
            return True
        if self._was_asked_to_end:
            return False
        self._was_asked_to_end = True
        self._post(self._done.set)
        try:
            self._finished.get(timeout=timeout_s)
        except Empty:
            return False
        return True

    def call(self, body: Callable[[], T]) -> T:
        """Run `body` in a greenlet of the load thread and wait for its value or exception. Not from the load thread itself."""
        answer: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

        def run() -> None:
            try:
                answer.put((body(), None))
            except BaseException as error:  # noqa: BLE001 - handed over to the caller
                answer.put((None, error))

        self._post(run)
        while True:
            try:
                value, error = answer.get(timeout=1.0)
            except Empty:
                if self.has_ended:
                    raise RuntimeError("the load thread has ended") from self.ended_by
            else:
                break
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def _post(self, body: Callable[[], None]) -> None:
        self._posted.append(body)
        self._wake.send()

    # -- in the load thread ------------------------------------------------------------------------------------------------

    def _main(self, ready: SimpleQueue[None]) -> None:
        try:
            self._begin()
            ready.put(None)
            self._done.wait()  # type: ignore[union-attr]
            self._shut_down()
        except BaseException as error:  # noqa: BLE001 - the thread's boundary: whoever looks at the load tells it
            self.ended_by = error
        finally:
            self.has_ended = True
            self._finished.put(None)

    def _begin(self) -> None:
        hub = LoadHub(self.errors, lambda greenlet: self._runner is not None and greenlet in self._runner.user_greenlets)
        set_hub(hub)
        self.thread_id, self._python_id = get_native_id(), hub.thread_ident
        self._done, self._turn = HubEvent(), BoundedSemaphore(1)
        self._wake = hub.loop.async_()
        self._wake.start(self._run_posted)
        self._heartbeat = hub.loop.timer(BEAT_S, BEAT_S)
        self._heartbeat.start(self._beat)
        self._observe_waits()
        gevent.spawn(self.lag.run)

    def _beat(self) -> None:
        self.beats += 1

    def _run_posted(self) -> None:
        while self._posted:
            gevent.spawn(self._posted.popleft())

    def _observe_waits(self) -> None:
        """All waits of all users pass `TaskSet._sleep`, whatever class defines `wait_time`."""
        on_wait = self.recorder.on_wait

        def sleep(tasks: TaskSet, wait: object) -> None:
            seconds = seconds_of(wait, type(tasks.user).__name__)
            on_wait(seconds)
            gevent.sleep(seconds)

        TaskSet._sleep = sleep  # type: ignore[method-assign]

    def _load(self, make: Callable[[], Workload], url: str | None, own_events: bool) -> Workload:
        workload = make()
        options = get_parser(default_config_files=[]).parse_args([])
        options.host = url
        self._environment = environment = Environment(
            user_classes=list(workload.classes),
            shape_class=workload.shape,
            host=url,
            parsed_options=options,
            events=Events() if own_events else locust.events,  # type: ignore[no-untyped-call]
        )
        self._shape = workload.shape
        environment.events.request.add_listener(self.recorder.on_request)  # type: ignore[no-untyped-call]
        environment.events.user_error.add_listener(self.errors.on_user_error)  # type: ignore[no-untyped-call]
        environment.events.spawning_complete.add_listener(self._on_spawned)  # type: ignore[no-untyped-call]
        self._runner = environment.create_local_runner()
        self._patience = patience.Patience(self._runner, self.errors)
        self._note_ending("stop")
        self._note_ending("quit")
        self.recorder.user_greenlets = self._runner.user_greenlets
        environment.events.init.fire(environment=environment, runner=self._runner, web_ui=None)  # type: ignore[no-untyped-call]
        gevent.spawn(self._replace_dead_users)
        return workload

    def _step(self, users: int, spawn_rate: float) -> None:
        self._shape = None
        self._start_users(None, users, spawn_rate)

    def _start_users(self, shape: Any, users: int, spawn_rate: float, classes: Any = None) -> bool:
        """`shape` asks, or somebody by hand (None). False, and nothing happens, for a shape that someone has taken over from."""
        with self._turn:
            if self._shape is not shape:
                return False
            if users == 0 and self._runner.state in (STATE_CLEANUP, STATE_STOPPED):
                self._runner.target_user_count = 0  # the locustfile has stopped them all: no test begins for nobody
                self._on_spawned()
                return True
            self._runner.start(users, spawn_rate, user_classes=classes)
            spawning = self._runner.spawning_greenlet
            spawning.link_exception(self._on_spawning_failed)
            gevent.spawn(self._bound, spawning, spawn_rate)
            return True

    def _bound(self, spawning: Any, spawn_rate: float) -> None:
        if not self._patience.step(spawning, spawn_rate):
            self._runner.update_state(STATE_RUNNING)
            self._on_spawned()

    def _note_ending(self, how: Literal["stop", "quit"]) -> None:
        """A call of `runner.stop` or `runner.quit` by the locustfile is told; it runs beside the caller, whom it may end."""
        original = partial(getattr(LocalRunner, how), self._runner)

        def noted() -> None:
            if gevent.getcurrent() is self._stopper:
                original()  # `quit` calls `stop`
            elif not self._is_stopping:
                self._is_stopping, self._shape = True, None
                self._tell(RunnerEnded(how))
                gevent.spawn(self._stop_in_turn, original).join()

        setattr(self._runner, how, noted)

    def _stop_in_turn(self, stop: Callable[[], None]) -> None:
        with self._turn:
            self._stop(stop, patience.STALLED_S)
        self._is_stopping = self._is_over

    def _stop(self, stop: Callable[[], None], within_s: float) -> None:
        def as_stopper() -> None:
            self._stopper = gevent.getcurrent()
            stop()

        self._patience.stop(as_stopper, within_s)

    def _start_shape(self, generation: int) -> None:
        if self._shape is not None:  # else someone has stepped already
            self._shape.reset_time()  # as Locust does: what came before users is none of the shape's time
            gevent.spawn(self._follow_shape, self._shape, generation)

    def _follow_shape(self, shape: Any, generation: int) -> None:
        with self.errors.counted():
            while self._shape is shape and self._shape_ticked(shape, generation):
                gevent.sleep(1.0)
        if self._shape is shape:
            self._tell(ShapeEnded(generation))

    def _shape_ticked(self, shape: Any, generation: int) -> bool:
        """One tick of a shape; False when it is over."""
        tick = shape.tick()
        if tick is not None and tick != self._shape_tick:
            users, spawn_rate, *classes = self._shape_tick = tick
            if self._start_users(shape, users, spawn_rate, classes[0] if classes else None):
                self._tell(ShapeStep(users, spawn_rate, generation))
        return tick is not None

    def _on_spawned(self, **_: Any) -> None:
        """The count that was asked for: users that died at once, or a `fixed_count`, may leave fewer than that."""
        self._tell(Spawned(self._runner.target_user_count, time.monotonic()))

    def _on_spawning_failed(self, spawning: Any) -> None:
        """A user class that cannot be made: what waits for the step goes on without those users."""
        if isinstance(spawning.exception, Exception):  # the hub has counted others
            self.errors.add(spawning.exception, spawning.exc_info[2])
        if not self._is_stopping:
            self._runner.update_state(STATE_RUNNING)
            self._on_spawned()

    def _replace_dead_users(self) -> None:
        """Locust lets a user whose `on_start` raises die for good (wanted 10, had 5)."""
        pause_s = REPLACE_EVERY_S
        while True:
            gevent.sleep(pause_s)
            missing = self._missing()
            pause_s = min(REPLACE_EVERY_AT_MOST_S, pause_s * 2) if missing else REPLACE_EVERY_S
            if missing:
                self._replace(missing)

    def _replace(self, missing: dict[str, int]) -> None:
        with self.errors.counted():
            self._runner.spawn_users(missing)
            self.replaced += sum(missing.values())

    def _missing(self) -> dict[str, int]:
        if self._runner.state != STATE_RUNNING or self._runner.user_count >= self._runner.target_user_count:
            return {}
        running = self._runner.user_classes_count
        wanted = (
            self._runner._local_worker_node.user_classes_count
        )  # as dispatched; the runner's own count lacks who died meanwhile
        return {name: count - running.get(name, 0) for name, count in wanted.items() if count > running.get(name, 0)}

    def _shut_down(self) -> None:
        if self._runner is None:
            return
        self._shape, self._is_stopping, self._is_over = None, True, True
        self._turn.acquire(timeout=patience.LAST_STOPS_S)  # the locustfile may be stopping it right now
        self._stop(partial(LocalRunner.quit, self._runner), patience.LAST_STOPS_S)
        with self.errors.counted():
            self._environment.events.quitting.fire(environment=self._environment, reverse=True)
        with self.errors.counted():
            self._environment.events.quit.fire(exit_code=self.process_exit_code or 0)
