"""A bounded queue and its workers: accepts or refuses tasks, carries them out in order, and counts them.

The kinds of task are in kinds.py, the HTTP interface is app.py.
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
"""Number of finished tasks whose results are kept, 100 s at 20 per second. To keep all of them would be a memory leak."""

Kinds = Mapping[str, Callable[[], dict[str, Any]]]
"""For each kind of task the function that carries it out: returns the result, or raises."""


class QueueFull(Exception):
    """The largest number of tasks is waiting."""


class TaskQueue:
    """Begins with the tasks that are saved in the folder; unfinished ones are queued again. All methods are thread-safe."""

    def __init__(self, folder: TaskFolder, kinds: Kinds, queue_size: int) -> None:
        self.kinds = kinds
        self._folder = folder
        self._queue_size = queue_size
        self._tasks: dict[str, Task] = {}
        self._ended: deque[str] = deque()
        self._waiting: deque[str] = deque()
        self._counts: Counter[str] = Counter()
        self._last_id = 0
        self._accepting = threading.Lock()
        """Held during a submission, including the write of its file; workers and other requests do not wait for it."""
        self._changed = threading.Condition()
        self._queue_saved_tasks()

    def start(self, workers: int) -> None:
        """Start threads that carry out waiting tasks."""
        for _ in range(workers):
            threading.Thread(target=self._work, daemon=True).start()

    def submit(self, kind: str) -> Task:
        """Accept a task and save it to disk. Raises QueueFull, OSError."""
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
        """The task; None: it was never accepted, or it is no longer kept."""
        return self._tasks.get(task_id)

    def metrics(self) -> dict[str, int]:
        """Counts since the process began. Saved tasks that were queued again count as accepted, so that accepted = queued +
        running + finished + failed."""
        with self._changed:
            counted = {name: self._counts[name] for name in ("running", "accepted", "finished", "failed", "rejected")}
            return {"queued": len(self._waiting)} | counted

    def _queue_saved_tasks(self) -> None:
        for task in self._folder.load():
            self._last_id = max(self._last_id, int(task.id))
            if task.has_ended:
                self._tasks[task.id] = task
                self._ended.append(task.id)
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
            self._finish(self._carry_out(self._take()))

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
        except Exception as error:  # any exception is the result of the task
            print(f"task {task.id} ({task.kind}) failed: {_error_text(error)}", file=sys.stderr)
            return replace(task, status="FAILED", error=_error_text(error))
        return done

    def _finish(self, task: Task) -> None:
        if task.status == "FAILED":
            self._save_failure(task)
        with self._changed:
            self._tasks[task.id] = task
            self._ended.append(task.id)
            self._counts["running"] -= 1
            self._counts["finished" if task.status == "SUCCEEDED" else "failed"] += 1
            forgotten = self._ended.popleft() if len(self._ended) > KEPT else None
            if forgotten is not None:
                del self._tasks[forgotten]
        if forgotten is not None:
            self._folder.forget(forgotten)

    def _save_failure(self, task: Task) -> None:
        """Save a failed task. Without descriptors or disk space that fails, too: its file still says QUEUED, and a restart
        retries it."""
        try:
            self._folder.save(task)
        except OSError as error:
            print(f"task {task.id}: its failure could not be saved: {_error_text(error)}", file=sys.stderr)


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
