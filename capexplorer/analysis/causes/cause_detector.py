"""From events to marks of causes: failures are classified, symptoms wait a tick for readings, each cause becomes an episode.

Marks of other causes list critical causes of generator, host and network that are open at the same time as competing.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from ...model.catalogue import ENTRIES
from ...model.events import (
    Ended,
    Event,
    FailureSignature,
    FailureTick,
    Header,
    HostFacts,
    LevelClosed,
    LevelOpened,
    Log,
    Mark,
    PartState,
    Sample,
    Target,
)
from ...model.figures import LevelFigures
from ...model.findings import AnyFinding, Cause
from ...model.load import NO_LOAD, Load
from .classify import classify
from .conditions import NOT_KNOWN, current_conditions, usual_times
from .confirmation import READINGS_WAIT_S, Proof, RecentReadings
from .episode import Episodes, Occurrence, TargetLog, occurrence_of
from .process_ends import TargetDeaths, oom_kills
from .resolve import BROKEN, TIMEOUTS, Resolved, Symptom, needs_readings, readings_for, resolve

# -- Marks about watched parts that cannot be read. They are made from `PartState` events, so a saved log gives the same marks.

PART_NOT_READ = "part_not_read"


class UnreadParts:
    """Folds `PartState` events, in order, to marks."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def apply(self, event: PartState, epoch: int) -> tuple[Mark, ...]:
        """The mark to publish after the event; empty if nothing changed."""
        before, is_open = self._marks.get(event.name), event.state == "unread"
        was_open = before is not None and before.state == "open"
        if not is_open and not was_open:
            return ()
        found = _unread(event, before.finding if before is not None else None, again=not was_open)
        self._marks[event.name] = mark = Mark(
            t_s=event.t_s,
            key=f"cause:{PART_NOT_READ}:{event.name}",
            revision=1 if before is None else before.revision + 1,
            state="open" if is_open else "closed",
            finding=found,
            epoch=epoch,
            severity=ENTRIES[PART_NOT_READ].severity,
            confidence="high",
        )
        return (mark,)


def _unread(event: PartState, before: AnyFinding | None, *, again: bool) -> Cause:
    """All times in which a part was not read. `again`: whether another one begins."""
    found = Cause(name=PART_NOT_READ, part=event.name, first_s=event.t_s, last_s=event.t_s, example=event.reason or "")
    if not isinstance(before, Cause):
        return found
    since_s = event.t_s if again else before.since_s
    example = found.example if event.state == "unread" else before.example
    return replace(found, first_s=before.first_s, since_s=since_s, episodes=before.episodes + again, example=example)


FAILURES_WAIT_S = 5.9
"""(p) Seconds to wait for further failures if only these can decide: a wrong mark is worse than a late one."""

TIMEOUT_S, TIMEOUT_MOST_S = 10.0, 60.0
"""How long a request that timed out had waited, if neither its latency nor the profile's timeout is known, and the most that is
assumed."""

EXPECTED_OF_DEAD_TARGET = BROKEN | TIMEOUTS
"""Failures that are ignored while the target is down on request, and counted for its death once it has died."""


OF_PROXIES = ("bad_gateway", "load_shedding", "gateway_timeout")
"""Replies of a proxy that did not reach the service behind it; its log may say why."""


# -- the detector --------------------------------------------------------------------------------------------------------------


