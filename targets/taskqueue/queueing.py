"""A bounded queue and its workers: takes tasks or refuses them, works them off in order, and counts.

What a task does is handed in; how it is asked for is app.py.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tasks import Task, TaskFolder

KEPT = 2_000
"""Finished tasks that can still be asked for: 100 s at 20 a second. Kept for ever they would be a memory leak."""

Kinds = Mapping[str, Callable[[], dict[str, Any]]]
"""What each kind of task does: returns a result, or raises."""


class QueueFull(Exception):
    """As many tasks wait as may."""


class TaskQueue:
    """Begins with the tasks that the folder holds: those not over are taken up again. All methods from any thread."""

    def __init__(self, folder: TaskFolder, kinds: Kinds, queue_size: int) -> None:
        self.kinds = kinds
        self._folder = folder
        self._queue_size = queue_size
        self._tasks: dict[str, Task] = {}
        self._over: deque[str] = deque()
        self._waiting: deque[str] = deque()
        self._counts: Counter[str] = Counter()
        self._last_id = 0
        self._accepting = threading.Lock()
        """One submission at a time, the write of its file included; workers and questions do not wait for that."""
        self._changed = threading.Condition()
        self._take_up_again()

    def start(self, workers: int) -> None:
        """Work off what waits, so many at a time."""
        for _ in range(workers):
            threading.Thread(target=self._work, daemon=True).start()

    def submit(self, kind: str) -> Task:
        """Accept a task: it is on disk when this returns. Raises QueueFull, OSError."""
        with self._accepting:
            if len(self._waiting) >= self._queue_size:
                with self._changed:
                    self._counts["rejected"] += 1
                raise QueueFull
            self._last_id += 1
            task = Task(f"{self._last_id:09d}", kind)
            self._folder.save(task)
            self._enqueue(task)
        return task

    def find(self, task_id: str) -> Task | None:
        """None: never accepted, or over so long ago that it is forgotten."""
        return self._tasks.get(task_id)

    def metrics(self) -> dict[str, int]:
        """Since the process began; tasks taken up again count as accepted, so accepted = queued + running + finished + failed."""
        with self._changed:
            counted = {name: self._counts[name] for name in ("running", "accepted", "finished", "failed", "rejected")}
            return {"queued": len(self._waiting)} | counted

    def _take_up_again(self) -> None:
        for task in self._folder.load():
            self._last_id = max(self._last_id, int(task.id))
            if task.is_over:
                self._tasks[task.id] = task
                self._over.append(task.id)
            else:
                self._enqueue(replace(task, status="QUEUED"))

    def _enqueue(self, task: Task) -> None:
        with self._changed:
            self._tasks[task.id] = task
            self._waiting.append(task.id)
            self._counts["accepted"] += 1
            self._changed.notify()

    def _work(self) -> None:
        while True:
            self._put_away(self._carry_out(self._take()))

    def _take(self) -> Task:
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            task_id = self._waiting.popleft()
            task = self._tasks[task_id] = replace(self._tasks[task_id], status="RUNNING")
            self._counts["running"] += 1
        return task

    def _carry_out(self, task: Task) -> Task:
        try:
            done = replace(task, status="SUCCEEDED", result=self.kinds[task.kind]())
            self._folder.save(done)
        except Exception as error:  # whatever a task raises is its result
            print(f"task {task.id} ({task.kind}) failed: {_error_text(error)}", file=sys.stderr)
            return replace(task, status="FAILED", error=_error_text(error))
        return done

    def _put_away(self, task: Task) -> None:
        if task.status == "FAILED":
            self._save_failure(task)
        with self._changed:
            self._tasks[task.id] = task
            self._over.append(task.id)
            self._counts["running"] -= 1
            self._counts["finished" if task.status == "SUCCEEDED" else "failed"] += 1
            forgotten = self._over.popleft() if len(self._over) > KEPT else None
            if forgotten is not None:
                del self._tasks[forgotten]
        if forgotten is not None:
            self._folder.forget(forgotten)

    def _save_failure(self, task: Task) -> None:
        """For want of descriptors or space it may not be savable: then its file still says QUEUED, and a restart retries it."""
        try:
            self._folder.save(task)
        except OSError as error:
            print(f"task {task.id}: its failure could not be saved: {_error_text(error)}", file=sys.stderr)


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
