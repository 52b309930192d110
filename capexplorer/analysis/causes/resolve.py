"""Finds the cause of a symptom (such as a broken connection or a timeout) from the readings around it (docs/causes.md).

Tested in this order: limits of the generator and its host, the end of the target, its limits, kernel queues, the network. The
first cause that is confirmed is the result, the others are listed as competing. If none is confirmed, the result is what the
symptom itself says, or `unknown`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from ...model.catalogue import DEATHS
from ...model.events import FailureSignature, FailureTick, HostFacts, Mark, Sample
from ...model.findings import Cause, Readings
from ...model.kept_request import BRIEF_TEXT_MOST, RequestBrief
from ...model.readings import TargetReading
from ...model.timeline import Timeline
from ...model.verdicts import Confidence, Severity
from ..statistics import FULL, LOST_LEAST, MOSTLY, NONE_EXPECTED_MOST, measured
from . import confirmation
from .classify import SAYS_NO_FDS, by_status, classify
from .confirmation import ESTABLISHED, TIME_WAIT, Check, Proof, RecentReadings, Ticks
from .process_ends import oom_kills

PORT_EXHAUSTION, TIMEOUTS = "ephemeral_port_exhaustion", frozenset(("connect_timeout", "read_timeout"))
DNS_FAILURE, FAILED_TASK = "dns_failure", "task_failed_result"
BROKEN = frozenset(("connection_reset", "keepalive_race", "connection_refused", "incomplete_response"))
"""Symptoms that clients observe when the target ends, among others."""

SYMPTOMS = frozenset((PORT_EXHAUSTION, DNS_FAILURE, *TIMEOUTS, *BROKEN))
"""What `classify` can only say of what clients observed. Readings decide on the cause; some of these remain if none does."""

AROUND_S = 3.0
"""Readings up to so many seconds before a symptom may confirm it."""

RACE_WAIT_LEAST_S = 0.1
"""(p) Least mean wait of users for a keep-alive race: the server's timeout closes only connections that are idle."""

RACE_WAIT_SURE_S = 1.0
"""(p) It is a keep-alive race if hardly a request breaks, and users wait at least this many seconds."""

RACE_OVER_S = 30.0
"""Seconds over which broken connections and waits are counted."""

USUAL_PORTS = {"Linux": 28_232, "Darwin": 16_384, "Windows": 16_384}
"""Default number of ephemeral ports, for systems on which the range cannot be read."""


Race = Literal["yes", "no", "perhaps"]
"""Whether a broken connection is a race with the server's keep-alive timeout."""


class Symptom(msgspec.Struct, frozen=True):
    """One kind of failure in one tick."""

    id: str
    tick: Sample
    failure: FailureTick
    hidden: bool = False
    """Whether the client repeated the attempt by itself, so that the request may have succeeded."""
    lasted_s: float = 0.0
    """For a timeout, how long the request had waited."""

    @property
    def signature(self) -> FailureSignature:
        """That of the failure."""
        return self.failure.signature


class Resolved(msgspec.Struct, frozen=True):
    """The cause of a symptom, as far as it is known."""

    id: str
    readings: Readings = msgspec.field(default_factory=dict)
    unavailable: tuple[str, ...] = ()
    competing: tuple[str, ...] = ()
    severity: Severity | None = None
    confidence: Confidence = "high"
    unconfirmed: bool = False
    """Whether no reading confirms it yet: the readings of the next tick may confirm a cause."""
    open: bool = False
    """Whether the next few seconds decide, by whether more connections break."""


CAUSES_OF_TIMEOUTS: tuple[Check, ...] = (
    confirmation.conntrack,
    confirmation.out_of_fds,
    confirmation.backlog,
    confirmation.syn_queue,
    confirmation.packet_loss,
)
CAUSES_OF_RESETS: tuple[Check, ...] = (confirmation.tcp_memory,)

NEEDS_NO_PROOF: Mapping[str, Check] = {
    "fd_exhaustion_generator": confirmation.own_fds,
    "fd_exhaustion_system": confirmation.system_fds,
    "tcp_memory_pressure": confirmation.tcp_memory,
}
"""Causes that a local errno proves, and the readings that are added for information."""


def readings_for(found: str, recent: RecentReadings, t_s: float, host: HostFacts) -> Proof:
    """Readings for a cause that one failure proves by itself."""
    check = NEEDS_NO_PROOF.get(found)
    return Proof(found, True) if check is None else check(recent.since(t_s - AROUND_S), host)


def needs_readings(found: str, signature: FailureSignature) -> bool:
    """Whether `found`, the class of one failure, is a symptom that only readings can resolve."""
    return found in SYMPTOMS or (found == FAILED_TASK and SAYS_NO_FDS in signature.text.lower())