class CauseDetector:
    """Processes events, in order. The marks that `process` returns are logged after the event, those of `Ended` before it."""

    def __init__(self) -> None:
        self._host = HostFacts()
        self._timeout_s = TIMEOUT_S
        self._recent = RecentReadings()
        self._target_deaths = TargetDeaths()
        self._target_log = TargetLog()
        self._episodes = Episodes()
        self._unread_parts = UnreadParts()
        self._examples: dict[FailureSignature, str] = {}
        """Full text of the first failure of each signature."""
        self._waiting: list[Symptom] = []
        self._levels: list[LevelFigures] = []
        self._usual = NOT_KNOWN
        self._epoch = 0
        self._load: Load = NO_LOAD

    def process(self, event: Event) -> tuple[Mark, ...]:
        """Process one event; returns the marks to publish now."""
        match event:
            case Header():
                self._host = event.host
                self._target_deaths = TargetDeaths(is_ours=bool(event.target.command))
                self._timeout_s = _timeout_s(event)
            case LevelOpened():
                self._begin_epoch(event.epoch)
            case LevelClosed():
                self._levels.append(event.figures)
                self._usual = usual_times(self._levels)
            case Target():
                self._target(event)
            case Log():
                self._target_log.add(event)
            case PartState():
                return self._unread_parts.apply(event, self._epoch)
            case Sample(suspended_s=float()):
                return ()  # the app's process was suspended, which explains timeouts in that time
            case Sample():
                self._sample(event)
                return tuple(self._episodes.marks_to_publish(event.t_s, self._load))
            case Ended():
                self._settle(event.t_s, at_last=True)
                return tuple(self._episodes.marks_to_publish(event.t_s, self._load, all_changes=True))
        return ()

    def _begin_epoch(self, epoch: int) -> None:
        if epoch != self._epoch:
            self._settle(self._last_tick_s, at_last=True)
            self._episodes.end_all()
            self._epoch = epoch
            self._levels, self._usual = [], NOT_KNOWN

    @property
    def _last_tick_s(self) -> float:
        last = self._recent.last(1)
        return last[-1].t_s if last else 0.0

    # -- failures

    def _target(self, event: Target) -> None:
        before = self._target_deaths.death_id
        self._target_deaths.apply(event)
        if event.state == "ready" and before is not None:
            self._episodes.end(before)

    def _sample(self, sample: Sample) -> None:
        self._load = sample.load
        self._recent.add(sample)
        before = self._target_deaths.death_id
        self._target_deaths.watch(sample)
        if before is not None and self._target_deaths.death is None:
            self._episodes.end(before)
        is_expected = self._target_deaths.fails_on_request(sample.t_s - sample.duration_s, sample.t_s)
        for hidden, failures in ((False, sample.failures), (True, sample.retried)):
            for failure in failures:
                self._failed(sample, failure, hidden, is_expected)
        self._settle(sample.t_s)
        for found in current_conditions(self._recent, self._host, self._usual):
            if not (is_expected and ENTRIES[found.id].where == "target"):
                self._add_second(found, sample)

    def _add_second(self, found: Proof, tick: Sample) -> None:
        """Count the second of a tick for a harmful state that readings show."""
        second = Occurrence(t_s=tick.t_s, load=tick.load, counted="seconds", readings=found.readings, unavailable=found.unread)
        self._add(found.id, replace(second, example=str(found.readings.get("blocked_at", ""))))

    def _failed(self, tick: Sample, failure: FailureTick, hidden: bool, is_expected: bool) -> None:
        """Count a failure for its cause, or let it wait for readings. `is_expected`: the target is stopped on request or has
        just started.
        """
        signature = failure.signature
        if failure.example and len(self._examples) < 10_000:  # sessions have far fewer signatures
            self._examples.setdefault(signature, failure.example)
        found = classify(signature, self._host.system)
        symptom = Symptom(found, tick, failure, hidden, self._lasted_s(tick, failure) if found in TIMEOUTS else 0.0)
        if needs_readings(found, signature):
            if not (is_expected and found in EXPECTED_OF_DEAD_TARGET):
                self._waiting.append(symptom)
        elif not (self._target_deaths.is_down(tick.t_s) and ENTRIES[found].where in ("target", "check")):
            proof = readings_for(found, self._recent, tick.t_s, self._host)
            occurrence = self._occurrence(symptom, Resolved(found, proof.readings, proof.unread))
            if found == "failed_check":
                self._add(found, replace(occurrence, check=signature.text), part=signature.text)
            else:
                statuses = {} if signature.status is None else {str(signature.status): failure.count}
                self._add(found, replace(occurrence, symptoms={}, statuses=statuses))

    def _occurrence(self, symptom: Symptom, found: Resolved) -> Occurrence:
        signature = symptom.signature
        return occurrence_of(symptom, found, self._examples.get(signature) or signature.text or " ".join(signature.types))

    def _lasted_s(self, sample: Sample, failure: FailureTick) -> float:
        """Mean latency of this endpoint's failures in the tick if known, else the profile's timeout; s."""
        for tick in sample.endpoints:
            if (tick.name, tick.method) == (failure.name, failure.method) and tick.failures:
                return min(TIMEOUT_MOST_S, math.ceil(tick.failure_latency_sum_ms / tick.failures / 1000))
        return self._timeout_s

    # -- symptoms

    def _settle(self, now_s: float, *, at_last: bool = False) -> None:
        """Resolve waiting symptoms. One that has waited long enough gets a cause without confirmation; `at_last`: all do."""
        self._decide_death(now_s, at_last)
        waiting, self._waiting = self._waiting, []
        resolved: dict[tuple[object, ...], Resolved] = {}
        for symptom in waiting:
            if self._belongs_to_death(symptom):
                continue
            signature = symptom.signature
            key = symptom.id, symptom.tick.t_s, signature.reused, signature.after_status, symptom.hidden, symptom.lasted_s
            found = resolved.get(key)
            if found is None:
                found = resolved[key] = resolve(symptom, self._recent, self._host)
            wait_s = FAILURES_WAIT_S if found.open else READINGS_WAIT_S
            if found.unconfirmed and not at_last and now_s - symptom.tick.t_s < wait_s:
                self._waiting.append(symptom)
            else:
                self._add(found.id, self._occurrence(symptom, found))

    def _decide_death(self, now_s: float, at_last: bool) -> None:
        death, before = self._target_deaths.death, self._target_deaths.death_id
        found = self._target_deaths.decide(self._recent, now_s, at_last=at_last)
        if death is None or found is None or before is not None:
            return
        kills = oom_kills(self._recent, death.at_s)
        readings = death.readings | ({"oom_kills": kills} if found == "target_oom_killed" and kills else {})
        unread = ("oom_kills",) if kills is None and death.killed else ()
        load = self._load_at(death.at_s)
        self._add(found, Occurrence(t_s=death.at_s, load=load, counted="deaths", readings=readings, unavailable=unread))

    def _load_at(self, t_s: float) -> Load:
        """Load at a moment, by the latest tick in the three seconds before it."""
        ticks = [tick for tick in self._recent.since(t_s - 3.0) if tick.t_s <= t_s + 0.001]
        return ticks[-1].load if ticks else self._load

    def _belongs_to_death(self, symptom: Symptom) -> bool:
        """Whether the target's death explains a symptom. If so, count it for that death, or let it wait until its cause is
        known.
        """
        if symptom.id not in EXPECTED_OF_DEAD_TARGET or not self._target_deaths.is_dead(symptom.tick.t_s):
            return False
        if self._target_deaths.death_id is None:
            self._waiting.append(symptom)
        else:
            found = Resolved(self._target_deaths.death_id)
            self._add(found.id, self._occurrence(symptom, found))
        return True

    # -- episodes

    def _add(self, found: str, occurrence: Occurrence, part: str = "") -> None:
        if ENTRIES[found].where == "target":
            occurrence = replace(occurrence, logged=self._target_log.around(occurrence.t_s))
        if found in OF_PROXIES and self._target_log.says_no_ports(occurrence.t_s):
            occurrence = replace(occurrence, readings={**occurrence.readings, "proxy": "no_local_port"})
        self._episodes.add(found, self._epoch, occurrence, part)


def _timeout_s(header: Header) -> float:
    users = header.profile.get("users")
    own = users.get("timeout_s") if isinstance(users, dict) else None
    return min(TIMEOUT_MOST_S, float(own)) if isinstance(own, int | float) and own > 0 else TIMEOUT_S
