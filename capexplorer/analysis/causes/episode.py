"""A cause over an epoch as one mark: opened, told again when it has grown, closed when it ended, opened again when it comes back.

A journal must stay readable and a log small: an update is told at most every ten seconds, and only for a quarter more or after a
minute. Counts are exact when a mark closes and at the session's end. No clock: whoever tells gives the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...model.events import Mark
from ...model.findings import Cause, Readings
from ...model.grades import SEVERITIES, Confidence, Severity

Counted = Literal["failures", "retried", "seconds", "deaths"]

QUIET_S = 10.0
"""Without an occurrence a cause has ended, unless its occurrences lie further apart."""

QUIET_GAPS, QUIET_MOST_S = 3.0, 60.0
STEPPED_DOWN_S = 5.0
"""The same once fewer users run than when it last occurred."""

TOLD_EVERY_S = 10.0
GREW_LEAST = 1.25
TOLD_AT_LEAST_S = 60.0

ENDPOINTS_MOST = 8
NAMES_MOST = 200
"""Endpoints that are counted apart; further ones count in the sum alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A cause was seen in a tick."""

    t_s: float
    users: int
    count: int = 1
    counted: Counted = "failures"
    endpoint: str = ""
    example: str = ""
    readings: Readings = field(default_factory=dict)
    check: str | None = None
    """Name of the user's own check that failed."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    symptoms: Mapping[str, int] = field(default_factory=dict)
    """What it looks like, where no cause is known: how many of each."""
    unavailable: tuple[str, ...] = ()
    competing: tuple[str, ...] = ()
    severity: Severity | None = None
    """Another than the catalogue's."""
    confidence: Confidence = "high"


class Episode:
    """All occurrences of one cause in one epoch."""

    def __init__(self, key: str, id: str, epoch: int, severity: Severity) -> None:  # noqa: A002 - the vocabulary's word
        self.key, self.id, self.epoch = key, id, epoch
        self.is_open = False
        self.last_s = 0.0
        self.severity: Severity = severity
        self._usual: Severity = severity
        self._holds = False
        """A death lasts until the target is there again."""
        self._confidence: Confidence = "high"
        self._users = 0
        self._last_users = 0
        self._first_s = self._since_s = 0.0
        self._count = self._since_count = self._seen_in = self._opened = 0
        self._kinds: Counter[Counted] = Counter()
        self._endpoints: Counter[str] = Counter()
        self._example = ""
        self._statuses: Counter[str] = Counter()
        self._symptoms: Counter[str] = Counter()
        self._check: str | None = None
        self._readings: Readings = {}
        self._unavailable: tuple[str, ...] = ()
        self._competing: dict[str, None] = {}
        self._told: Mark | None = None

    def occurred(self, seen: Occurrence) -> None:
        """Fold one occurrence; opens the mark where it is closed."""
        if not self.is_open:
            self._open(seen)
        self._seen_in += seen.t_s > self.last_s or self._seen_in == 0
        self.last_s, self._last_users = max(self.last_s, seen.t_s), seen.users
        self._count += seen.count
        self._since_count += seen.count
        self._kinds[seen.counted] += seen.count
        if seen.endpoint and (seen.endpoint in self._endpoints or len(self._endpoints) < NAMES_MOST):
            self._endpoints[seen.endpoint] += seen.count
        self._example = self._example or seen.example
        self._statuses.update(seen.statuses)
        self._symptoms.update(seen.symptoms)
        self._check = seen.check or self._check
        self.note(seen.readings)
        if seen.readings or seen.statuses or seen.symptoms or seen.check or seen.unavailable:
            self._unavailable = seen.unavailable
        self._competing |= dict.fromkeys(seen.competing)
        self.severity = min(self.severity, seen.severity or self._usual, key=SEVERITIES.index)
        self._confidence = seen.confidence
        self._holds = self._holds or seen.counted == "deaths"

    def _open(self, seen: Occurrence) -> None:
        if not self._opened:
            self._first_s = seen.t_s
        self._opened += 1
        self.is_open, self._since_s, self._since_count, self._seen_in = True, seen.t_s, 0, 0
        self._users, self._competing = seen.users, {}
        self.severity = seen.severity or self._usual

    def note(self, readings: Readings) -> None:
        """Take readings that belong to it; the latest of each name counts."""
        self._readings.update(readings)

    def also(self, competing: Iterable[str]) -> None:
        """Other causes that stand while this one does."""
        if self.is_open:
            self._competing |= dict.fromkeys(each for each in competing if each != self.id)

    def end(self) -> None:
        """It is over, however lately it was seen."""
        self.is_open = self._holds = False

    def look(self, now_s: float, users: int) -> None:
        """End it where it has been quiet for long enough; not before it was told."""
        untold = self._told is None or self._told.state == "closed"
        if self.is_open and not untold and not self._holds and now_s - self.last_s >= self._quiet_s(users):
            self.is_open = False

    def _quiet_s(self, users: int) -> float:
        gap_s = (self.last_s - self._since_s) / (self._seen_in - 1) if self._seen_in > 1 else 0.0
        quiet_s = STEPPED_DOWN_S if users < self._last_users else QUIET_S
        return min(QUIET_MOST_S, max(quiet_s, QUIET_GAPS * gap_s))

    def news(self, t_s: float, *, exactly: bool = False) -> Mark | None:
        """What to tell now, if anything. `exactly`: whatever was not told yet."""
        before = self._told
        told_open = before is not None and before.state != "closed"
        if not (self.is_open or told_open or (exactly and before is not None)):
            return None
        now = self._mark(t_s)
        if before is None or not told_open:
            is_news = self.is_open or (before is not None and before.finding != now.finding)
        else:
            is_news = not self.is_open or self._grew(before, now) or (exactly and before.finding != now.finding)
        if not is_news:
            return None
        self._told = now
        return now

    def _grew(self, before: Mark, now: Mark) -> bool:
        """Whether an update is worth a line."""
        assert isinstance(now.finding, Cause) and isinstance(before.finding, Cause)
        since_s, count, told = now.t_s - before.t_s, now.finding.count, before.finding.count
        if count == told:
            return False
        same = (before.severity, before.confidence) == (now.severity, now.confidence)
        return since_s >= TOLD_AT_LEAST_S or (since_s >= TOLD_EVERY_S and (count >= GREW_LEAST * told or not same))

    def _mark(self, t_s: float) -> Mark:
        before = self._told
        opens = before is None or before.state == "closed"
        return Mark(
            t_s=t_s,
            key=self.key,
            revision=1 if before is None else before.revision + 1,
            state="closed" if not self.is_open else "open" if opens else "updated",
            finding=self._finding(),
            epoch=self.epoch,
            users=self._users,
            severity=self.severity,
            confidence=self._confidence,
        )

    def _finding(self) -> Cause:
        lasted_s = max(1.0, self.last_s - self._since_s + 1.0)
        return Cause(
            name=self.id,
            count=self._count,
            counted=dict(self._kinds) if set(self._kinds) - {"failures"} else {},
            first_s=self._first_s,
            last_s=self.last_s,
            since_s=self._since_s if self._opened > 1 else None,
            episodes=max(1, self._opened),
            rate_per_s=round(self._since_count / lasted_s, 3),
            endpoints=dict(self._endpoints.most_common(ENDPOINTS_MOST)),
            example=self._example,
            check=self._check,
            statuses=dict(self._statuses),
            symptoms=dict(self._symptoms),
            readings=dict(self._readings),
            unavailable=self._unavailable,
            competing=tuple(self._competing),
        )
