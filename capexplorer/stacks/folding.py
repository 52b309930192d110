"""Equal stacks of many samples become one, with the seconds that its threads spent in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..model.stacks import STACKS_MOST, Clock, Frame, Runtime, SampledStacks, Stack


class NotSampled(Exception):
    """Why stacks could not be sampled: a sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """What one tool sees with one clock."""

    runtime: Runtime
    clock: Clock
    tool: str
    pids: tuple[int, ...]
    seconds: float

    def sampled(self, stacks: Iterable[tuple[Sequence[Frame], float]], lost: int = 0) -> SampledStacks:
        """Fold (frames, the outermost first, and thread seconds); stacks without seconds are left out."""
        folded: dict[tuple[Frame, ...], float] = {}
        for frames, seconds in stacks:
            if seconds > 0 and frames:
                folded[tuple(frames)] = folded.get(tuple(frames), 0.0) + seconds
        most = sorted(folded.items(), key=lambda each: -each[1])
        kept, rest = most[:STACKS_MOST], most[STACKS_MOST:]
        index: dict[Frame, int] = {}
        return SampledStacks(
            runtime=self.runtime,
            clock=self.clock,
            tool=self.tool,
            pids=self.pids,
            seconds=self.seconds,
            stacks=tuple(
                Stack(tuple(index.setdefault(frame, len(index)) for frame in frames), round(seconds, 6))
                for frames, seconds in kept
            ),
            frames=tuple(index),
            omitted_s=round(sum(seconds for _, seconds in rest), 6),
            lost=lost,
        )