def resolve(symptom: Symptom, recent: RecentReadings, host: HostFacts) -> Resolved:
    """The cause of a symptom by the readings so far. Targets that died or were stopped on request are the caller's task."""
    ticks = recent.since(symptom.tick.t_s - AROUND_S - symptom.lasted_s)
    if symptom.id == PORT_EXHAUSTION:
        return _port_exhaustion(symptom, ticks, host)
    if symptom.id == DNS_FAILURE:
        return _dns_failure(ticks, host)
    if symptom.id == FAILED_TASK:
        return _fds_reported_by_target(ticks, host)
    if symptom.id in TIMEOUTS:
        proofs = [check(ticks, host) for check in CAUSES_OF_TIMEOUTS]
        return _confirmed(proofs) or _unknown(proofs)
    if symptom.signature.after_status is not None:
        return Resolved(by_status(symptom.signature.after_status), {"closed_after_status": symptom.signature.after_status})
    proofs = [check(ticks, host) for check in CAUSES_OF_RESETS]
    return _confirmed(proofs) or _worker_ended(ticks, recent) or _broken(symptom, ticks, recent)


def _confirmed(proofs: Sequence[Proof]) -> Resolved | None:
    holding = [each for each in proofs if each.holds]
    if not holding:
        return None
    unread = tuple(dict.fromkeys(name for each in proofs for name in each.unread))
    competing = tuple(each.id for each in holding[1:])
    confidence: Confidence = "medium" if holding[0].unread else "high"
    return Resolved(holding[0].id, holding[0].readings, unread, competing, confidence=confidence)


def _unknown(proofs: Sequence[Proof]) -> Resolved:
    readings = {name: value for each in proofs for name, value in each.readings.items()}
    unread = tuple(dict.fromkeys(name for each in proofs for name in each.unread))
    return Resolved("unknown", readings, unread, unconfirmed=True, confidence="low")


def _port_exhaustion(symptom: Symptom, ticks: Ticks, host: HostFacts) -> Resolved:
    """The cause of a lack of ports. Where their use cannot be read, it is TIME_WAIT if there are fewer users than half of the
    ports, since established connections cannot use all of them then.
    """
    found = confirmation.ports(ticks, host)
    if found.holds:
        return Resolved(found.id, found.readings, found.unread)
    waiting = max((tick.tcp.sockets_time_wait or 0 for tick in ticks if tick.tcp is not None), default=0)
    capacity = found.readings.get("ports_capacity")
    # sockets that were bound to a source address share one pool of ports for all destinations
    if isinstance(capacity, int) and waiting >= FULL * capacity:
        readings = found.readings | {"sockets_time_wait": waiting}
        return Resolved(TIME_WAIT, readings, found.unread, confidence="medium")
    if "ports_used" in found.unread and symptom.tick.users < USUAL_PORTS.get(host.system or "Linux", 16_384) / 2:
        return Resolved(TIME_WAIT, {}, found.unread, unconfirmed=True, confidence="low")
    return Resolved("unknown", found.readings, found.unread, unconfirmed=True, confidence="low")


def _dns_failure(ticks: Ticks, host: HostFacts) -> Resolved:
    """The cause of a name that was not resolved: a resolver without free descriptors cannot resolve one."""
    own, system = confirmation.own_fds(ticks, host), confirmation.system_fds(ticks, host)
    full = next((each for each in (own, system) if each.holds), None)
    return Resolved(DNS_FAILURE, unavailable=own.unread) if full is None else Resolved(full.id, full.readings)


def _fds_reported_by_target(ticks: Ticks, host: HostFacts) -> Resolved:
    found = confirmation.target_fds(ticks, host)
    if found.holds:
        return Resolved(found.id, found.readings)
    return Resolved(FAILED_TASK, found.readings, found.unread, unconfirmed=True)


def _worker_ended(ticks: Ticks, recent: RecentReadings) -> Resolved | None:
    """Processes of the target ended while connections broke, and the target still runs."""
    ending = [target for tick in ticks for target in tick.targets if target.processes_ended and target.alive]
    ended, ways = sum(target.processes_ended for target in ending), _ways_ended(ending)
    if not ending or _ends_often(recent) or ways["exit 0"] >= ended:  # normal ends: helper processes do so all the time
        return None
    started = sum(target.processes_started for tick in ticks for target in tick.targets)
    readings: Readings = {"processes_ended": ended, "processes_started": started, "pid": ending[-1].pid}
    if ways:
        readings["ended_by"] = dict(ways)
    unseen = ended - ways.total()
    unread = ("exit_code",) if unseen > 0 else ()
    kills = oom_kills(recent, ticks[-1].t_s)
    if kills and ways["SIGKILL"] + unseen > 0:
        return Resolved("target_oom_killed", {**readings, "oom_kills": kills}, unread)
    return Resolved("target_restarted", readings, unread) if started else None


def _ends_often(recent: RecentReadings) -> bool:
    """Whether processes of the target end all the time, so that such an end explains no failure."""
    watched = [tick for tick in recent.last(confirmation.KEPT) if tick.targets]
    often = sum(any(target.processes_ended for target in tick.targets) for tick in watched)
    return often > 2 and often > MOSTLY * len(watched)


def _ways_ended(ending: Sequence[TargetReading]) -> Counter[str]:
    """Number of processes by how they ended."""
    ways: Counter[str] = Counter()
    for target in ending:
        ways.update(target.ended_by)
    return ways


