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
