"""Samples the target's stacks in a level of their own, by a process beside the app. In the pump's thread; no method blocks but
`end`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..model.events import By, StacksSampled
from ..model.proposals import Hold
from ..model.timeline import pid_of
from ..stacks.messages import Answer, Ask
from .context import RunContext
from .live_levels import LiveLevels
from .piped_process import PipedProcess

SETTLES_WITHIN_S = 60.0
"""Seconds after which stacks are sampled although the level has not settled. Spawning and settling take 31 s at most."""

ANSWERS_WITHIN_S = 30.0
"""Seconds after the sampling in which its result must have arrived: tools that are killed leave 10 s of a slow machine."""

TIMES_MOST = 3
"""Most attempts: where others use the whole machine the process is held up, which begins a new level, each few seconds."""


class StackSampling:
    """At most one sampling at a time: `ask`, then `ticked` each second and `beat` several times a second."""

    def __init__(self, context: RunContext, levels: LiveLevels, ended: Callable[[], None]) -> None:
        """`ended`: called when a sampling has ended by itself, with a result or without."""
        self._context, self._levels, self._timeline, self._ended = context, levels, context.timeline, ended
        self._seconds: float | None = None
        """Of the sampling that was asked for; None: there is none."""
        self._by: By = "plan"
        self._asked_s = self._began_s = 0.0
        self._process: PipedProcess | None = None
        """None: it has not begun, since the load has not settled."""
        self._level = -1
        """Index of the level in which it takes place."""
        self._times = 0
        """How often it has begun."""

    def proposal(self, now_s: float) -> Hold | None:
        """To wait for the end of the sampling; None without one."""
        if self._seconds is None:
            return None
        left_s = self._seconds - (now_s - self._began_s if self._process is not None else 0.0)
        return Hold("stacks", max(left_s, 0.0), max(left_s, 0.0))

    def ask(self, seconds: float, by: By) -> None:
        """Sample for so many seconds, once the open level has settled."""
        self.end()
        self._seconds, self._asked_s, self._by, self._times = seconds, self._context.now_s(), by, 0

    def ticked(self) -> None:
        """After each sample: begin if the load has settled. The level of a sampling that has ended does not outlast it."""
        opened, now_s = self._levels.opened, self._context.now_s()
        if self._seconds is None and opened is not None and opened.stacks:
            self._levels.go_on(opened.by)
        if self._seconds is None or self._process is not None or opened is None:
            return
        pid = pid_of(self._timeline, self._context.epoch)
        if pid is None:
            return self._give_up("the target's process is not known: it runs on another machine or in a container")
        if self._levels.phase != "settled" and now_s < self._asked_s + SETTLES_WITHIN_S:
            return
        header = self._timeline.header
        self._levels.go_on(self._by, stacks=True)
        self._level, self._began_s, self._times = self._levels.index, now_s, self._times + 1
        self._process = PipedProcess("capexplorer.stacks.process")
        ask = Ask(pids=(pid,), seconds=self._seconds, url=header.target.url if header is not None else "")
        self._process.send(msgspec.json.encode(ask) + b"\n")

    def beat(self) -> None:
        """Take in the result, with which the sampling ends. It begins again if its level ends before (a worker was lost, the
        process was suspended): the seconds of stacks and of requests would not be the same.
        """
        process, opened = self._process, self._levels.opened
        if process is None or self._seconds is None:
            return
        if opened is None or opened.index != self._level:
            if self._times >= TIMES_MOST:
                return self._give_up("each of their levels ended before they were")
            process.end()
            self._process, self._asked_s = None, self._context.now_s()
            return
        lines = process.take()
        if lines:
            self._take(lines[0])
        elif not process.is_open or self._context.now_s() > self._began_s + self._seconds + ANSWERS_WITHIN_S:
            self._give_up("the process that samples them ended" if not process.is_open else "the tools that sample them hang")

    def _take(self, line: bytes) -> None:
        try:
            answer = msgspec.json.decode(line, type=Answer)
        except msgspec.DecodeError as error:  # a defect of a tool's reader must not end the run
            return self._give_up(f"their result cannot be read: {error}")
        for why in answer.failed:
            self._context.log.add("capexplorer", "error", f"stacks were not sampled: {why}")
        event = StacksSampled(t_s=self._context.now_s(), level=self._level, sampled=answer.sampled, failed=answer.failed)
        self._context.emit(event)
        self._end_by_itself()

    def _give_up(self, why: str) -> None:
        self._context.log.add("capexplorer", "error", f"stacks were not sampled: {why}")
        self._end_by_itself()

    def _end_by_itself(self) -> None:
        self.end()
        self._ended()

    def end(self) -> None:
        """End the sampling, if any, and the process with all of its tools."""
        process, self._process, self._seconds = self._process, None, None
        if process is not None:
            process.end()
