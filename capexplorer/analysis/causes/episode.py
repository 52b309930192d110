"""The occurrences of a cause in an epoch as one mark: opened, updated as it grows, closed when it has ended, reopened when it
recurs.

To keep the journal readable and the log small, an update is published at most every ten seconds, and only if the count grew by
a quarter or a minute has passed. Counts are exact when a mark closes and when the session ends. No clock: the caller passes
times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ...model.events import Mark
from ...model.findings import Cause, Readings
from ...model.grades import SEVERITIES, Confidence, Severity
from ...model.load import NO_LOAD, Load
from .catalogue import ENTRIES, invalidates_run
from .occurrence import Counted, Occurrence
from .target_log import Logged

ENDED_AFTER_S = 10.0
"""A cause has ended after so many seconds without an occurrence, unless the gaps between its occurrences are longer."""

ENDED_AFTER_GAPS, ENDED_AFTER_MOST_S = 3.0, 60.0
"""A cause with rare occurrences has ended after this many of its mean gaps, but at the latest after so many seconds."""
STEPPED_DOWN_S = 5.0
"""As ENDED_AFTER_S, if there is less load than when the cause last occurred."""

UPDATE_EVERY_S = 10.0
"""Least seconds between two updates."""
GREW_LEAST = 1.25
"""An update is published if the count grew by this factor."""
UPDATE_AT_LATEST_S = 60.0
"""Seconds after which any growth is published."""

ENDPOINTS_MOST = 8
"""Greatest number of endpoints in a mark: those with the most failures."""
NAMES_MOST = 200
"""Greatest number of endpoints counted separately; further ones count in the sum only."""


class Episode:
    """All occurrences of one cause in one epoch, and the mark that reports them."""

    def __init__(self, key: str, id: str, epoch: int, severity: Severity) -> None:  # noqa: A002 - the vocabulary's word
        self.key, self.id, self.epoch = key, id, epoch
        self.is_open = False
        self.last_s = 0.0
        self.severity: Severity = severity
        self._usual: Severity = severity
        self._stays_open = False
        """Whether it is the death of the target: then it stays open until the target is ready again."""
        self._confidence: Confidence = "high"
        self._load: Load = NO_LOAD
        self._last_load: Load = NO_LOAD
        self._first_s = self._since_s = 0.0
        self._count = self._since_count = self._ticks = self._opened = 0
        self._kinds: Counter[Counted] = Counter()
        self._endpoints: Counter[str] = Counter()
        self._example, self._logged = "", Logged()
        self._statuses: Counter[str] = Counter()
        self._symptoms: Counter[str] = Counter()
        self._check: str | None = None
        self._readings: Readings = {}
        self._unavailable: tuple[str, ...] = ()
        self._competing: dict[str, None] = {}
        self._published: Mark | None = None

    def occurred(self, occurrence: Occurrence) -> None:
        """Count one occurrence; opens the episode if it is closed."""
        if not self.is_open:
            self._open(occurrence)
        self._ticks += occurrence.t_s > self.last_s or self._ticks == 0
        self.last_s, self._last_load = max(self.last_s, occurrence.t_s), occurrence.load
        self._count += occurrence.count
        self._since_count += occurrence.count
        self._kinds[occurrence.counted] += occurrence.count
        if occurrence.endpoint and (occurrence.endpoint in self._endpoints or len(self._endpoints) < NAMES_MOST):
            self._endpoints[occurrence.endpoint] += occurrence.count
        self._example = self._example or occurrence.example
        if not self._logged.text or (occurrence.logged.is_reason and not self._logged.is_reason):
            self._logged = occurrence.logged
        self._statuses.update(occurrence.statuses)
        self._symptoms.update(occurrence.symptoms)
        self._check = occurrence.check or self._check
        self.note(occurrence.readings)
        if occurrence.readings or occurrence.statuses or occurrence.symptoms or occurrence.check or occurrence.unavailable:
            self._unavailable = occurrence.unavailable
        self._competing |= dict.fromkeys(occurrence.competing)
        self.severity = min(self.severity, occurrence.severity or self._usual, key=SEVERITIES.index)
        self._confidence = occurrence.confidence
        self._stays_open = self._stays_open or occurrence.counted == "deaths"

    def _open(self, occurrence: Occurrence) -> None:
        if not self._opened:
            self._first_s = occurrence.t_s
        self._opened += 1
        self.is_open, self._since_s, self._since_count, self._ticks = True, occurrence.t_s, 0, 0
        self._load, self._competing = occurrence.load, {}
        self.severity = occurrence.severity or self._usual

    def note(self, readings: Readings) -> None:
        """Add readings; the latest value of each name is kept."""
        self._readings.update(readings)

    def also(self, competing: Iterable[str]) -> None:
        """Record other causes that are open at the same time."""
        if self.is_open:
            self._competing |= dict.fromkeys(each for each in competing if each != self.id)

    def end(self) -> None:
        """Close the episode, even if it has just occurred."""
        self.is_open = self._stays_open = False

    def close_if_over(self, now_s: float, load: Load) -> None:
        """Close the episode if it has not occurred for long enough, but not before its mark was published."""
        unpublished = self._published is None or self._published.state == "closed"
        if self.is_open and not unpublished and not self._stays_open and now_s - self.last_s >= self._ended_after_s(load):
            self.is_open = False

    def _ended_after_s(self, load: Load) -> float:
        gap_s = (self.last_s - self._since_s) / (self._ticks - 1) if self._ticks > 1 else 0.0
        quiet_s = STEPPED_DOWN_S if load.is_less_than(self._last_load) else ENDED_AFTER_S
        return min(ENDED_AFTER_MOST_S, max(quiet_s, ENDED_AFTER_GAPS * gap_s))

    def revision_to_publish(self, t_s: float, *, all_changes: bool = False) -> Mark | None:
        """The revision of its mark to publish now; None if no change is large enough. `all_changes`: publish every change."""
        before = self._published
        was_open = before is not None and before.state != "closed"
        if not (self.is_open or was_open or (all_changes and before is not None)):
            return None
        now = self._mark(t_s)
        if before is None or not was_open:
            is_due = self.is_open or (before is not None and before.finding != now.finding)
        else:
            is_due = not self.is_open or self._grew(before, now) or (all_changes and before.finding != now.finding)
        if not is_due:
            return None
        self._published = now
        return now

    def _grew(self, before: Mark, now: Mark) -> bool:
        """Whether the mark changed enough for an update."""
        assert isinstance(now.finding, Cause) and isinstance(before.finding, Cause)
        since_s, count, published = now.t_s - before.t_s, now.finding.count, before.finding.count
        if now.finding.logged != before.finding.logged:
            return True  # once or twice: when a line of the log is found, and when that is replaced by the reason of a traceback
        if count == published:
            return False
        same = (before.severity, before.confidence) == (now.severity, now.confidence)
        return since_s >= UPDATE_AT_LATEST_S or (since_s >= UPDATE_EVERY_S and (count >= GREW_LEAST * published or not same))

    def _mark(self, t_s: float) -> Mark:
        before = self._published
        opens = before is None or before.state == "closed"
        return Mark(
            t_s=t_s,
            key=self.key,
            revision=1 if before is None else before.revision + 1,
            state="closed" if not self.is_open else "open" if opens else "updated",
            finding=self._finding(),
            epoch=self.epoch,
            **self._load.named,
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
            logged=self._logged.text,
            check=self._check,
            statuses=dict(self._statuses),
            symptoms=dict(self._symptoms),
            readings=dict(self._readings),
            unavailable=self._unavailable,
            competing=tuple(self._competing),
        )


# -- episodes ------------------------------------------------------------------------------------------------------------------
# All episodes of a session, by cause and epoch, and which causes are open at the same time.


CHECKS_MOST = 20
"""Greatest number of failed checks with a mark of their own in an epoch; further ones share one."""

SHARED_KEY = "others"
"""Part of the key of that shared mark."""

FOLLOWS = {"connection_churn": "ephemeral_port_exhaustion"}
"""Cause -> prefix of the ids of its consequences, which do not compete with it."""


class Episodes:
    """Episodes by key, in the order first seen."""

    def __init__(self) -> None:
        self._all: dict[str, Episode] = {}

    def add(self, id: str, epoch: int, occurrence: Occurrence, part: str = "") -> None:  # noqa: A002 - the vocabulary's word
        """Count an occurrence of `id`. `part`: the name of the check that failed, since each check has its own mark; else
        empty.
        """
        key = f"cause:{id}:{part}:epoch{epoch}" if part else f"cause:{id}:epoch{epoch}"
        if part and key not in self._all and self._kinds(id, epoch) >= CHECKS_MOST:
            key = f"cause:{id}:{SHARED_KEY}:epoch{epoch}"
        episode = self._all.get(key)
        if episode is None:
            episode = self._all[key] = Episode(key, id, epoch, ENTRIES[id].severity)
        episode.occurred(occurrence)

    def _kinds(self, id: str, epoch: int) -> int:  # noqa: A002
        return sum(each.id == id and each.epoch == epoch for each in self._all.values())

    def end(self, id: str) -> None:  # noqa: A002
        """Close the episodes of one cause."""
        for each in self._all.values():
            if each.id == id:
                each.end()

    def end_all(self) -> None:
        """Close all episodes: their epoch has ended."""
        for each in self._all.values():
            each.end()

    def marks_to_publish(self, t_s: float, load: Load, *, all_changes: bool = False) -> Iterator[Mark]:
        """The marks to publish at this tick."""
        for each in self._all.values():
            each.close_if_over(t_s, load)
        blocking = [each.id for each in self._all.values() if each.is_open and invalidates_run(each.id)]
        for each in self._all.values():
            each.also(other for other in blocking if not other.startswith(FOLLOWS.get(each.id, "-")))
            mark = each.revision_to_publish(t_s, all_changes=all_changes)
            if mark is not None:
                yield mark
