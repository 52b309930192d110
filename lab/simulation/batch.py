"""A service whose replies are streams, event by event: slots, a queue for the prefill of prompts, and a batch whose tokens all
come at one rate, the slower the more streams are in it. Users in a closed loop, or arrivals at a rate.

A request waits for a slot, then for its prefill, which is one at a time and ends with its first token; its other tokens follow.
All streams of the batch get their tokens at the same times, so one clock of tokens orders their ends: a heap.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from capexplorer.model.stages import LimitName, RequestLimits, RequestStages

from .open_queue import Iteration, OpenRun
from .queues import Request, Run, Speed, Spread, Stream, System

IDLE_BUSY_S, CPU_S = 0.05, 0.001
"""CPU that the service uses in a second, and for a request: what computes is no CPU."""


@dataclass(frozen=True, slots=True)
class Law:
    """Times in seconds."""

    slots: int
    token_s: float
    """Between two tokens of a stream that is alone."""
    growth: float
    """Each further stream of the batch adds this share to it."""
    tokens: float
    """Mean number of tokens of a reply, at least two."""
    tokens_spread: Spread
    prefill_s: float
    """Mean, with the spread of prompts."""
    prompt_spread: Spread
    think_s: float
    think_spread: Spread
    noise: float = 0.0

    def gap_s(self, streams: int) -> float:
        """Between two tokens of a batch of so many streams."""
        return self.token_s * (1 + self.growth * (streams - 1))

    @property
    def alone_s(self) -> float:
        """Mean reply of a stream that is alone."""
        return self.prefill_s + (self.tokens - 1) * self.token_s

    @property
    def full_s(self) -> float:
        """The same in a full batch."""
        return self.prefill_s + (self.tokens - 1) * self.gap_s(self.slots)

    @property
    def most_per_s(self) -> float:
        """Replies a second of which the service is full: that of its slots, or of its prefill."""
        return min(self.slots / self.full_s, 1 / self.prefill_s)

    @property
    def as_system(self) -> System:
        """What the machine's readings and the truth of others need of it."""
        return System(CPU_S, self.think_s, self.slots, think_spread=self.think_spread, noise=self.noise)


@dataclass(slots=True)
class _Reply:
    sent_s: float
    tokens: int
    first_s: float = 0.0


class Batch:
    """The service. `send` and `until` in the order of time."""

    def __init__(self, law: Law, rng: np.random.Generator) -> None:
        self.law, self.now_s = law, 0.0
        self._tokens, self._prefill = Stream(rng, law.tokens, law.tokens_spread), Stream(rng, law.prefill_s, law.prompt_spread)
        self._speed, self._numbers = Speed(rng, law.noise), count()
        self._waiting: deque[_Reply] = deque()
        self._in_prefill: deque[_Reply] = deque()
        """Those with a slot whose first token is to come; the first one is computed."""
        self._prefilled_s = math.inf
        self._clock = 0.0
        """Tokens that a stream has got which is there since the beginning."""
        self._streams: list[tuple[float, int, _Reply]] = []
        """A heap by the clock's reading at which each ends."""

    @property
    def next_s(self) -> float:
        """When something happens next; infinite while it idles."""
        if not self._streams:
            return self._prefilled_s
        return min(self._prefilled_s, self.now_s + (self._streams[0][0] - self._clock) * self._gap_s())

    def _gap_s(self) -> float:
        return self.law.gap_s(len(self._streams)) / self._speed.at(self.now_s)

    def send(self, at_s: float) -> None:
        """A request comes then, at which time the service must have arrived."""
        self._waiting.append(_Reply(at_s, max(2, round(self._tokens.block().pop()))))
        self._admit()

    def until(self, at_s: float) -> tuple[float, RequestStages] | None:
        """Let time pass up to the next event, or to this time; (when it was sent, its stages) of the reply that ends then."""
        next_s = self.next_s
        now_s = min(next_s, at_s)
        if self._streams:
            self._clock += (now_s - self.now_s) / self._gap_s()
        self.now_s = now_s
        if next_s > at_s:
            return None
        if next_s == self._prefilled_s:
            reply = self._in_prefill.popleft()
            reply.first_s = now_s
            heappush(self._streams, (self._clock + reply.tokens - 1, next(self._numbers), reply))
            self._prefilled_s = math.inf
            self._admit()
            return None
        _, _, reply = heappop(self._streams)
        self._admit()
        first_ms, further_ms = 1000 * (reply.first_s - reply.sent_s), 1000 * (now_s - reply.first_s)
        stages = RequestStages(ttft_ms=first_ms, tpot_ms=further_ms / (reply.tokens - 1), tokens=reply.tokens)
        return reply.sent_s, stages

    def _admit(self) -> None:
        while self._waiting and len(self._in_prefill) + len(self._streams) < self.law.slots:
            self._in_prefill.append(self._waiting.popleft())
        if self._in_prefill and self._prefilled_s == math.inf:
            self._prefilled_s = self.now_s + self._prefill.block().pop() / self._speed.at(self.now_s)


