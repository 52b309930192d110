"""Stacks of the target's threads, sampled for some seconds of a level: in which functions the time of its requests passes."""

from __future__ import annotations

from typing import Literal

import msgspec

from .readings import Reading

Runtime = Literal["python", "go", "jvm", "node", "native"]

Clock = Literal["wall", "cpu", "blocked"]
"""What a stack's seconds are: of a thread's life, of CPU, or of waiting for a lock, a channel or a call of the system."""

STACKS_MOST = 1_000
"""Stacks of one sampling that are kept: those with the most seconds."""


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One function of a stack, at one line."""

    function: str
    """As its runtime writes it, with the class or package."""
    file: str = ""
    """A path as the runtime reports it; empty: not known."""
    line: int = 0
    """0: not known."""
    is_own: bool = False
    """Whether it is the service's own code rather than that of a library or of the runtime."""


class Stack(msgspec.Struct, frozen=True, array_like=True):
    """A sequence of calls, and the seconds that all threads together spent in it."""

    frames: tuple[int, ...]
    """Indices in the list of frames, the outermost call first."""
    seconds: float


class SampledStacks(Reading, frozen=True, kw_only=True):
    """What one tool saw with one clock."""

    runtime: Runtime
    clock: Clock
    tool: str
    """With its version, such as `py-spy 0.4.1`."""
    pids: tuple[int, ...] = ()
    seconds: float = 0.0
    """Length of the sampling."""
    frames: tuple[Frame, ...] = ()
    stacks: tuple[Stack, ...] = ()
    """At most STACKS_MOST."""
    omitted_s: float = 0.0
    """Thread seconds of the stacks that are left out."""
    lost: int = 0
    """Samples that the tool could not take."""


# -- what two samplings say: see `analysis/stacks.py`


class RequestTime(msgspec.Struct, frozen=True):
    """Seconds of threads for each request, at a low load and at a high one."""

    low_s: float
    high_s: float
    error_s: float
    """Standard error of the growth."""

    @property
    def growth_s(self) -> float:
        """By how much it is more at the high load."""
        return self.high_s - self.low_s


class FunctionTime(msgspec.Struct, frozen=True):
    """A function of the service, or one that no function of the service had called."""

    frame: Frame
    """With the line at which it gained most."""
    calls: str
    """The library's function that it calls there; empty: none, or several without a most frequent one."""
    own: RequestTime
    """While no deeper function is the service's own: in itself and in the libraries that it calls."""
    total: RequestTime
    """While it is anywhere in the stack."""
    threads: tuple[float, float]
    """Threads that are there at the same time, as `own`: at the low and at the high load."""
    is_more: bool
    """Whether the threads grew beyond the error of sampling."""
    is_less: bool
    """Whether they fell beyond it."""
    grew: bool
    """Whether that and the time for each request did."""


class FunctionBlamed(msgspec.Struct, frozen=True):
    """The function to look at first."""

    how: Literal["grew", "busy", "cpu"]
    """Its time for each request grew; or threads are all busy, most of them in it; or it takes most of a CPU that is full."""
    clock: Clock
    function: FunctionTime
    share_ratio: float
    """Of the growth in the service's own functions; of the threads in these; of the CPU time."""
    is_wait: bool | None = None
    """Whether what grew is waiting, not CPU time; None: not known."""
    endpoints: int = 1
    """Number of endpoints whose requests are averaged: stacks do not tell them apart."""
