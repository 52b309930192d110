"""Symptoms to causes: which row of CAUSES.md a failed connection or a timeout belongs to, by the readings around it.

In the order of rule 3: what the generator and its host ran out of, the target's end, its limits, kernel queues, the link; what is
left is the residual cause, or `unknown`. All that hold are competing; the first in that order is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...model.events import FailureSignature, HostFacts
from ...model.findings import Readings
from . import confirmation, recent_readings
from .classify import SAYS_NO_FDS
from .confirmation import Check, Proof
from .process_ends import oom_kills
from .recent_readings import Recent, Ticks

PORTS, TIMEOUTS = "ephemeral_port_exhaustion", frozenset(("connect_timeout", "read_timeout"))
NAMES, TOLD_BY_TARGET = "dns_failure", "task_failed_result"
BROKEN = frozenset(("connection_reset", "keepalive_race", "connection_refused", "incomplete_response"))
"""What a target's end looks like to its clients."""

SYMPTOMS = frozenset((PORTS, NAMES, *TIMEOUTS, *BROKEN))

AROUND_S = 3.0
"""Readings that may confirm are so old at most: a tick each, and the burst before."""

RACE_WAIT_LEAST_S = 0.1
"""(p) Connections that idled may break as they are used again; without idling it is something else."""

RACE_SHARE_MOST, RACE_WAIT_SURE_S = 0.01, 1.0
"""(p) Of all requests, after such waits: no server closes what idled for a shorter time."""

FRESH_EXPECTED = 5.0
"""Fresh connections that would have broken by chance, were they as likely to: that none did has a chance of 0.7%."""

RACE_OVER_S = 30.0

ENDS_SHARE_MOST = 0.5
"""Of ticks: a target whose processes end all the time does so when it is well, too."""

USUAL_PORTS = {"Linux": 28_232, "Darwin": 16_384, "Windows": 16_384}
"""Of a system whose ports cannot be read."""


Race = Literal["yes", "no", "perhaps"]


@dataclass(frozen=True, slots=True)
class Symptom:
    """One kind of failure in one tick."""

    id: str
    t_s: float
    users: int
    signature: FailureSignature
    endpoint: str
    count: int
    hidden: bool = False
    """Beneath a client's own retries: the request may have succeeded."""
    lasted_s: float = 0.0
    """How long ago it may have begun: a timeout."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a symptom is."""

    id: str
    readings: Readings = field(default_factory=dict)
    unavailable: tuple[str, ...] = ()
    competing: tuple[str, ...] = ()
    severity: Literal["critical", "error", "warning", "info"] | None = None
    confidence: Literal["high", "medium", "low"] = "high"
    residual: bool = False
    """Nothing confirms it: wait for readings that come a tick later."""
    open: bool = False
    """More failures, or their absence, will tell: wait for longer."""


BEHIND_TIMEOUTS: tuple[Check, ...] = (
    confirmation.conntrack,
    confirmation.starved_of_fds,
    confirmation.backlog,
    confirmation.syn_queue,
    confirmation.packet_loss,
)
BEHIND_RESETS: tuple[Check, ...] = (confirmation.tcp_memory,)


SAID_BY_ITSELF: Mapping[str, Check] = {
    "fd_exhaustion_generator": confirmation.own_fds,
    "fd_exhaustion_system": confirmation.system_fds,
    "tcp_memory_pressure": confirmation.tcp_memory,
}
"""Local errnos that need no proof; readings only come along."""


def said_by_itself(found: str, lately: Recent, t_s: float, host: HostFacts) -> Proof:
    """Readings beside a cause that one failure tells for sure."""
    check = SAID_BY_ITSELF.get(found)
    return Proof(found, True) if check is None else check(lately.since(t_s - AROUND_S), host)


def needs_readings(found: str, signature: FailureSignature) -> bool:
    """Whether `found`, as one failure is classed, is a symptom that only readings resolve."""
    return found in SYMPTOMS or (found == TOLD_BY_TARGET and SAYS_NO_FDS in signature.text.lower())


def resolve(symptom: Symptom, lately: Recent, host: HostFacts) -> Resolved:
    """What it is by what was read so far. A target that is dead, or down because we asked, is not looked at here."""
    ticks = lately.since(symptom.t_s - AROUND_S - symptom.lasted_s)
    if symptom.id == PORTS:
        return _ports(symptom, ticks, host)
    if symptom.id == NAMES:
        return _name(ticks, host)
    if symptom.id == TOLD_BY_TARGET:
        return _told_by_target(ticks, host)
    if symptom.id in TIMEOUTS:
        return _confirmed(BEHIND_TIMEOUTS, ticks, host) or _unknown(BEHIND_TIMEOUTS, ticks, host)
    return _confirmed(BEHIND_RESETS, ticks, host) or _worker_ended(ticks, lately) or _broken(symptom, ticks, lately)


def _confirmed(checks: Sequence[Check], ticks: Ticks, host: HostFacts) -> Resolved | None:
    proofs = [check(ticks, host) for check in checks]
    holding = [each for each in proofs if each.holds]
    if not holding:
        return None
    unread = tuple(dict.fromkeys(name for each in proofs for name in each.unread))
    competing = tuple(each.id for each in holding[1:])
    sure: Literal["high", "medium"] = "medium" if holding[0].unread else "high"
    return Resolved(holding[0].id, holding[0].readings, unread, competing, confidence=sure)


def _unknown(checks: Sequence[Check], ticks: Ticks, host: HostFacts) -> Resolved:
    proofs = [check(ticks, host) for check in checks]
    readings = {name: value for each in proofs for name, value in each.readings.items()}
    unread = tuple(dict.fromkeys(name for each in proofs for name in each.unread))
    return Resolved("unknown", readings, unread, residual=True, confidence="low")


