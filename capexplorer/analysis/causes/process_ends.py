"""Whether the target runs, was stopped on request, or died by itself, and how it ended.

Failures while the app restarts or stops the target are ignored. Failures after the target died are counted for its death. Of a
service that the app did not start only readings are known: it has died if its process ended, no request succeeds, and the exit
status is known.
"""

from __future__ import annotations

import signal

import msgspec

from ...model.events import Sample, Target
from ...model.findings import Readings
from ...model.readings import TargetReading
from ..statistics import measured
from . import confirmation
from .confirmation import READINGS_WAIT_S, RecentReadings

SETTLES_S = 2.0
"""Seconds after a restart, and before a death, in which failures belong to it: connections break before the parent process is
notified, and a failure counts at the end of its tick."""


class Death(msgspec.Struct, frozen=True):
    """The target ended without being asked to."""

    at_s: float
    pid: int | None
    exit_code: int | None
    signal: str | None
    output: tuple[str, ...]

    @property
    def killed(self) -> bool:
        """Ended by SIGKILL, as by the kernel when memory is exhausted."""
        return self.signal == "SIGKILL"

    @property
    def readings(self) -> Readings:
        """Readings about its end, by name."""
        output = " / ".join(self.output[-5:]) or None
        return {"died_s": self.at_s, **measured(pid=self.pid, exit_code=self.exit_code, signal=self.signal, output=output)}


class TargetDeaths:
    """Folds Target events, and samples for a target that the app did not start (`is_ours` is False)."""

    def __init__(self, *, is_ours: bool = True) -> None:
        self._is_ours = is_ours
        self._ended: Death | None = None
        """Of a target that the app did not start: a process that ended, perhaps with the whole service."""
        self.death: Death | None = None
        """The death of the target's latest process, until another one is ready."""
        self.death_id: str | None = None
        """Id of the cause of that death; None until it is known."""
        self._pid: int | None = None
        self._down_since_s: float | None = None
        self._was_up = False
        self._up_s = float("-inf")
        """When it was last ready again after a restart, in seconds of the session."""

    def apply(self, event: Target) -> None:
        """Fold one event."""
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
        """Fold one sample."""
        if self._is_ours:
            return
        if confirmation.requests([sample]) > confirmation.failures([sample]):
            self.death = self.death_id = self._ended = None
        elif sample.failures and self._ended is not None:
            self.death, self._ended = self._ended, None
        for target in sample.targets:
            if not target.alive and target.processes_ended:
                self._ended = _ending(target, sample.t_s - sample.duration_s)

    def is_down(self, ended_s: float) -> bool:
        """Whether it was stopped on request, and before the end of the tick at `ended_s`."""
        return self._down_since_s is not None and ended_s >= self._down_since_s

    def fails_on_request(self, began_s: float, ended_s: float) -> bool:
        """Whether broken connections in a tick are expected: the target is stopped on request, or has just restarted."""
        return self.is_down(ended_s) or began_s < self._up_s + SETTLES_S

    def is_dead(self, ended_s: float) -> bool:
        """Whether failures in the tick that ended at `ended_s` belong to its death."""
        return self.death is not None and ended_s >= self.death.at_s - SETTLES_S

    def decide(self, recent: RecentReadings, now_s: float, *, at_last: bool = False) -> str | None:
        """Id of the cause of its death, once it is known. `at_last`: decide with the readings so far."""
        death = self.death
        if death is None or self.death_id is not None:
            return self.death_id
        if death.killed:
            if oom_kills(recent, death.at_s):
                self.death_id = "target_oom_killed"
            elif at_last or now_s >= death.at_s + READINGS_WAIT_S:
                self.death_id = "target_killed_by_signal"
        else:
            self.death_id = "target_killed_by_signal" if death.signal else "target_crashed"
        return self.death_id


def oom_kills(recent: RecentReadings, at_s: float) -> int | None:
    """Processes that the kernel killed for lack of memory around `at_s`; None if the count was not read."""
    ticks = recent.since(at_s - SETTLES_S)
    read = [grown for tick in ticks for target in tick.targets if (grown := target.grown("oom_kills")) is not None]
    return int(sum(read)) if read else None


def _ending(target: TargetReading, at_s: float) -> Death | None:
    """How the target ended; None if that is not known, or it exited with 0: then somebody stopped it."""
    ways = [way for way in target.ended_by if way != "exit 0"]
    if len(ways) != 1:
        return None
    code = int(ways[0].removeprefix("exit ")) if ways[0].startswith("exit ") else None
    return Death(at_s, target.pid, code, ways[0] if code is None else _signal_of(code), ())


def _signal_of(exit_code: int | None) -> str | None:
    code = exit_code or 0
    number = -code if code < 0 else code - 128  # of a shell whose child was ended by a signal
    try:
        return signal.Signals(number).name if number > 0 else None
    except ValueError:
        return None
