"""From events to marks of causes: failures are classified, symptoms wait a tick for readings, each cause becomes an episode.

Marks of other causes list critical causes of generator, host and network that are open at the same time as competing.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
from msgspec.structs import replace

from ...model.catalogue import ENTRIES
from ...model.events import (
    Ended,
    Event,
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
from ...model.findings import Cause
from ...model.load import NO_LOAD, Load
from .conditions import NOT_KNOWN, current_conditions, usual_times
from .confirmation import RecentReadings
from .episode import Episodes, Occurrence, TargetLog, occurrence_of, second_of, statuses_of
from .generator_saturation import time_outside_requests_ms
from .process_ends import TargetDeaths, oom_kills
from .resolve import BROKEN, TIMEOUTS, FailureClasses, Resolved, Symptom, readings_for, resolve

# -- Marks about watched parts that cannot be read. They are made from `PartState` events, so a saved log gives the same marks.

PART_NOT_READ = "part_not_read"


class _Gap(msgspec.Struct):
    """The times in which one part was not read, in seconds of the session."""

    first_s: float
    """Start of the first episode."""
    since_s: float
    """Start of the latest episode."""
    reason: str
    episodes: int = 1
    revision: int = 1
    is_open: bool = True


class UnreadParts:
    """Folds `PartState` events, in order, to marks."""

    def __init__(self) -> None:
        self._gaps: dict[str, _Gap] = {}

    def apply(self, event: PartState, epoch: int) -> tuple[Mark, ...]:
        """The mark to publish after the event; empty if nothing changed."""
        gap = self._gaps.get(event.name)
        if event.state == "unread":
            self._gaps[event.name] = gap = _opened(gap, event)
            return (_mark(event, gap, epoch, "open"),)
        if gap is None or not gap.is_open:
            return ()
        gap.is_open, gap.revision = False, gap.revision + 1
        return (_mark(event, gap, epoch, "closed"),)


def _opened(gap: _Gap | None, event: PartState) -> _Gap:
    reason = event.reason or ""
    if gap is None:
        return _Gap(event.t_s, event.t_s, reason)
    again = not gap.is_open
    since_s = event.t_s if again else gap.since_s
    return _Gap(gap.first_s, since_s, reason, gap.episodes + again, gap.revision + 1)


def _mark(event: PartState, gap: _Gap, epoch: int, state: Literal["open", "closed"]) -> Mark:
    finding = Cause(
        name=PART_NOT_READ,
        part=event.name,
        first_s=gap.first_s,
        last_s=event.t_s,
        since_s=gap.since_s if gap.episodes > 1 else None,
        episodes=gap.episodes,
        example=gap.reason,
    )
    return Mark(
        t_s=event.t_s,
        key=f"cause:{PART_NOT_READ}:{event.name}",
        revision=gap.revision,
        state=state,
        finding=finding,
        epoch=epoch,
        severity=ENTRIES[PART_NOT_READ].severity,
        confidence="high",
    )


READINGS_WAIT_S = 0.9
"""Seconds to wait for the readings of the next tick; marks come within two seconds."""

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
        self._classes = FailureClasses()
        self._waiting: list[Symptom] = []
        self._levels: list[LevelFigures] = []
        self._outside_requests_ms = 0.0
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
                self._outside_requests_ms = time_outside_requests_ms(self._levels)
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
            self._levels, self._outside_requests_ms, self._usual = [], 0.0, NOT_KNOWN

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
        for failure in sample.failures:
            self._failed(sample, failure, hidden=False)
        for failure in sample.retried:
            self._failed(sample, failure, hidden=True)
        self._settle(sample.t_s)
        is_expected = self._target_deaths.fails_on_request(sample.t_s - sample.duration_s, sample.t_s)
        for found in current_conditions(self._recent, self._host, self._outside_requests_ms, self._usual):
            if not (is_expected and ENTRIES[found.id].where == "target"):
                self._add(found.id, second_of(sample, found))

    def _failed(self, sample: Sample, failure: FailureTick, hidden: bool) -> None:
        self._classes.add_example(failure)
        found, is_symptom = self._classes.class_of(failure.signature, self._host.system)
        endpoint = f"{failure.method} {failure.name}".strip()
        if is_symptom:
            if found not in EXPECTED_OF_DEAD_TARGET or not self._target_deaths.fails_on_request(
                sample.t_s - sample.duration_s, sample.t_s
            ):
                lasted_s = self._lasted_s(sample, failure) if found in TIMEOUTS else 0.0
                self._waiting.append(
                    Symptom(
                        found, sample.t_s, sample.load, sample.users, failure.signature, endpoint, failure.count, hidden, lasted_s
                    )
                )
            return
        if self._target_deaths.is_down(sample.t_s) and ENTRIES[found].where in ("target", "check"):
            return
        proof = readings_for(found, self._recent, sample.t_s, self._host)
        self._add(
            found,
            Occurrence(
                t_s=sample.t_s,
                load=sample.load,
                count=failure.count,
                counted="retried" if hidden else "failures",
                endpoint=endpoint,
                example=self._classes.example(failure.signature),
                readings=proof.readings,
                check=failure.signature.text if found == "failed_check" else None,
                statuses=statuses_of(failure) if found != "failed_check" else {},
                unavailable=proof.unread,
            ),
            part=failure.signature.text if found == "failed_check" else "",
        )

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
            key = symptom.id, symptom.t_s, symptom.signature.reused, symptom.hidden, symptom.lasted_s
            found = resolved.get(key)
            if found is None:
                found = resolved[key] = resolve(symptom, self._recent, self._host)
            wait_s = FAILURES_WAIT_S if found.open else READINGS_WAIT_S
            if found.unconfirmed and not at_last and now_s - symptom.t_s < wait_s:
                self._waiting.append(symptom)
            else:
                self._add(found.id, occurrence_of(symptom, found, self._classes.example(symptom.signature)))

    def _decide_death(self, now_s: float, at_last: bool) -> None:
        death, before = self._target_deaths.death, self._target_deaths.death_id
        found = self._target_deaths.decide(self._recent, now_s, at_last=at_last)
        if death is None or found is None or before is not None:
            return
        kills = oom_kills(self._recent, death.at_s)
        readings = death.readings | ({"oom_kills": kills} if found == "target_oom_killed" and kills else {})
        unread = ("oom_kills",) if kills is None and death.killed else ()
        load = self._load_at(death.at_s)
        self._add(
            found,
            Occurrence(t_s=death.at_s, load=load, counted="deaths", readings=readings, unavailable=unread),
        )

    def _load_at(self, t_s: float) -> Load:
        """Load at a moment, by the latest tick in the three seconds before it."""
        ticks = [tick for tick in self._recent.since(t_s - 3.0) if tick.t_s <= t_s + 0.001]
        return ticks[-1].load if ticks else self._load

    def _belongs_to_death(self, symptom: Symptom) -> bool:
        """Whether the target's death explains a symptom. If so, count it for that death, or let it wait until its cause is
        known.
        """
        if symptom.id not in EXPECTED_OF_DEAD_TARGET or not self._target_deaths.is_dead(symptom.t_s):
            return False
        if self._target_deaths.death_id is None:
            self._waiting.append(symptom)
        else:
            example = self._classes.example(symptom.signature)
            self._add(self._target_deaths.death_id, occurrence_of(symptom, Resolved(self._target_deaths.death_id), example))
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