def _broken(symptom: Symptom, ticks: Ticks, recent: RecentReadings) -> Resolved:
    """What a broken connection says by itself: refused, reset, or a race with the server's keep-alive timeout."""
    if symptom.id == "connection_refused":
        return _refused(ticks)
    resets = {name: confirmation.growth(ticks, name) for name in ("resets_sent", "resets_of_established")}
    unread = tuple(name for name, grown in resets.items() if grown is None)
    found = Resolved(symptom.id, {**measured(**resets)}, unread, unconfirmed=True)
    if symptom.id == "incomplete_response":
        return found
    match _race(symptom, recent):
        case "yes":
            return replace(found, id="keepalive_race", severity="info" if symptom.hidden else None)
        case "perhaps":
            return replace(found, id="connection_reset", competing=("keepalive_race",), confidence="medium", open=True)
        case "no":
            return replace(found, id="connection_reset")


def _refused(ticks: Ticks) -> Resolved:
    targets = [target for tick in ticks for target in tick.targets]
    if not targets:
        return Resolved("connection_refused", unavailable=("listening",), unconfirmed=True)
    latest = targets[-1]
    listens = latest.listen_backlog is not None or latest.listen_queue is not None
    return Resolved("connection_refused", {"listening": listens, "target_alive": latest.alive}, unconfirmed=True)


def _race(symptom: Symptom, recent: RecentReadings) -> Race:
    """Whether the server closed idle connections just as they were used again.

    Yes if only reused connections break and users leave them idle: either rarely and after long waits, or so often that new
    connections would have broken too if there were another reason.
    """
    if not symptom.signature.reused:
        return "no"
    ticks = recent.since(symptom.tick.t_s - RACE_OVER_S)
    pauses = sum(tick.waits + tick.sleeps for tick in ticks)
    idle_s = sum(tick.wait_sum_s + (tick.sleep_sum_s or 0.0) for tick in ticks) / pauses if pauses else 0.0
    if idle_s < RACE_WAIT_LEAST_S or confirmation.broken(ticks, (False,)):
        return "no"
    share = confirmation.broken(ticks) / max(1, confirmation.requests(ticks))
    rare = share < LOST_LEAST and idle_s >= RACE_WAIT_SURE_S
    return "yes" if rare or min(1.0, share) * confirmation.connects(ticks) >= NONE_EXPECTED_MOST else "perhaps"


# -- Which requests that are kept whole belong to a cause, by the causes that their failure may resolve to and by its time. Pure.
#
# A request is kept with the kind of its failure, not with its cause, which depends on readings that arrive later. A request that
# two causes of the same seconds can explain belongs to both.

_DESCRIPTORS = ("fd_exhaustion_generator", "fd_exhaustion_system")

RESOLVED_TO: dict[str, frozenset[str]] = {
    PORT_EXHAUSTION: frozenset((TIME_WAIT, ESTABLISHED, "unknown")),
    DNS_FAILURE: frozenset((DNS_FAILURE, *_DESCRIPTORS)),
    FAILED_TASK: frozenset((FAILED_TASK, "fd_exhaustion_target")),
    **dict.fromkeys(
        TIMEOUTS,
        frozenset(
            ("conntrack_table_full", *_DESCRIPTORS, "fd_exhaustion_target", "listen_backlog_overflow", "syn_queue_overflow",
             "packet_loss", "unknown", *DEATHS)
        ),
    ),
    **{
        symptom: frozenset((symptom, "connection_reset", "keepalive_race", "tcp_memory_pressure", "target_restarted", *DEATHS))
        for symptom in BROKEN
    },
}  # fmt: skip
"""The causes that each symptom may be resolved to by readings (`resolve`), or by the death of the target (`cause_detector`)."""


def belongs_to_mark(mark: Mark, timeline: Timeline) -> Callable[[RequestBrief], bool]:
    """A function that decides whether a kept request belongs to this mark: none belongs to a mark that is no cause."""
    cause = mark.finding
    if not isinstance(cause, Cause):
        return lambda brief: False
    system = timeline.header.host.system if timeline.header is not None else None
    kinds = {
        (failure.method, failure.name, failure.signature.kind[:BRIEF_TEXT_MOST])
        for failure in timeline.failures.values()
        if _may_be(cause, failure.signature, system)
    }
    first_s = -AROUND_S if cause.first_s is None else cause.first_s - AROUND_S
    last_s = timeline.last_s if cause.last_s is None else cause.last_s

    def belongs(brief: RequestBrief) -> bool:
        ended_s = brief.t_s + brief.response_ms / 1000
        is_then = first_s <= ended_s <= last_s + AROUND_S
        return is_then and (brief.method, brief.name, brief.kind[:BRIEF_TEXT_MOST]) in kinds

    return belongs


def _may_be(cause: Cause, signature: FailureSignature, system: str | None) -> bool:
    found = classify(signature, system)
    if signature.after_status is not None and found in BROKEN:
        return cause.name in (by_status(signature.after_status), *DEATHS)
    if needs_readings(found, signature):
        return cause.name in RESOLVED_TO[found]
    return cause.name == found and (found != "failed_check" or cause.check == signature.text)
