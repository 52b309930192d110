"""Judges one level: rules that hold at any load, then rules that need the gate, then queues, then "no limit reached".

The gate (`gate`) is open if more users no longer increase goodput and latency rose.

The order is that of docs/causes.md. All competing findings are kept. A level whose generator was saturated gives no finding; one
whose goodput other processes lowered gives only that finding, and full disks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from ...model.figures import LevelFigures
from ...model.findings import Readings
from ...model.load import Users
from ...model.verdicts import KneeVerdict
from ..ladder import LadderLevel
from ..statistics import COUNT_LEAST, FULL, MOSTLY, NOTABLE, RELEVANT
from . import engine_rules, queue_rules, rate_limit, resource_rules, watched_parts
from .gate import NO_GATE, Gate, gate_of
from .measured_level import REQUESTS_LEAST, FindingKey, Found, MeasuredLevel
from .queue_rules import Backlog, counts_work, queue_growth
from .rate_limit import ReplyRate
from .resource_rules import Rule
from .watched_parts import WatchedParts

# -- The finding that no resource is near its limit, with the resource that is used most.

SECONDS_LEAST = 3.0
"""A level with fewer settled seconds is not judged. One second at the whole capacity of a service, whose accept queue
was empty by chance, was taken for no limit (measured)."""


def not_saturated(level: MeasuredLevel, gate: Gate, parts: Sequence[MeasuredLevel] = ()) -> Found | None:
    """ "Not saturated": requests succeed, goodput grows with users, readings were taken, and none is near its limit."""
    if (
        gate.stalls
        or level.figures.requests < COUNT_LEAST
        or level.figures.settled_seconds < SECONDS_LEAST
        or level.failure_ratio > NOTABLE
        or not (level.target_is_here or parts)
        or level.rates.goodput_rps <= 0
        or any(map(engine_rules.requests_wait, parts))
    ):
        return None
    found = max((ratio for each in (level, *parts) for ratio in _ratios(each)), key=lambda each: each[1], default=None)
    if found is None or found[1] > FULL:
        return None
    name, ratio = found
    return Found("not_saturated", {"busiest": f"{name} {ratio:.2f}"})


def _ratios(level: MeasuredLevel) -> Iterator[tuple[str, float]]:
    """(name, share of its limit that is used) of each measured resource."""
    pairs = (
        ("cpu of the service", level.busy("target.cpu_ratio"), 1.0 if level.is_one_python_process else level.cores_allowed),
        ("busiest thread", level.busy("target.busiest_thread_ratio"), 1.0),
        ("cpu of the host", level.read("host.cpu_ratio"), level.host.cpus),
        ("disk", level.read("host.disk_busy_ratio"), 1.0),
        ("open files of the service", level.read("target.fds_fullest"), level.read("target.fds_limit")),
        ("accept queue", level.read("target.listen_queue"), level.read("target.listen_backlog")),
    )
    of = f" of {level.part}" if level.part is not None else ""
    for name, used, most in pairs:
        if used is not None and most:
            yield f"{name.removesuffix(' of the service').removesuffix(' of the host')}{of}" if of else name, used / most


# -- Which of several idle parts holds the waiting requests, by the counts of the servers in front of it and behind it.
#
# A proxy with open requests waits for the part behind it. A database that works on few of them is not what they wait for. The one
# part between both holds the others: in a lock or a pool of its own, or waiting for a party that is not watched.

IN_PROXY, IN_DATABASE = "server.writing", "server.active"
"""Requests that nginx has open, and sessions that a database works for."""


def located(found: Found | None, level: MeasuredLevel, levels: Sequence[MeasuredLevel], parts: WatchedParts) -> Found | None:
    """Name the part that holds the requests, if the counts of the servers show which one it is.

    `found`: a lock or pool, or an unwatched party; other findings are returned as they are. `levels`: all of the epoch. Returns
    None if a watched database, or an engine, holds the requests: then the service has no lock or pool at its limit.
    """
    inside = level.requests_inside
    if found is None or found.id not in ("lock_or_pool_limit", "unwatched_party"):
        return found
    if inside is None or inside < queue_rules.QUEUED_LEAST:
        return found
    if _has_most(parts.levels, IN_DATABASE, inside):
        return found if found.id == "unwatched_party" else None
    if engine_rules.holds(parts.levels, inside):
        return None
    holder = _between(parts.levels) if _has_most(parts.levels, IN_PROXY, inside) else None
    may_be_limiter = "rate_limit" in found.competing
    if holder is None or (may_be_limiter and not _has_connections_of_waiting_requests(holder, inside, levels)):
        return found
    kept: Readings = {name: value for name, value in found.readings.items() if name in ("idle_parts", "little_ratio")}
    return replace(
        found,
        id="lock_or_pool_limit",
        part=holder.part,
        readings={**holder.named(*queue_rules.IDLENESS), "requests_inside": inside, **kept},
        competing=(*(("rate_limit",) if may_be_limiter else ()), "unwatched_party"),
    )


def _has_most(levels: Sequence[MeasuredLevel], name: str, inside: float) -> bool:
    return sum(level.read(name) or 0.0 for level in levels) >= MOSTLY * inside


def _has_connections_of_waiting_requests(holder: MeasuredLevel, inside: float, levels: Sequence[MeasuredLevel]) -> bool:
    """Whether `holder` has opened at least MOSTLY as many files, since the level with the fewest users, as there are additional
    requests inside.

    A proxy that delays requests by a rate limit counts them as open too, but does not pass them on.
    """
    low_load = min(levels, key=lambda each: each.users, default=holder)
    fds_now, fds_before, inside_before = (
        holder.read("target.fds"),
        replace(low_load, part=holder.part).read("target.fds"),
        low_load.requests_inside,
    )
    if fds_now is None or fds_before is None or inside_before is None or inside - inside_before < queue_rules.QUEUED_LEAST:
        return False
    return fds_now - fds_before >= MOSTLY * (inside - inside_before)


def _between(levels: Sequence[MeasuredLevel]) -> MeasuredLevel | None:
    """The only part that is neither a proxy nor a database, if a database is watched and its processes are read; else None."""
    others = [level for level in levels if level.read(IN_PROXY) is None and level.read(IN_DATABASE) is None]
    has_database = any(level.read(IN_DATABASE) is not None for level in levels)
    return others[0] if has_database and len(others) == 1 and others[0].target_is_read else None


# -- Whether the users' think time, not the service, sets the throughput.
#
# By Little's law X = N / (R + Z). If Z is most of the cycle and R does not grow, more users bring more throughput: the limit of
# the service was not reached.

WAIT_LEAST = 3.0
"""Least ratio of the mean pause between two requests to the mean response time."""


def think_time(level: MeasuredLevel, gate: Gate, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None) -> Found | None:
    """The finding that think time sets the throughput. `levels`: all settled levels with this kind of load.

    Paced users wait less when responses take longer, so their throughput is compared with their pace, and R may grow.
    """
    figures = level.figures
    wait_s, response_ms, little = figures.pause_s, figures.response_ms, level.little_ratio
    if wait_s is None or response_ms is None or little is None or figures.requests < REQUESTS_LEAST:
        return None
    throughput = figures.throughput_rps or 0.0
    readings: Readings = {"wait_s": wait_s, "response_ms": response_ms, "throughput_rps": throughput}
    if level.pacing_s is not None:
        paced_rps = level.users / level.pacing_s * (figures.requests_per_task or 1.0)
        is_paced = abs(throughput / paced_rps - 1) <= NOTABLE and not gate.flat and level.failure_ratio <= NOTABLE
        return (
            Found("think_time_limited", {**readings, "pacing_s": level.pacing_s, "expected_rps": paced_rps}) if is_paced else None
        )
    waits = wait_s >= WAIT_LEAST * response_ms / 1000 and abs(1 / little - 1) <= NOTABLE
    if not waits or gate.flat or _bent(level, knee) or level.failure_ratio > NOTABLE or not _is_flat(level, levels):
        return None
    return Found("think_time_limited", {**readings, "expected_rps": throughput * little})


def _bent(level: MeasuredLevel, knee: KneeVerdict | None) -> bool:
    return knee is not None and knee.kind in ("knee", "at_or_below", "bend") and level.users > (knee.users or 0.0)


def _is_flat(level: MeasuredLevel, others: Sequence[MeasuredLevel]) -> bool:
    """Whether R is the same as at the level with the fewest users, and so is the time that a task takes: users who ask for a
    result again and again wait for it in pauses of their own, while each of their requests is quick.
    """
    low_load = min(others, key=lambda other: other.users, default=level).figures
    return _requests_stay(low_load, level.figures) and _tasks_stay(low_load, level.figures)


def _requests_stay(then: LevelFigures, now: LevelFigures) -> bool:
    if then.response_ms is None or now.response_ms is None:
        return False
    return _stays(then.response_ms, now.response_ms, 1000 * (now.pause_s or 0.0))


def _tasks_stay(then: LevelFigures, now: LevelFigures) -> bool:
    """Where tasks are not known, they do."""
    if then.task_s is None or now.task_s is None:
        return True
    return _stays(1000 * then.task_s, 1000 * now.task_s, 1000 * (now.wait_s or 0.0))


def _stays(then_ms: float, now_ms: float, pause_ms: float) -> bool:
    return now_ms - then_ms <= max(RELEVANT * then_ms, NOTABLE * (now_ms + pause_ms))


POLLED_TIMES = 2.0
"""Users poll if a task has so many times the requests that it has with fewer users. Of simulated users who poll it is seen in 8
of 8 explorations by the autopilot and in 6 of 12 ladders (tuning seeds). Of 20 tasks of one or ten requests, each as likely, the
mean is half of that of many in 0.1% (calculated)."""


def users_poll(then: LevelFigures, now: LevelFigures) -> bool:
    """Whether tasks take longer than with fewer users by more requests, each as quick as before."""
    before, after = then.requests_per_task or 0.0, now.requests_per_task or 0.0
    if not before or then.requests < COUNT_LEAST * before or now.requests < COUNT_LEAST * after:
        return False
    return after >= POLLED_TIMES * before and _requests_stay(then, now) and not _tasks_stay(then, now)


# -- Where requests may wait if every watched part is idle: in a lock or pool of one of them, or in something not watched.


def _idle_names(parts: WatchedParts) -> tuple[str, ...] | None:
    """Names of the parts whose use is known, if none of them is busy; None if one is."""
    return tuple(part.part or "" for part in parts.with_use) if all(map(_is_idle, parts.with_use)) else None


def _is_idle(level: MeasuredLevel) -> bool:
    disk = level.read("host.disk_busy_ratio")
    if level.withheld is not None or (disk is not None and disk > MOSTLY):
        return False
    return queue_rules.is_idle(level) if level.target_is_read else queue_rules.is_idle_machine(level)


def unwatched_party(level: MeasuredLevel, gate: Gate, parts: WatchedParts) -> Found | None:
    """Requests wait for something that is not watched: more users bring no more goodput, every part is idle, and the target
    itself is not read.

    An idle part may also have a lock or a pool at its limit, unless it counts its sessions: the reading `may_wait_in` names
    such parts.
    """
    idle = _idle_names(parts)
    if not idle or level.target_is_here or not gate.is_open:
        return None
    if not queue_rules.generator_has_spare_time(level) or not queue_rules.accounts_for_users(level):
        return None
    if level.requests_inside is None or level.requests_inside < 2 * queue_rules.QUEUED_LEAST:  # each part may work on one
        return None
    if any((part.read("target.listen_queue") or 0.0) >= RELEVANT for part in parts.levels):
        return None
    inside = ", ".join(part.part or "" for part in parts.with_use if not _counts_few_sessions(part))
    readings: Readings = {"idle_parts": ", ".join(idle), **({"may_wait_in": inside} if inside else {})}
    return Found("unwatched_party", readings, parts.use_unknown, ("lock_or_pool_limit",))


def _counts_few_sessions(level: MeasuredLevel) -> bool:
    """Whether a server's own counts show that most requests wait elsewhere: a request in a database has an active session."""
    active, inside = level.read("server.active"), level.requests_inside
    return active is not None and inside is not None and active < MOSTLY * inside


