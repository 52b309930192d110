"""The law of an inference engine: which requests are in the batch, and how long each step of it takes. No model, no clock.

Continuous batching as vLLM has it: before each step waiting requests join the batch while slots and KV cache have room; prompts
are read in chunks; each request whose prompt is read gets one token a step. If the cache has no room for these tokens, the latest
request loses its place: it waits at the head of the queue, and must read its prompt and its output again.

Requests that are alone, with a prompt of P tokens and n tokens of output, have their first token after P / prefill_per_s and each
further one after 1 / decode_per_s. A full batch of k > 1 finishes a request every P / prefill_per_s + n s / k seconds, where s is
the time of a step: a request that joins it is read in a step in which the others get a token.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Law:
    """The parameters of an engine."""

    slots: int
    kv_tokens: int
    prefill_per_s: float
    decode_per_s: float
    batch_cost: float
    chunk_tokens: int = 2_048

    def step_s(self, batch: float, read_tokens: int) -> float:
        """Seconds of a step in which `batch` requests get a further token and so many tokens of prompts are read."""
        decoding_s = (1 + self.batch_cost * (batch - 1)) / self.decode_per_s if batch else 0.0
        return decoding_s + read_tokens / self.prefill_per_s

    def capacity_per_s(self, prompt_tokens: float, output_tokens: float) -> float:
        """Requests per second of a batch that is always full, by their mean lengths, if the KV cache has room for all."""
        steps = output_tokens if self.slots > 1 else output_tokens - 1
        decoding = max(1.0, self.slots * (1 - 1 / output_tokens))
        return 1 / (prompt_tokens / self.prefill_per_s + steps * self.step_s(decoding, 0) / self.slots)


@dataclass(slots=True, eq=False)
class Job:
    """One request as the engine sees it."""

    prompt_tokens: int
    output_tokens: int
    """Tokens after which it ends."""
    made: int = 0
    """Tokens of output so far."""
    unread: int = 0
    """Tokens to be read before it gets the next one."""
    held: int = 0
    """Tokens that it has in the KV cache."""
    preemptions: int = 0

    @property
    def is_done(self) -> bool:
        return self.made >= self.output_tokens


@dataclass(slots=True)
class Engine:
    """`begin` a step, wait so long, `end` it: again while `is_busy`."""

    law: Law
    waiting: deque[Job] = field(default_factory=deque)
    running: list[Job] = field(default_factory=list)
    """The batch, in the order of admission."""
    kv_used: int = 0
    preemptions: int = 0
    joined: list[Job] = field(default_factory=list)
    """Requests that joined the batch as this step began."""
    _getting: list[Job] = field(default_factory=list)
    """Requests that get a token at the end of this step."""

    @property
    def is_busy(self) -> bool:
        return bool(self.waiting or self.running)

    def add(self, job: Job) -> None:
        """A request arrives. It must fit into the KV cache: see `fits`."""
        self.waiting.append(job)

    def fits(self, prompt_tokens: int, output_tokens: int) -> bool:
        """Whether the KV cache could hold such a request."""
        return prompt_tokens + output_tokens <= self.law.kv_tokens

    def remove(self, job: Job) -> None:
        """Its client has gone."""
        if job in self.running:
            self._take_out(job)
        elif job in self.waiting:
            self.waiting.remove(job)

    def begin(self) -> float:
        """Begin a step. Returns its seconds."""
        self.joined.clear()
        if self._make_room():
            self._admit()
        decoding = [job for job in self.running if not job.unread]
        left = self.law.chunk_tokens
        self._getting = decoding.copy()
        for job in self.running:
            if job.unread and left:
                read = min(job.unread, left)
                job.unread, left = job.unread - read, left - read
                if not job.unread:
                    self._getting.append(job)
        return self.law.step_s(len(decoding), self.law.chunk_tokens - left)

    def end(self) -> list[Job]:
        """End the step. Returns the requests that have one more token; those that are done have left."""
        got = [job for job in self._getting if job.held]  # others were removed during the step
        for job in got:
            job.made, job.held = job.made + 1, job.held + 1
        self.kv_used += len(got)
        for job in got:
            if job.is_done:
                self._take_out(job)
        return got

    def _make_room(self) -> bool:
        """Preempt the latest requests until each other one has room for a further token. False: some were preempted."""
        before = self.preemptions
        while self.kv_used + len(self.running) > self.law.kv_tokens:
            job = self.running[-1]
            self._take_out(job)
            job.preemptions += 1
            self.preemptions += 1
            self.waiting.appendleft(job)
        return self.preemptions == before

    def _admit(self) -> None:
        while self.waiting and len(self.running) < self.law.slots:
            job = self.waiting[0]
            known = job.prompt_tokens + job.made
            if self.kv_used + known + len(self.running) + 1 > self.law.kv_tokens:
                return
            self.waiting.popleft()
            job.unread = job.held = known
            self.kv_used += known
            self.running.append(job)
            self.joined.append(job)

    def _take_out(self, job: Job) -> None:
        self.running.remove(job)
        self.kv_used -= job.held
        job.held = job.unread = 0
