"""Judges one level: rules that hold at any load, then rules that need the gate, then queues, then "no limit reached".

The gate (`gate`) is open if more users no longer increase goodput and latency rose.

The order is that of docs/causes.md. All competing findings are kept. A level whose generator was saturated gives no finding; one
whose goodput other processes lowered gives only that finding, and full disks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...model.verdicts import KneeVerdict
from ..ladder import LadderLevel
from . import (
    busiest,
    idle_parts,
    part_rules,
    queue_rules,
    rate_limit,
    request_holder,
    resource_rules,
    sharing,
    waits,
    watched_parts,
)
from .backlog import Backlog, counts_work, queue_growth
from .found import FindingKey, Found
from .gate import NO_GATE, Gate, gate_of
from .measured_level import MeasuredLevel
from .reply_rate import ReplyRate
from .resource_rules import Rule
from .watched_parts import WatchedParts

NOT_IF_CPU_WITHHELD: tuple[Rule, ...] = (resource_rules.host_cpu, resource_rules.cpu_steal)
"""Rules that are not applied if other processes made the service wait for a core: that may be why they would find something."""


@dataclass(frozen=True, slots=True)
class LevelJudgement:
    """A level with its findings."""

    level: MeasuredLevel
    gate: Gate
    findings: tuple[Found, ...] | None
    """What limits the service; None if the level does not describe it."""
    run_finding: Found | None = None
    """A finding about the run, not the service; it competes with no other."""
    explained: bool = True
    """Whether load explains what the level showed."""

    @property
    def all_findings(self) -> tuple[Found, ...]:
        """Findings about the service, and the one about the run."""
        return (*(self.findings or ()), *((self.run_finding,) if self.run_finding is not None else ()))

    @property
    def keys(self) -> tuple[FindingKey, ...]:
        """Keys of all findings."""
        return tuple(found.key for found in self.all_findings)

    @property
    def delays(self) -> bool:
        """Whether a rate limiter that delays was found."""
        found = self.finding(("rate_limit", None))
        return found is not None and found.readings["how"] == "delays"

    def finding(self, key: FindingKey) -> Found | None:
        """The finding with that key; None without one."""
        return next((found for found in self.all_findings if found.key == key), None)

    def without(self, id_: str) -> LevelJudgement:
        """A copy without findings of that id."""
        return replace(self, findings=tuple(found for found in self.findings or () if found.id != id_))


def judge_level(
    level: MeasuredLevel,
    levels: Sequence[MeasuredLevel],
    fit: Sequence[LadderLevel],
    knee: KneeVerdict | None,
    backlog: Backlog | None,
    reply_rate: ReplyRate | None = None,
    parts: WatchedParts = WatchedParts(),  # noqa: B008 - frozen
) -> LevelJudgement:
    """What limits the service at a level.

    `levels`: all measured levels with loads of the same kind, users or rates. `fit`: pooled levels that feed the fit. `backlog`:
    that of the target's own work, None: not known. `reply_rate`: how constant the rate of its replies is, None: not known.
    `parts`: watched parts at this level.
    """
    gate = gate_of(level.rates, [each for each in fit if not each.disturbed], knee)
    if level.generator_saturated:
        return LevelJudgement(level, gate, None)
    if level.goodput_disturbed:
        return LevelJudgement(level, gate, full_disks(level, parts), sharing.noisy_neighbours(level))
    found = [rule(level) for rule in resource_rules.UNGATED] + [queue_growth(backlog)]
    if gate.is_open:
        found += [rule(level) for rule in resource_rules.GATED if level.withheld is None or rule not in NOT_IF_CPU_WITHHELD]
    findings = [each for each in found if each is not None]
    findings = watched_parts.without_relayed([*findings, *_of_parts(parts, gate, findings)])
    if not findings and gate.is_open:
        findings = watched_parts.noisy_neighbours_of_parts(parts)
    if not findings:
        findings = _queues(level, gate, levels, knee, reply_rate, parts)
    may_queue = counts_work(level) and (backlog is None or backlog.may_grow)
    if not findings and not may_queue:
        findings = _nothing_limits(level, gate, levels, knee, parts)
    of_run = sharing.noisy_neighbours(level) or sharing.generator_shares_host(level)
    return LevelJudgement(level, gate, tuple(findings), of_run)


def judge_unexplained(level: MeasuredLevel, parts: WatchedParts) -> LevelJudgement:
    """Judge a level that load does not explain, for example one in which all requests fail: only full disks can be found."""
    return LevelJudgement(level, NO_GATE, full_disks(level, parts), explained=False)


def full_disks(level: MeasuredLevel, parts: WatchedParts) -> tuple[Found, ...]:
    """Full disks of the target and of parts; found in disturbed levels too."""
    own = [found] if (found := resource_rules.disk_full(level)) is not None else []
    return tuple(watched_parts.without_relayed([*own, *parts.found((resource_rules.disk_full,), own)]))


def _of_parts(parts: WatchedParts, gate: Gate, of_target: Sequence[Found]) -> list[Found]:
    """Findings about watched parts, by the rules and the gate of the target."""
    rules = resource_rules.UNGATED
    rules += part_rules.STALLED if gate.stalls else ()
    rules += part_rules.GATED if gate.is_open else ()
    return list(parts.found(rules, of_target))


def _queues(
    level: MeasuredLevel,
    gate: Gate,
    levels: Sequence[MeasuredLevel],
    knee: KneeVerdict | None,
    reply_rate: ReplyRate | None,
    parts: WatchedParts,
) -> list[Found]:
    """Findings where requests wait or are refused although no resource is busy."""
    refused = rate_limit.refuses(level, gate, levels, knee, reply_rate)
    if refused is not None:
        return [refused]
    full = watched_parts.worker_pools(parts, gate)
    if full:
        return full
    found = queue_rules.worker_pool(level, gate)
    if knee is None or knee.evidence.return_agrees is not False:  # else the service may have become slower without more load
        found = (
            found
            or rate_limit.delays_or_waits(level, gate, levels, knee, reply_rate)
            or idle_parts.unwatched_party(level, gate, parts)
        )
    found = idle_parts.with_idle_parts(found, parts) if found is not None else None
    found = request_holder.located(found, level, levels, parts)
    return [found] if found is not None else []


def _nothing_limits(
    level: MeasuredLevel, gate: Gate, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None, parts: WatchedParts
) -> list[Found]:
    waiting = waits.think_time(level, gate, levels, knee)
    found = waiting or (None if _may_be_at_limit(level, knee) else busiest.not_saturated(level, gate, parts.levels))
    return [found] if found is not None else []


def _may_be_at_limit(level: MeasuredLevel, knee: KneeVerdict | None) -> bool:
    """Whether an offered rate lies within the interval of the capacity, or above it."""
    if level.level.offered_per_s is None or knee is None or knee.users is None or knee.kind == "no_knee":
        return False
    return level.users >= (knee.users if knee.users_low is None else knee.users_low)
