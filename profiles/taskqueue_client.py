"""A client of the task queue: hands in a task every 5 s whatever became of those before, asks once a second, fetches each result.

So what comes in does not slow down when the service does, which is how a queue grows. Which tasks it hands in, the locustfiles
beside this say (`kinds`).
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from dataclasses import dataclass

from locust import FastHttpUser, task

SUBMIT_EVERY_S = 5.0
POLL_EVERY_S = 1.0
GIVE_UP_AFTER_S = 60.0


@dataclass(frozen=True, slots=True)
class Open:
    """A task that is not known to be over."""

    id: str
    since_s: float


class TaskClient(FastHttpUser):
    """One cycle does what is due: a submission, or a look at the oldest open task if there is one (they are taken in order)."""

    abstract = True
    network_timeout = connection_timeout = 30.0
    kinds: dict[str, int] = {}
    """How many of each kind, in proportion."""

    def on_start(self) -> None:
        """Clients that came at the same moment must not submit at the same moment ever after."""
        now_s = time.monotonic()
        self.submit_at_s = now_s + random.uniform(0, SUBMIT_EVERY_S)
        self.poll_at_s = now_s + random.uniform(0, POLL_EVERY_S)
        self.open: deque[Open] = deque()

    def wait_time(self) -> float:
        return max(0.0, min(self.submit_at_s, self.poll_at_s) - time.monotonic())

    @task
    def do_what_is_due(self) -> None:
        now_s = time.monotonic()
        if now_s >= self.submit_at_s:
            self.submit_at_s = _next(self.submit_at_s, SUBMIT_EVERY_S, now_s)
            self._submit()
        elif now_s >= self.poll_at_s:
            self.poll_at_s = _next(self.poll_at_s, POLL_EVERY_S, now_s)
            if self.open:
                self._poll(self.open[0])

    def _submit(self) -> None:
        [kind] = random.choices([*self.kinds], [*self.kinds.values()])
        name = f"/tasks/submissions {kind}"
        with self.client.post("/tasks/submissions", json={"kind": kind}, name=name, catch_response=True) as response:
            if response.status_code == 202:
                self.open.append(Open(response.json()["id"], time.monotonic()))

    def _poll(self, oldest: Open) -> None:
        path, name = f"/tasks/submissions/{oldest.id}", "/tasks/submissions/{id}"
        with self.client.get(path, name=name, catch_response=True) as response:
            reported = response.json() if response.status_code == 200 else {"status": f"not reported ({response.status_code})"}
            waited_s = time.monotonic() - oldest.since_s
            if reported["status"] == "FAILED":
                response.failure(f"task_failed: {reported['error']}")
            elif reported["status"] != "SUCCEEDED" and waited_s > GIVE_UP_AFTER_S:
                response.failure(f"task_timeout: {reported['status']} after {waited_s:.0f} s")
            elif reported["status"] != "SUCCEEDED" and response.status_code != 404:
                return
        self.open.popleft()
        if reported["status"] == "SUCCEEDED":
            self.client.get(f"/tasks/{oldest.id}", name="/tasks/{id}")


def _next(due_s: float, every_s: float, now_s: float) -> float:
    """The next beat of a rhythm; those missed are left out, so that a client held up does not make up for it in a burst."""
    return due_s + every_s * (math.floor((now_s - due_s) / every_s) + 1)
