"""Samples the stacks of a service's processes: each runtime by its own tool, all at the same time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, Protocol

from ..model.stacks import SampledStacks
from .folding import NotSampled
from .go import GoStacks
from .jvm import JvmStacks
from .messages import Answer, Ask
from .native import NativeStacks
from .node import NodeStacks
from .python import PythonStacks
from .runtimes import processes_of

P = ParamSpec("P")

_REASON_MOST = 200


class _Stacks(Protocol):
    def sampled(self) -> list[SampledStacks]: ...


class Sampling:
    """Begins at once, in a process without threads if programs may be killed with it. `answer` waits for the end."""

    def __init__(self, ask: Ask) -> None:
        self._failed: list[str] = []
        self._begun: list[_Stacks] = []
        seconds, processes = ask.seconds, processes_of(ask.pids)
        for runtime, pids in processes.items():
            if runtime == "python":
                self._begin(PythonStacks, pids, seconds)
            elif runtime == "jvm":
                self._begin(JvmStacks, pids, seconds)
            elif runtime == "node":
                self._begin(NodeStacks, pids, seconds)
            elif runtime == "native" or not self._begin(GoStacks, pids, seconds, ask.url):
                self._begin(NativeStacks, pids, seconds, runtime)
        if not processes and ask.url:
            self._begin(GoStacks, (), seconds, ask.url)

    def _begin(self, begin: Callable[P, _Stacks], *words: P.args, **more: P.kwargs) -> bool:
        """Whether it could begin."""
        try:
            self._begun.append(begin(*words, **more))
        except NotSampled as error:
            self._failed.append(str(error))
            return False
        return True

    def answer(self) -> Answer:
        """All that could be sampled."""
        if not self._begun:
            return Answer(failed=tuple(self._failed))
        with ThreadPoolExecutor(len(self._begun)) as threads:
            results = [threads.submit(each.sampled) for each in self._begun]
        sampled: list[SampledStacks] = []
        for result in results:
            try:
                sampled += result.result()
            except NotSampled as error:
                self._failed.append(str(error))
            except Exception as error:  # the boundary of a tool, whose texts and connections may be anything
                self._failed.append(f"{type(error).__name__}: {error}"[:_REASON_MOST])
        return Answer(sampled=tuple(sampled), failed=tuple(self._failed))


def sample(ask: Ask) -> Answer:
    """Sample; returns after its seconds and about one more."""
    return Sampling(ask).answer()
