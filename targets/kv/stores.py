"""Key-value stores that differ in how they are locked. Each answers `get` and `put`, from any thread; nothing else is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

SHARDS = 32


class Store(Protocol):
    """What the service needs of a store."""

    def get(self, key: str) -> str | None:
        """None: no such key."""

    def put(self, key: str, value: str) -> None:
        """Make or replace."""


class Plain:
    """No lock: the GIL keeps a single read or write of a dict whole."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self._values.get(key)

    def put(self, key: str, value: str) -> None:
        self._values[key] = value


class Locked(Plain):
    """One lock for all."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def get(self, key: str) -> str | None:
        with self._lock:
            return super().get(key)

    def put(self, key: str, value: str) -> None:
        with self._lock:
            super().put(key, value)


class ReadWriteLocked(Plain):
    """Readers together, a writer alone."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = ReadWriteLock()

    def get(self, key: str) -> str | None:
        with self._lock.reading():
            return super().get(key)

    def put(self, key: str, value: str) -> None:
        with self._lock.writing():
            super().put(key, value)


class Sharded:
    """Many small stores with a lock each; a key always belongs to the same one."""

    def __init__(self) -> None:
        self._shards = [Locked() for _ in range(SHARDS)]

    def get(self, key: str) -> str | None:
        return self._shard(key).get(key)

    def put(self, key: str, value: str) -> None:
        self._shard(key).put(key, value)

    def _shard(self, key: str) -> Locked:
        return self._shards[hash(key) % SHARDS]


class ReadWriteLock:
    """Python has none. A writer that waits goes before readers that come later, or a stream of readers would starve it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writers_waiting = 0
        self._is_written = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Shared with other readers."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_written and not self._writers_waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Alone."""
        with self._changed:
            self._writers_waiting += 1
            self._changed.wait_for(lambda: not self._is_written and not self._readers)
            self._writers_waiting -= 1
            self._is_written = True
        try:
            yield
        finally:
            with self._changed:
                self._is_written = False
                self._changed.notify_all()


STORES: dict[str, Callable[[], Store]] = {"none": Plain, "lock": Locked, "rwlock": ReadWriteLocked, "sharded": Sharded}
