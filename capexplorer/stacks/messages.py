"""What the process that samples is asked, and what it answers: a line of JSON each."""

from __future__ import annotations

import msgspec

from ..model.stacks import SampledStacks


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Which stacks are wanted."""

    pids: tuple[int, ...]
    """The service's processes on this machine; all that run below them are sampled, too."""
    seconds: float
    url: str = ""
    """The service's base URL; empty: not known. Go's profiles are looked for there and at the ports of its processes."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What was sampled."""

    sampled: tuple[SampledStacks, ...] = ()
    failed: tuple[str, ...] = ()
    """Why stacks of a runtime, or with a clock, could not be sampled: a sentence without a full stop each."""
