"""Users of a language model in virtual time: replies are streams, from the very engine of the target `llm`.

Users think, send a prompt, and read the reply to its end. Lengths of prompts and replies are lognormal.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from capexplorer.model.readings import PartReading
from capexplorer.model.stages import RequestStages

from .queues import Request, Run, Stream, System
from .stations import IDLE_BUSY_S

ENGINE_FILE = Path(__file__).parents[2] / "targets" / "llm" / "engine.py"


def _engine_module() -> Any:
    """The target's own law, from its file: targets are programs, in no package."""
    spec = importlib.util.spec_from_file_location("llm_engine", ENGINE_FILE)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # where its dataclasses look for themselves
    spec.loader.exec_module(module)
    return module


engine: Any = _engine_module()


class Lengths(NamedTuple):
    """Tokens of a prompt or a reply: lognormal, at least one."""

    mean: float
    cv: float = 0.0
    """Coefficient of variation."""

    def drawn(self, rng: np.random.Generator) -> int:
        if not self.cv:
            return max(1, round(self.mean))
        sigma2 = math.log1p(self.cv**2)
        return max(1, round(float(rng.lognormal(math.log(self.mean) - sigma2 / 2, math.sqrt(sigma2)))))


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A server and its users. `law`: the parameters of the target `llm` that concern time."""

    law: Mapping[str, float]
    prompt: Lengths
    reply: Lengths
    think_s: float

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

    def __init__(self, model: LanguageModel, rng: np.random.Generator, *, gaps: bool = False) -> None:
        """`gaps`: whether the time between two tokens is kept, too, for each."""
        super().__init__(System(service_s=model.alone_s, think_s=model.think_s), rng)
        self.model, self.engine, self._gaps = model, engine.Engine(engine.Law(**model.law)), gaps
        self._thinks = Stream(rng, model.think_s, "uniform")
        self._inside: dict[Any, Asked] = {}
        self._step_ends_s = math.inf
        self._stages: list[RequestStages] = []
        self._preempted = 0

    def busy_s(self, second: int) -> float:
        return IDLE_BUSY_S

    def part(self) -> PartReading:
        """What its page of metrics says now. Preemptions are those since the last call, which was a second ago."""
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
                    self._ask(send_s)
            else:
                self._end_step(self._step_ends_s)
        self.now_s = end_s

    def _ask(self, at_s: float) -> None:
        most = self.engine.law.kv_tokens
        prompt = min(self.model.prompt.drawn(self._rng), most // 2)
        job = engine.Job(prompt, min(self.model.reply.drawn(self._rng), most // 2))
        self._inside[job] = Asked(at_s)
        self.engine.add(job)
        if self._step_ends_s == math.inf:
            self._step_ends_s = at_s + self.engine.begin()

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