class BatchRun(Run):
    """Users in a closed loop. As of `Run`, but a request is simulated as its time passes."""

    def __init__(self, law: Law, rng: np.random.Generator) -> None:
        super().__init__(law.as_system, rng)
        self._batch, self._ended = Batch(law, rng), list[Request]()

    def busy_s(self, second: int) -> float:
        return IDLE_BUSY_S

    def take_ended(self) -> list[Request]:
        ended, self._ended = self._ended, []
        return ended

    def until(self, end_s: float) -> None:
        sends, batch = self._sends, self._batch
        while True:
            sent_s = sends[0] if sends else math.inf
            if min(sent_s, batch.next_s) >= end_s:
                break
            if (found := batch.until(sent_s)) is not None:
                began_s, stages = found
                think_s = self._think.block().pop()
                self._ended.append(Request(batch.now_s, batch.now_s - began_s, ok=True, think_s=think_s, stages=stages))
                heappush(sends, batch.now_s + think_s)
            elif batch.now_s == sent_s:
                heappop(sends)
                if self._leaving:
                    self._leaving -= 1
                else:
                    batch.send(sent_s)
        batch.until(end_s)
        self.now_s = end_s


class BatchRates(OpenRun):
    """Arrivals at a rate; each has a user at once. As of `OpenRun`."""

    def __init__(self, law: Law, rng: np.random.Generator) -> None:
        super().__init__(law.as_system, rng)
        self._batch, self._inside = Batch(law, rng), 0

    @property
    def in_flight(self) -> int:
        return self._inside

    @property
    def queued(self) -> int:
        return 0

    def until(self, end_s: float) -> list[Iteration]:
        batch, ended = self._batch, list[Iteration]()
        while min(self._next_s, batch.next_s) < end_s:
            if (found := batch.until(self._next_s)) is not None:
                self._inside -= 1
                ended.append(Iteration(found[0], found[0], batch.now_s, ok=True, stages=found[1]))
            elif batch.now_s == self._next_s:
                self.due += 1
                self._inside += 1
                batch.send(self._next_s)
                self._next_s += self._gap_s()
        batch.until(end_s)
        self.now_s = end_s
        return ended


# -- what is true of them, by long runs without noise


class Measured(NamedTuple):
    """Replies a second, those of them within limits, and the share beyond each limit."""

    per_s: float
    within_per_s: float
    beyond: dict[LimitName, float]


def measured(running: Run | OpenRun, limits: RequestLimits, warm_s: float, requests: int) -> Measured:
    """After so many seconds, over so many replies."""
    replies = _replies(running, warm_s)
    found = [next(replies) for _ in range(requests)]
    seconds = found[-1][0] - warm_s
    broken = [limits.broken_by(1000 * took_s, stages) for _, took_s, stages in found]
    shares = {name: sum(name in each for each in broken) / requests for name in limits.by_name}
    return Measured(requests / seconds, sum(not each for each in broken) / seconds, shares)


def _replies(running: Run | OpenRun, warm_s: float) -> Iterator[tuple[float, float, RequestStages | None]]:
    """(end, response time, stages) of those that end after so many seconds, in their order."""
    while True:
        at_s = running.now_s + 5.0
        if isinstance(running, OpenRun):
            ended = [(each.ended_s, each.ended_s - each.due_s, each.stages) for each in running.until(at_s)]
        else:
            running.until(at_s)
            ended = [(each.ended_s, each.response_s, each.stages) for each in running.take_ended()]
        yield from sorted((each for each in ended if each[0] > warm_s), key=lambda each: each[0])
