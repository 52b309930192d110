"""Users who poll for a result, so that a task has more requests the longer it takes, and refusals that look like replies."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush, heapreplace

import numpy as np

from .queues import Request, Run, System

SENT_S = 0.001
"""Response time of a request that hands over a job, or asks whether it is done."""


class PollingRun(Run):
    """Users submit a job, ask every `poll_s` whether it is done, then think. The system's servers do jobs, first come, first
    served; requests themselves take no time of theirs."""

    def __init__(self, system: System, rng: np.random.Generator, poll_s: float) -> None:
        super().__init__(system, rng)
        self._poll_s = poll_s
        self._names: list[tuple[str, bool, float]] = []
        self._polls: list[tuple[float, float, float]] = []
        """For each user who waits for a job: (when it asks next, when its job will be done, when it submitted it)."""

    def until(self, end_s: float) -> None:
        """Let time pass."""
        while True:
            sends_s, polls_s = self._sends[0] if self._sends else end_s, self._polls[0][0] if self._polls else end_s
            if min(sends_s, polls_s) >= end_s:
                break
            if polls_s < sends_s:
                self._ask(*heappop(self._polls))
            elif self._leaving:
                heappop(self._sends)
                self._leaving -= 1
            else:
                self._submit(heappop(self._sends))
        self.now_s = end_s

    def _submit(self, sent_s: float) -> None:
        taken_s = self._service.block().pop() / (self._speed.at(sent_s) * self.system.trouble.speed_at(sent_s))
        done_s = max(sent_s, self._free[0]) + taken_s
        heapreplace(self._free, done_s)
        self._count_busy(done_s - taken_s, done_s)
        self._names.append(("POST /jobs", False, 0.0))
        self._record(sent_s, sent_s + SENT_S, self._poll_s, ok=True)
        heappush(self._polls, (sent_s + SENT_S + self._poll_s, done_s, sent_s))

    def _ask(self, sent_s: float, done_s: float, began_s: float) -> None:
        is_done = done_s <= sent_s
        pause_s = self._think.block().pop() if is_done else self._poll_s
        self._names.append(("/jobs/[id]", is_done, (sent_s + SENT_S - began_s) * is_done))
        self._record(sent_s, sent_s + SENT_S, pause_s, ok=True)
        if is_done:
            heappush(self._sends, sent_s + SENT_S + pause_s)
        else:
            heappush(self._polls, (sent_s + SENT_S + pause_s, done_s, began_s))

    def _sent_since(self, first: int) -> Iterator[Request]:
        for each, (name, ends_task, task_s) in zip(super()._sent_since(first), self._names[first:], strict=True):
            yield each._replace(name=name, ends_task=ends_task, task_s=task_s)


class ErrorPages(Run):
    """A queue that refuses with a short page and status 200, which nobody checks."""

    PAGE_BYTES, REPLY_BYTES = 65, 620

    def _sent_since(self, first: int) -> Iterator[Request]:
        for each in super()._sent_since(first):
            yield each._replace(ok=True, received_bytes=self.REPLY_BYTES if each.ok else self.PAGE_BYTES)