def with_idle_parts(found: Found, parts: WatchedParts) -> Found | None:
    """The finding of a lock or pool, given the watched parts: None if one of them is busy. If they are idle too, requests may
    also wait for something that is not watched. Other findings are returned as they are.
    """
    if found.id != "lock_or_pool_limit" or not (parts.levels or parts.unread):
        return found
    idle = _idle_names(parts)
    if idle is None:
        return None
    return replace(
        found,
        readings={**found.readings, **({"idle_parts": ", ".join(idle)} if idle else {})},
        unavailable=(*found.unavailable, *parts.use_unknown),
        competing=(*found.competing, "unwatched_party"),
    )


NOT_IF_CPU_WITHHELD: tuple[Rule, ...] = (resource_rules.host_cpu, resource_rules.cpu_steal)
"""Rules that are not applied if other processes made the service wait for a core: that may be why they would find something."""


class LevelJudgement(msgspec.Struct, frozen=True):
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
        return LevelJudgement(level, gate, full_disks(level, parts), watched_parts.noisy_neighbours(level))
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
    of_run = watched_parts.noisy_neighbours(level) or watched_parts.generator_shares_host(level)
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
    rules += queue_rules.STALLED if gate.stalls else ()
    rules += (*queue_rules.PART_GATED, engine_rules.kv_cache, engine_rules.engine_queue) if gate.is_open else ()
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
    refused = rate_limit.refuses(level, gate, reply_rate)
    if refused is not None:
        return [refused]
    full = watched_parts.worker_pools(parts, gate)
    if full:
        return full
    slower = engine_rules.tokens_slow_down(level, levels, parts) if gate.is_open else None
    if slower is not None:
        return [slower]
    found = queue_rules.worker_pool(level, gate)
    if knee is None or knee.evidence.return_agrees is not False:  # else the service may have become slower without more load
        found = found or rate_limit.delays_or_waits(level, gate, reply_rate) or unwatched_party(level, gate, parts)
    found = with_idle_parts(found, parts) if found is not None else None
    found = located(found, level, levels, parts)
    return [found] if found is not None else []


def _nothing_limits(
    level: MeasuredLevel, gate: Gate, levels: Sequence[MeasuredLevel], knee: KneeVerdict | None, parts: WatchedParts
) -> list[Found]:
    waiting = think_time(level, gate, levels, knee)
    found = waiting or (None if _may_be_at_limit(level, knee) else not_saturated(level, gate, parts.levels))
    return [found] if found is not None else []


def _may_be_at_limit(level: MeasuredLevel, knee: KneeVerdict | None) -> bool:
    """Whether an offered rate lies within the interval of the capacity, or above it."""
    if isinstance(level.level.load, Users) or knee is None or knee.users is None or knee.kind == "no_knee":
        return False
    return level.users >= (knee.users if knee.users_low is None else knee.users_low)
