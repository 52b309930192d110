"""The target's life as the events tell it: up, down because we asked, or dead by itself; and what of its end is known.

What fails while we restart or stop it is nobody's fault. What fails from its death on belongs to that death. Of a service that
ran before us nobody tells but its readings: it is dead once its process is, nobody answers, and how it ended is known.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

from ...model.events import Sample, Target
from ...model.findings import Readings
from ...model.readings import TargetReading
from . import recent_readings
from .recent_readings import Recent

SETTLES_S = 2.0
"""After it is ready again: connections of before, and replies under way, may still fail."""

BEFORE_DEATH_S = 1.5
"""Connections break as a process ends; the kernel tells its parent later, and a tick ends a second later."""

OOM_KNOWN_S = 1.0
"""The kernel's count is read at ticks: the first one after a death knows."""

_SIGNALLED = 128
"""A shell's exit code for a child that a signal ended: this and the signal's number."""

_OUTPUT_LINES = 5


@dataclass(frozen=True, slots=True)
class Death:
    """It ended by itself."""

    at_s: float
    pid: int | None
    exit_code: int | None
    signal: str | None
    output: tuple[str, ...]

    @property
    def killed(self) -> bool:
        """By SIGKILL, as the kernel does when memory is out."""
        return self.signal == "SIGKILL"

    @property
    def readings(self) -> Readings:
        """What is known of how it ended."""
        found: Readings = {"died_s": self.at_s}
        if self.pid is not None:
            found["pid"] = self.pid
        if self.exit_code is not None:
            found["exit_code"] = self.exit_code
        if self.signal is not None:
            found["signal"] = self.signal
        return found | ({"output": " / ".join(self.output[-_OUTPUT_LINES:])} if self.output else {})


class TargetState:
    """Folds Target events; samples where the target `is_ours` not."""

    def __init__(self, *, is_ours: bool = True) -> None:
        self._is_ours = is_ours
        self._ended: Death | None = None
        """A process that ended, and perhaps the service with it."""
        self.death: Death | None = None
        """Of the process that ran last, until another one is ready."""
        self.death_id: str | None = None
        """What it was; None until it is known."""
        self._pid: int | None = None
        self._down_since_s: float | None = None
        self._was_up = False
        self._up_s = float("-inf")
        """When it was last ready *again*."""

    def apply(self, event: Target) -> None:
        """Fold one."""
        match event.state:
            case "building" | "starting" | "stopping":
                if self._down_since_s is None:
                    self._down_since_s = event.t_s
            case "ready":
                self._up_s = event.t_s if self._was_up else self._up_s
                self._was_up, self._down_since_s = True, None
                self._pid, self.death, self.death_id = event.pid, None, None
            case "died":
                code, name = event.exit_code, event.signal or _signal_of(event.exit_code)
                self.death, self.death_id = Death(event.t_s, event.pid or self._pid, code, name, event.output), None
            case "stopped" | "failed":
                pass

    def watch(self, sample: Sample) -> None:
        """Fold one."""
        if self._is_ours:
            return
        if recent_readings.requests([sample]) > recent_readings.failures([sample]):
            self.death = self.death_id = self._ended = None
        elif sample.failures and self._ended is not None:
            self.death, self._ended = self._ended, None
        for target in sample.targets:
            if not target.alive and target.processes_ended:
                self._ended = _ending(target, sample.t_s - sample.duration_s)

    def is_down(self, ended_s: float) -> bool:
        """Whether we have it down, or had in the tick that ended then."""
        return self._down_since_s is not None and ended_s >= self._down_since_s

    def is_ours(self, began_s: float, ended_s: float) -> bool:
        """The same, or just before: broken connections are of our own making."""
        return self.is_down(ended_s) or began_s < self._up_s + SETTLES_S

    def is_dead(self, ended_s: float) -> bool:
        """Whether what failed in the tick that ended then belongs to its death."""
        return self.death is not None and ended_s >= self.death.at_s - BEFORE_DEATH_S

    def decide(self, recent: Recent, now_s: float, *, at_last: bool = False) -> str | None:
        """What its death was, once that can be known; `at_last`: by what is known now."""
        death = self.death
        if death is None or self.death_id is not None:
            return self.death_id
        if death.killed:
            if oom_kills(recent, death.at_s):
                self.death_id = "target_oom_killed"
            elif at_last or now_s >= death.at_s + OOM_KNOWN_S:
                self.death_id = "target_killed_by_signal"
        else:
            self.death_id = "target_killed_by_signal" if death.signal else "target_crashed"
        return self.death_id


def oom_kills(recent: Recent, at_s: float) -> int | None:
    """How many the kernel killed for want of memory around a moment; None when that was not read."""
    ticks = recent.since(at_s - BEFORE_DEATH_S)
    read = [grown for tick in ticks for target in tick.targets if (grown := target.grown("oom_kills")) is not None]
    return int(sum(read)) if read else None


def _ending(target: TargetReading, at_s: float) -> Death | None:
    """How it ended; None where that is not known, or was in order: whoever stopped it meant to."""
    ways = [way for way in target.ended_by if way != "exit 0"]
    if len(ways) != 1:
        return None
    code = int(ways[0].removeprefix("exit ")) if ways[0].startswith("exit ") else None
    return Death(at_s, target.pid, code, ways[0] if code is None else _signal_of(code), ())


def _signal_of(exit_code: int | None) -> str | None:
    number = -exit_code if exit_code is not None and exit_code < 0 else (exit_code or 0) - _SIGNALLED
    try:
        return signal.Signals(number).name if number > 0 else None
    except ValueError:
        return None