def _ports(symptom: Symptom, ticks: Ticks, host: HostFacts) -> Resolved:
    """Where ports cannot be read, users fewer than half of them cannot hold them all: then those that wait to be free do."""
    found = confirmation.ports(ticks, host)
    if found.holds:
        return Resolved(found.id, found.readings, found.unread)
    waiting = max((tick.tcp.sockets_time_wait or 0 for tick in ticks if tick.tcp is not None), default=0)
    capacity = found.readings.get("ports_capacity")
    if (
        isinstance(capacity, int) and waiting >= confirmation.FULL * capacity
    ):  # sources that were bound share one pool of all destinations
        return Resolved(
            confirmation.TIME_WAIT, {**found.readings, "sockets_time_wait": waiting}, found.unread, confidence="medium"
        )
    if "ports_used" in found.unread and symptom.users < USUAL_PORTS.get(host.system or "Linux", 16_384) / 2:
        return Resolved(confirmation.TIME_WAIT, {}, found.unread, residual=True, confidence="low")
    return Resolved("unknown", found.readings, found.unread, residual=True, confidence="low")


def _name(ticks: Ticks, host: HostFacts) -> Resolved:
    """A resolver needs descriptors."""
    own, all_of_them = confirmation.own_fds(ticks, host), confirmation.system_fds(ticks, host)
    full = next((each for each in (own, all_of_them) if each.holds), None)
    return Resolved(NAMES, unavailable=own.unread) if full is None else Resolved(full.id, full.readings)


def _told_by_target(ticks: Ticks, host: HostFacts) -> Resolved:
    found = confirmation.target_fds(ticks, host)
    if found.holds:
        return Resolved(found.id, found.readings)
    return Resolved(TOLD_BY_TARGET, found.readings, found.unread, residual=True)


def _worker_ended(ticks: Ticks, lately: Recent) -> Resolved | None:
    """Processes of the target's that ended as connections broke, while the target lives on."""
    ending = [target for tick in ticks for target in tick.targets if target.processes_ended and target.alive]
    watched = [tick for tick in lately.last(recent_readings.KEPT) if tick.targets]
    often = sum(any(target.processes_ended for target in tick.targets) for tick in watched)
    if not ending or (often > 2 and often > ENDS_SHARE_MOST * len(watched)):
        return None
    ended = sum(target.processes_ended for target in ending)
    started = sum(target.processes_started for tick in ticks for target in tick.targets)
    readings: Readings = {
        "processes_ended": ended,
        "processes_started": started,
        "pid": ending[-1].pid,
    }
    ways: dict[str, int] = {}
    for target in ending:
        for way, count in target.ended_by.items():
            ways[way] = ways.get(way, 0) + count
    if ways.get("exit 0", 0) >= ended:  # in order, as helper processes end all the time
        return None
    if ways:
        readings["ended_by"] = ways
    unread = () if sum(ways.values()) >= ended else ("exit_code",)
    kills = oom_kills(lately, ticks[-1].t_s) if ticks else None
    if kills and ways.get("SIGKILL", 0) + (ended - sum(ways.values())) > 0:
        return Resolved("target_oom_killed", {**readings, "oom_kills": kills}, unread)
    return Resolved("target_restarted", readings, unread) if started else None


def _broken(symptom: Symptom, ticks: Ticks, lately: Recent) -> Resolved:
    """What is left: it was refused, or reset, or raced with the server's keep-alive."""
    if symptom.id == "connection_refused":
        return _refused(ticks)
    readings: Readings = {}
    unread: list[str] = []
    for name in ("resets_sent", "resets_of_established"):
        grown = recent_readings.growth(ticks, name)
        if grown is None:
            unread.append(name)
        else:
            readings[name] = grown
    if symptom.id == "incomplete_response":
        return Resolved(symptom.id, readings, tuple(unread), residual=True)
    race = _race(symptom, lately)
    if race == "yes":
        return Resolved("keepalive_race", readings, tuple(unread), residual=True, severity="info" if symptom.hidden else None)
    if race == "perhaps":
        competing = ("keepalive_race",)
        return Resolved("connection_reset", readings, tuple(unread), competing, confidence="medium", residual=True, open=True)
    return Resolved("connection_reset", readings, tuple(unread), residual=True)


def _refused(ticks: Ticks) -> Resolved:
    targets = [target for tick in ticks for target in tick.targets]
    if not targets:
        return Resolved("connection_refused", unavailable=("listening",), residual=True)
    latest = targets[-1]
    listens = latest.listen_backlog is not None or latest.listen_queue is not None
    return Resolved("connection_refused", {"listening": listens, "target_alive": latest.alive}, residual=True)


def _race(symptom: Symptom, lately: Recent) -> Race:
    """Only connections that had carried requests break, and users do let them idle: rarely and after long, or so many that
    fresh ones would have broken as well."""
    if not symptom.signature.reused:
        return "no"
    ticks = lately.since(symptom.t_s - RACE_OVER_S)
    waits = sum(tick.waits for tick in ticks)
    idle_s = sum(tick.wait_sum_s for tick in ticks) / waits if waits else 0.0
    if idle_s < RACE_WAIT_LEAST_S or recent_readings.broken(ticks, (False,)):
        return "no"
    share = recent_readings.broken(ticks) / max(1, recent_readings.requests(ticks))
    rare = share < RACE_SHARE_MOST and idle_s >= RACE_WAIT_SURE_S
    return "yes" if rare or min(1.0, share) * recent_readings.connects(ticks) >= FRESH_EXPECTED else "perhaps"
