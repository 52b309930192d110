"""The engine of a worker process: the master's spawn messages start and stop its users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import msgspec
from locust.env import Environment

from ...model.offered import Arrivals
from ...model.readings import GeneratorReading, PortsReading
from ..engine import Drained, EngineContext
from ..in_process import InProcessEngine
from ..lag import Lag
from ..offered.pool import Pool
from ..offered.pool_users import WorkerUsers
from ..user_code import UserError, UserErrors
from .offered_rate import RATE_BEGAN, from_message
from .second import USER_ERRORS_MOST, Activity, UserErrorCount, WorkerSecond
from .worker_runner import Worker


class WorkerEngine(InProcessEngine):
    """The `LoadEngine` of a worker, whose users the master sets."""

    def __init__(
        self, context: EngineContext, address: tuple[str, int], hello: bytes, on_boundary: Callable[[float], None]
    ) -> None:
        super().__init__(context)
        self._address, self._hello, self._on_boundary = address, hello, on_boundary

    def create_runner(self, environment: Environment) -> None:
        """Make a WorkerRunner and join. Raises ConnectionError."""
        offering = self._context.offering
        self.runner = runner = environment.runner = Worker(
            environment,
            *self._address,
            self._hello,
            self._on_boundary,
            self._offer,
            on_level=self.begin_level,
            keeps_users=lambda: offering.is_on,
        )
        self.replace_dead_users(lambda: runner.target_user_classes_count)

    def _offer(self, runner: Any, data: object) -> None:
        """Offer a rate that the master sent; None: end it. The first may arrive before `create_runner` returns."""
        offering = self._context.offering
        if data is None:
            offering.close(lambda: runner.user_count <= runner.target_user_count)
            return
        users, rate = WorkerUsers(runner), from_message(data)
        if offering.pool is None:
            offering.pool = Pool(offering.dispatch, users, self._context.errors)
        offering.offer(
            rate.offered_per_s,
            rate.arrivals,
            rate.max_users,
            at_once=rate.at_once,
            shares=users.shares(),
            began=lambda: runner.send_message(RATE_BEGAN, rate.turn),
        )

    def step(self, users: int, spawn_rate: float, classes: Any) -> None:
        """Do nothing: a worker's users follow the master's steps."""

    def offer(self, offered_per_s: float, arrivals: Arrivals, max_users: int, *, at_once: bool) -> None:
        """Do nothing: a worker's rate is its share of the master's."""


def second_of(
    drained: Drained,
    *,
    began_s: float,
    ended_s: float,
    lag: Lag,
    errors: UserErrors,
    replaced: int,
    generator: GeneratorReading,
    ports: PortsReading | None,
) -> WorkerSecond:
    """The report on one second."""
    tick = drained.tick
    return WorkerSecond(
        began_s=began_s,
        ended_s=ended_s,
        users=drained.users,
        warm_users=tick.warm_users,
        endpoints=tick.endpoints,
        failures=tick.failures,
        retried=tick.retried,
        all_requests=tick.all_requests,
        all_latency_sum_ms=tick.all_latency_sum_ms,
        clients=tick.clients,
        connects=tick.connects,
        closed_by_service=tick.closed_by_service,
        closed_by_users=tick.closed_by_users,
        offered=tick.offered,
        kept=tick.kept,
        activity=Activity(*astuple(tick.activity)),
        user_errors=_user_errors(errors),
        replaced=replaced,
        generator=_with_lag(generator, lag),
        ports=ports,
    )


def _with_lag(generator: GeneratorReading, lag: Lag) -> GeneratorReading:
    return msgspec.structs.replace(
        generator, loop_lag_p50_ms=lag.p50_ms, loop_lag_p99_ms=lag.p99_ms, loop_lag_max_ms=lag.max_ms, blocked_at=lag.blocked_at
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
