"""Bottlenecks: what limits the service at a level, or that no limit is reached (docs/causes.md). They need no failures.

Pure, over settled levels of one epoch: the same timeline gives the same marks, live and over a saved session. A wrong mark is
worse than none, so levels that cannot be judged neither make nor close a mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ...model.catalogue import ENTRIES
from ...model.events import Mark
from ...model.findings import Bottleneck
from ...model.load import NamedLoad, Rate
from ...model.timeline import pid_of
from ...model.verdicts import CONFIDENCES, Confidence, KneeVerdict, RateCapacity, RateVerdict
from ..epoch.epoch import Epoch
from ..epoch.measured_epoch import MeasuredEpoch
from ..ladder import pooled
from .level_judgement import LevelJudgement, judge_level, judge_unexplained
from .measured_level import FindingKey, Found, MeasuredLevel, measured_levels
from .queue_rules import backlog_of
from .rate_limit import reply_rate_of
from .watched_parts import NEIGHBOURS, watched_parts

# -- The two kinds of load on which an epoch is judged: users and offered rates. Their levels are never compared with each other.
#
# Rules read the load of a level as `users`. For levels of offered rates that is iterations a second, and the knee is the capacity
# as a rate.


class JudgedLoadKind(msgspec.Struct, frozen=True):
    """The levels of one kind of load in an epoch, and their knee."""

    ladder: MeasuredEpoch
    knee: KneeVerdict | None
    """Of this kind of load; None: not known."""
    is_rate: bool = False
    """Whether the loads are offered rates, not users."""
    limited_by_generator: frozenset[int] = frozenset()
    """Indices of levels that the generator limited by its pool of users: their readings say nothing about the service."""
    has_verdict: bool = True
    """False if no level describes the service, for example because all requests failed from the start."""

    def named(self, load: float) -> NamedLoad:
        """A load of this kind as the fields of a mark."""
        return Rate(load).named if self.is_rate else NamedLoad(users=load, offered_per_s=None)


def load_kinds(epoch: Epoch) -> Iterator[JudgedLoadKind]:
    """Users, and offered rates if there were any."""
    if epoch.verdict is None:
        yield JudgedLoadKind(epoch, None, has_verdict=False)
        return
    yield JudgedLoadKind(epoch, epoch.verdict.capacity.knee)
    if epoch.rates is not None:
        yield JudgedLoadKind(
            epoch.rate_ladder, _knee(epoch.rates.capacity), is_rate=True, limited_by_generator=_limited_by_generator(epoch.rates)
        )


def _limited_by_generator(rates: RateVerdict) -> frozenset[int]:
    return frozenset(each.level for each in rates.levels if each.state == "generator")


def _knee(found: RateCapacity | None) -> KneeVerdict | None:
    """The capacity as a rate in the form of a knee, whose `users` are iterations a second."""
    if found is None:
        return None
    match found.kind:
        case "capacity":
            return KneeVerdict(kind="knee", users=found.per_s, users_low=found.low_per_s, users_high=found.high_per_s)
        case "at_or_below":
            return KneeVerdict(kind="at_or_below", users=found.high_per_s, users_high=found.high_per_s)
        case "departs":
            return KneeVerdict(kind="bend", users=found.per_s)
        case "keeps_up":
            return KneeVerdict(kind="no_knee", users=found.per_s)


SHOWN_AT_MOST_USERS = ("think_time_limited", "not_saturated", NEIGHBOURS)
"""Ids whose mark has the most users at which they were found; marks of all other ids have the fewest."""

FULL_DISK = "disk_full"
"""The id that is found at any level, without a comparison with others."""

IDS = (
    "think_time_limited", "target_cpu_saturated", "gil_bound", "single_thread_cpu_saturated", "host_cpu_saturated",
    "cpu_throttled", "cpu_steal", "worker_pool_exhausted", "lock_or_pool_limit", "rate_limit", "queue_growth",
    "memory_saturated", "swapping", "disk_saturated", "disk_full", "network_bandwidth_saturated", "not_saturated",
    "generator_shares_host", NEIGHBOURS, "open_files_limit", "connection_limit", "lock_waits", "unwatched_party",
    "kv_cache_full", "engine_queue", "tokens_slow_down",
)  # fmt: skip
"""All ids that may be found, in the order of their marks."""


def marks(epoch: Epoch) -> Iterator[Mark]:
    """What limited the service in an epoch, at levels of users and at levels of offered rates.

    A mark is open unless a later level of its load kind contradicts it (`_is_open`); else it is closed.
    """
    for load_kind in load_kinds(epoch):
        yield from _marks(load_kind)


def _marks(load_kind: JudgedLoadKind) -> Iterator[Mark]:
    levels, timeline = tuple(judged_levels(load_kind)), load_kind.ladder.timeline
    showing: dict[FindingKey, list[LevelJudgement]] = {(id_, part): [] for part in (None, *timeline.parts) for id_ in IDS}
    for level in levels:
        for key in level.keys:
            showing[key].append(level)
    for key, found in showing.items():
        if found:
            id_ = key[0]
            judged = _comparable(id_, levels)
            is_open = found[-1] is judged[-1] if id_ == NEIGHBOURS else _is_open(id_, found[-1], judged)
            yield _mark(key, found, is_open=is_open, load_kind=load_kind)


def judged_levels(load_kind: JudgedLoadKind) -> Iterator[LevelJudgement]:
    """Judgements of levels in the order they ran, without levels that do not describe the service.

    Levels that load does not explain are included if a disk was full. If any level shows a rate limiter that delays, findings of
    a lock or pool are dropped: the limiter has one rate at all levels beyond the knee.
    """
    found = sorted([*_judged(load_kind), *_unexplained(load_kind)], key=lambda each: each.level.rates.started_s)
    delayed = any(each.delays for each in found)
    yield from (each.without("lock_or_pool_limit") if delayed else each for each in found)


def _judged(load_kind: JudgedLoadKind) -> Iterator[LevelJudgement]:
    if not load_kind.has_verdict:
        return
    timeline = load_kind.ladder.timeline
    levels = [each for each in measured_levels(load_kind.ladder) if each.level.opened.index not in load_kind.limited_by_generator]
    fit = pooled(load_kind.ladder.fit)
    for level in levels:
        backlog, output = backlog_of(timeline, level), reply_rate_of(timeline, level, levels, load_kind.knee)
        found = judge_level(level, levels, fit, load_kind.knee, backlog, output, watched_parts(level, timeline))
        if found.findings is not None:
            yield found


def _unexplained(load_kind: JudgedLoadKind) -> Iterator[LevelJudgement]:
    """Judgements with a finding, of levels that load does not explain."""
    explained = () if load_kind.has_verdict else measured_levels(load_kind.ladder)
    for level in (*explained, *measured_levels(load_kind.ladder, unexplained=True)):
        found = judge_unexplained(level, watched_parts(level, load_kind.ladder.timeline))
        if found.findings:
            yield found


def _comparable(id_: str, levels: Sequence[LevelJudgement]) -> list[LevelJudgement]:
    """The levels that would show a bottleneck with this id if it lasted."""
    if id_ == FULL_DISK:
        return list(levels)
    explained = [each for each in levels if each.explained]
    return explained if id_ in SHOWN_AT_MOST_USERS else [each for each in explained if not each.level.goodput_disturbed]


def _is_open(id_: str, last: LevelJudgement, levels: Sequence[LevelJudgement]) -> bool:
    """Whether no level after `last`, the latest that shows a bottleneck, contradicts it.

    A mark with the most users is contradicted only by a level with at least as many. A mark with the fewest users is contradicted
    by a level with fewer, and by a level with more that has ended: a queue needs time to grow.
    """
    later = [each.level for each in levels[levels.index(last) + 1 :]]
    if id_ in SHOWN_AT_MOST_USERS:
        return all(level.users < last.level.users for level in later)
    return all(level.users >= last.level.users and level.level.closed is None for level in later)


def _mark(key: FindingKey, showing: Sequence[LevelJudgement], *, is_open: bool, load_kind: JudgedLoadKind) -> Mark:
    (id_, part), timeline, epoch = key, load_kind.ladder.timeline, load_kind.ladder.index
    chosen = (max if id_ in SHOWN_AT_MOST_USERS else min)(showing, key=lambda each: _load(id_, each.level))
    last = showing[-1] if id_ not in SHOWN_AT_MOST_USERS else chosen
    found = last.finding(key)
    assert found is not None
    ended_s = showing[0].level.level.ended_s
    return Mark(
        t_s=timeline.last_s if ended_s is None else ended_s,
        key=f"bottleneck:{id_}:epoch{epoch}{':rates' * load_kind.is_rate}" + (f":{part}" if part is not None else ""),
        state="open" if is_open else "closed",
        finding=_finding(found, last, len(showing), pid_of(timeline, epoch), load_kind),
        epoch=epoch,
        **load_kind.named(_load(id_, chosen.level)),
        severity=ENTRIES[id_].severity,
        confidence=_confidence(found, showing),
    )


def _load(id_: str, level: MeasuredLevel) -> float:
    """The load for which a mark with this id stands."""
    return level.served if id_ == "not_saturated" else level.users


def _finding(found: Found, judged: LevelJudgement, levels: int, pid: int | None, load_kind: JudgedLoadKind) -> Bottleneck:
    """The finding with its readings at the level `judged`, the gate's figures if the gate was open, and competing findings."""
    gate = judged.gate
    gated = gate.stalls and found is not judged.run_finding
    if found.part is not None:
        pid = None
    at = load_kind.named(_load(found.id, judged.level))
    before = load_kind.named(gate.users_before) if gated and gate.users_before is not None else None
    return Bottleneck(
        name=found.id,
        part=found.part,
        readings={**found.readings, **({} if pid is None or found.id in SHOWN_AT_MOST_USERS else {"pid": pid})},
        users_at=at["users"],
        offered_at_per_s=at["offered_per_s"],
        levels=levels,
        users_before=before["users"] if before is not None else None,
        offered_before_per_s=before["offered_per_s"] if before is not None else None,
        goodput_growth_ratio=gate.goodput_growth_ratio if gated else None,
        latency_growth_ratio=gate.latency_growth_ratio if gated else None,
        competing=tuple(dict.fromkeys((*(each.id for each in _competing(found, judged)), *found.competing))),
        unavailable=found.unavailable,
    )


def _competing(found: Found, judged: LevelJudgement) -> list[Found]:
    """Other findings about the service at that level."""
    return [] if found is judged.run_finding else [each for each in judged.findings or () if each.key != found.key]


def _confidence(found: Found, showing: Sequence[LevelJudgement]) -> Confidence:
    """High if two levels show it, if one level is both flat and beyond the knee, or if goodput grew with users; else medium, and
    low for "no limit reached". One grade less for competing findings or a ramp, and one for missing readings.
    """
    last = showing[-1]
    repeated = len(showing) > 1 or (last.gate.flat and last.gate.beyond_knee) or last.gate.grows
    rank = 2 if repeated else 0 if found.id == "not_saturated" else 1
    competing = _competing(found, last) or found.competing or last.level.level.opened.ramp
    return CONFIDENCES[::-1][max(0, rank - bool(competing) - bool(found.unavailable))]
