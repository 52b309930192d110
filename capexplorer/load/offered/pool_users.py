"""The users of a pool, counted and started by a Locust runner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from locust.runners import STATE_RUNNING

BEGIN_PER_S = 100.0
"""Spawn rate of the first users, per second: Locust warns about higher ones."""


def shares_of(classes: Iterable[Any]) -> dict[str, float]:
    """The share of each user class among arrivals, by its weight, or by its `fixed_count` without a weight. The sum is 1."""
    weights = {kind.__name__: float(kind.weight or kind.fixed_count) for kind in classes}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items() if weight}


class LocalUsers:
    """`PoolUsers` of a LocalRunner."""

    def __init__(self, runner: Any, step: Callable[[int, float], None]) -> None:
        """`step`: Locust's dispatch, to a number of users at a spawn rate."""
        self._runner, self._step = runner, step

    def shares(self) -> Mapping[str, float]:
        """By weight."""
        return shares_of(self._runner.user_classes)

    def wanted(self) -> Mapping[str, int]:
        """Users by class as of the last dispatch, with those that were added since."""
        counts: Mapping[str, int] = self._runner._local_worker_node.user_classes_count
        return counts

    def begin(self, users: int) -> None:
        """Begin a test as Locust does, with its events."""
        self._step(max(users, self._runner.user_count), BEGIN_PER_S)

    def can_grow(self) -> bool:
        """False while Locust's own dispatch starts users."""
        runner = self._runner
        return runner.state == STATE_RUNNING and (runner.spawning_greenlet is None or runner.spawning_greenlet.ready())

    def add(self, kind: str, count: int) -> None:
        """Start users without Locust's dispatcher. Its counts are updated here, by which `Replacement` finds dead users."""
        node = self._runner._local_worker_node
        node.user_classes_count = {**node.user_classes_count, kind: node.user_classes_count.get(kind, 0) + count}
        self._runner.target_user_count += count
        self._runner.spawn_users({kind: count})


class WorkerUsers:
    """`PoolUsers` of a WorkerRunner. The master begins the test with the first users; the worker adds further ones itself."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    def shares(self) -> Mapping[str, float]:
        """By weight."""
        return shares_of(self._runner.user_classes)

    def wanted(self) -> Mapping[str, int]:
        """Users by class as the master last requested, with those that were added since."""
        counts: Mapping[str, int] = self._runner.target_user_classes_count
        return counts

    def begin(self, users: int) -> None:
        """Do nothing: the master begins the test."""

    def can_grow(self) -> bool:
        """Whether the master has begun the test."""
        return bool(self._runner.worker_state == STATE_RUNNING)

    def add(self, kind: str, count: int) -> None:
        """Start users that the master's dispatcher does not know."""
        counts = self._runner.target_user_classes_count
        self._runner.target_user_classes_count = {**counts, kind: counts.get(kind, 0) + count}
        self._runner.target_user_count += count
        self._runner.spawn_users({kind: count})
