"""What one level says: the generator first, then what stands by itself, then what needs the gate, then what is left over.

Reads as the table of CAUSES.md does. All that compete are told; nothing is told of a level whose generator was saturated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...model.verdicts import KneeVerdict
from ..ladder import LadderLevel
from . import busiest, growth, queues, resources, sharing, waits
from .found import Found
from .gate import Gate, gate_of
from .level import Seen

Rule = Callable[[Seen], Found | None]

STANDING: tuple[Rule, ...] = (
    resources.cpu_throttled,
    resources.cpu_steal,
    resources.memory,
    resources.swapping,
    resources.disk_full,
)
"""Wrong at any load."""

GATED: tuple[Rule, ...] = (
    resources.target_cpu,
    resources.gil,
    resources.single_thread,
    resources.host_cpu,
    resources.disk,
    resources.network,
)
"""A busy resource is a bottleneck only where more users bring nothing."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A level with what was found there; `findings` is None where nothing can be said about the target."""

    level: Seen
    gate: Gate
    findings: tuple[Found, ...] | None

    aside: Found | None = None
    """What it says of the run, not of the service: it competes with nothing."""

    @property
    def all_findings(self) -> tuple[Found, ...]:
        """What limits the service, and what is said aside."""
        return (*(self.findings or ()), *((self.aside,) if self.aside is not None else ()))

    @property
    def ids(self) -> tuple[str, ...]:
        """Of all findings."""
        return tuple(found.id for found in self.all_findings)

    def finding(self, id_: str) -> Found | None:
        """The one of that id."""
        return next((found for found in self.all_findings if found.id == id_), None)


def judged(
    level: Seen,
    levels: Sequence[Seen],
    fit: Sequence[LadderLevel],
    knee: KneeVerdict | None,
    backlog: growth.Backlog | None,
) -> Judged:
    """`levels`: all of the epoch. `fit`: pooled ones that feed the fit. `backlog`: of the target's own work."""
    gate = gate_of(level.rates, fit, knee)
    if level.generator_saturated:
        return Judged(level, gate, None)
    found = [rule(level) for rule in STANDING] + [growth.queue_growth(backlog)]
    if gate.is_open:
        found += [rule(level) for rule in GATED]
    told = [each for each in found if each is not None]
    if not told:
        told = _left_over(level, gate)
    piles_up = growth.is_told(level) and (backlog is None or backlog.may_grow)  # perhaps
    if not told and not piles_up:
        told = _nothing_limits(level, gate, levels, knee)
    return Judged(level, gate, tuple(told), sharing.generator_shares_host(level))


def _left_over(level: Seen, gate: Gate) -> list[Found]:
    """Requests wait, and no resource is busy."""
    found = queues.worker_pool(level, gate) or queues.lock_or_pool(level, gate)
    return [found] if found is not None else []


def _nothing_limits(level: Seen, gate: Gate, levels: Sequence[Seen], knee: KneeVerdict | None) -> list[Found]:
    waiting = waits.think_time(level, gate, levels, knee)
    found = waiting or busiest.not_saturated(level, gate)
    return [found] if found is not None else []
