"""Users of a language model in virtual time: replies are streams, from the very engine of the target `llm`.

Users think, send a prompt, and read the reply to its end. Lengths of prompts and replies are lognormal.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from heapq import heappop, heappush
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from capexplorer.model.readings import PartReading
from capexplorer.model.stages import RequestStages

from .queues import Request, Run, Stream, System
from .stations import IDLE_BUSY_S

ENGINE_FILE = Path(__file__).parents[2] / "targets" / "llm" / "engine.py"


LENGTHS = 64
"""Number of different lengths: a real profile lists as many prompts."""


def _engine_module() -> Any:
    """The target's own law, from its file: targets are programs, in no package."""
    spec = importlib.util.spec_from_file_location("llm_engine", ENGINE_FILE)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where its dataclasses look for themselves
    spec.loader.exec_module(module)
    return module


engine: Any = _engine_module()


class Lengths(NamedTuple):
    """Tokens of a prompt or a reply: one of equally likely lengths, which follow a lognormal distribution."""

    mean: float
    cv: float = 0.0
    """Coefficient of variation."""

    @property
    def values(self) -> list[int]:
        """The lengths, each at least one."""
        return _quantiles(self.mean, self.cv)

    def drawn(self, rng: np.random.Generator) -> int:
        return self.values[int(rng.integers(LENGTHS))]


@cache
def _quantiles(mean: float, cv: float) -> list[int]:
    sigma2 = math.log1p(cv**2)
    normal = [NormalDist().inv_cdf((index + 0.5) / LENGTHS) for index in range(LENGTHS)]
    found = [math.exp(math.sqrt(sigma2) * each) for each in normal]
    return [max(1, round(mean * each * LENGTHS / sum(found))) for each in found]


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A server and its users. `law`: the parameters of the target `llm` that concern time."""

    law: Mapping[str, float]
    prompt: Lengths
    reply: Lengths
    think_s: float
    let_in: int | None = None
    """Most requests that a gateway before the engine lets in, in order of arrival; None: there is no gateway."""

    @property
    def alone_s(self) -> float:
        """Mean time of a reply that is alone in the batch."""
        return self.prompt.mean / self.law["prefill_per_s"] + (self.reply.mean - 1) / self.law["decode_per_s"]

    @property
    def capacity_rps(self) -> float:
        """Replies a second of a batch that is always full, with room in the KV cache for all of it."""
        found: float = engine.Law(**self.law).capacity_per_s(self.prompt.mean, self.reply.mean)
        return found


@dataclass(slots=True)
class Asked:
    """A request inside the engine."""

    sent_s: float
    first_s: float = 0.0
    gaps_ms: list[float] = field(default_factory=list)
    last_s: float = 0.0


class StreamRun(Run):
    """As of `Run`, with the stages of each request."""

    def __init__(self, model: LanguageModel, rng: np.random.Generator, *, gaps: bool = False, watched: bool = True) -> None:
        """`gaps`: whether the time between two tokens is kept, too, for each. `watched`: whether the engine's counts are read."""
        super().__init__(System(service_s=model.alone_s, think_s=model.think_s), rng)
        self._watched = watched
        self.model, self.engine, self._gaps = model, engine.Engine(engine.Law(**model.law)), gaps
        self._thinks = Stream(rng, model.think_s, "uniform")
        self._inside: dict[Any, Asked] = {}
        self._outside = deque[float]()
        self._step_ends_s = math.inf
        self._stages: list[RequestStages] = []
        self._preempted = 0

    def busy_s(self, second: int) -> float:
        return IDLE_BUSY_S

    def part(self) -> PartReading | None:
        """What its page of metrics says now. Preemptions are those since the last call, which was a second ago."""
        if not self._watched:
            return None
        before, self._preempted = self._preempted, self.engine.preemptions
        counts = {
            "requests_running": float(len(self.engine.running)),
            "requests_waiting": float(len(self.engine.waiting)),
            "kv_cache_ratio": self.engine.kv_used / self.engine.law.kv_tokens,
            "preemptions_per_s": float(self._preempted - before),
        }
        return PartReading(name="engine", server=counts, age_s=0.0)

    def until(self, end_s: float) -> None:
        while True:
            send_s = self._sends[0] if self._sends else math.inf
            if min(send_s, self._step_ends_s) >= end_s:
                break
            if send_s < self._step_ends_s:
                heappop(self._sends)
                if self._leaving:
                    self._leaving -= 1
                else:
                    self._outside.append(send_s)
                    self._let_in(send_s)
            else:
                self._end_step(self._step_ends_s)
        self.now_s = end_s

    def _let_in(self, now_s: float) -> None:
        """Requests that the gateway lets in go to the engine."""
        while self._outside and (self.model.let_in is None or len(self._inside) < self.model.let_in):
            self._ask(self._outside.popleft(), now_s)

    def _ask(self, sent_s: float, now_s: float) -> None:
        most = self.engine.law.kv_tokens
        prompt = min(self.model.prompt.drawn(self._rng), most // 2)
        job = engine.Job(prompt, min(self.model.reply.drawn(self._rng), most // 2))
        self._inside[job] = Asked(sent_s)
        self.engine.add(job)
        if self._step_ends_s == math.inf:
            self._step_ends_s = now_s + self.engine.begin()

    def _end_step(self, at_s: float) -> None:
        for job in self.engine.end():
            asked = self._inside[job]
            if job.made == 1:
                asked.first_s = at_s
            elif self._gaps:
                asked.gaps_ms.append(1000 * (at_s - asked.last_s))
            asked.last_s = at_s
            if job.is_done:
                self._reply_ended(job, self._inside.pop(job), at_s)
        self._step_ends_s = at_s  # who is let in now joins the next step
        self._let_in(at_s)
        self._step_ends_s = at_s + self.engine.begin() if self.engine.is_busy else math.inf

    def _reply_ended(self, job: Any, asked: Asked, at_s: float) -> None:
        first_ms = 1000 * (asked.first_s - asked.sent_s)
        tpot_ms = 1000 * (at_s - asked.first_s) / (job.made - 1) if job.made > 1 else None
        self._stages.append(
            RequestStages(ttfb_ms=0.0, ttft_ms=first_ms, tpot_ms=tpot_ms, gaps_ms=tuple(asked.gaps_ms), tokens=job.made)
        )
        think_s = self._thinks.block().pop()
        self._record(asked.sent_s, at_s, think_s, ok=True)
        heappush(self._sends, at_s + think_s)

    def _sent_since(self, first: int) -> Iterator[Request]:
        for request, stages in zip(super()._sent_since(first), self._stages[first:], strict=True):
            yield request._replace(stages=stages)
