"""The occurrences of a cause in an epoch as one mark: opened, updated as it grows, closed when it has ended, reopened when it
recurs.

To keep the journal readable and the log small, an update is published at most every ten seconds, and only if the count grew by
a quarter or a minute has passed. Counts are exact when a mark closes and when the session ends. No clock: the caller passes
times.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from ...model.catalogue import ENTRIES, invalidates_run
from ...model.events import Log, Mark
from ...model.findings import Cause, Readings
from ...model.load import NO_LOAD, Load
from ...model.verdicts import SEVERITIES, Confidence, Severity
from ..log_text import Tracebacks, folded, without_tokens
from ..statistics import NONE_EXPECTED_MOST, RELEVANT
from .resolve import AROUND_S, Resolved, Symptom

# -- Lines of the target's own log that report an error while requests fail. The reason of a traceback is preferred to other
# lines: its header (`ERROR: Exception in ASGI application`) says nothing.
#
# A line is additional evidence for a cause. It is text from outside: bounded here, escaped and redacted where it is shown.

LINES_MOST = 200
"""Latest lines that are remembered, and most endpoints that are counted separately; further ones count in the sum only."""

_NO_PORTS = re.compile(r"cannot assign requested address|can't assign requested address|no free (?:local |source )?ports", re.I)

_ERROR = re.compile(
    r"\b(?:error|exception|fatal|panic|critical|emerg|alert|too many|exhaust\w*|refused|denied|timed? ?out|unavailable|cannot"
    r"|can't|could not|failed|failure|out of|no space|deadlock|overload\w*)\b",
    re.IGNORECASE,
)


class Logged(msgspec.Struct, frozen=True):
    """A line of the target's log."""

    text: str = ""
    """Bounded and folded; empty: there is none."""
    is_reason: bool = False
    """Whether it is the reason of a traceback."""


class TargetLog:
    """The latest lines that report an error."""

    def __init__(self) -> None:
        self._lines: deque[tuple[float, Logged, str, int]] = deque(maxlen=LINES_MOST)
        """(time, line, its folded text, how often it was printed)."""
        self._tracebacks = Tracebacks()

    def add(self, log: Log) -> None:
        """Keep a line of the target that reports an error; others are ignored."""
        if log.source != "target":
            return
        for line in log.text.split("\\n") if "Traceback (most" in log.text else (log.text,):  # a traceback as text of JSON
            reason = self._tracebacks.read(line).reason
            if reason is not None:
                self._lines.append((log.t_s, Logged(without_tokens(reason), True), folded(reason), log.repeated))
            elif _ERROR.search(line):
                self._lines.append((log.t_s, Logged(folded(line)), folded(line), log.repeated))

    def says_no_ports(self, t_s: float) -> bool:
        """Whether a line from AROUND_S before `t_s` on says that a connection could not be opened for lack of a local port."""
        return any(at_s >= t_s - AROUND_S and _NO_PORTS.search(line.text) for at_s, line, _, _ in self._lines)

    def around(self, t_s: float) -> Logged:
        """The most frequent reason of a traceback from AROUND_S before `t_s` on, else the most frequent line. Of several
        the last: the outermost exception of Python, and the root of a chain of causes in Java and Node.
        """
        counts: Counter[str] = Counter()
        latest: dict[str, Logged] = {}
        for at_s, line, text, count in self._lines:
            if at_s >= t_s - AROUND_S:
                counts[text] += count
                latest.pop(text, None)
                latest[text] = line
        candidates = [text for text, line in latest.items() if line.is_reason] or list(latest)
        best = max(reversed(candidates), key=lambda text: counts[text], default=None)
        return Logged() if best is None else latest[best]


# -- An occurrence: a cause in one tick, from failures, a resolved symptom or a harmful state.

Counted = Literal["failures", "retried", "seconds", "deaths"]


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """A cause in one tick."""

    t_s: float
    load: Load
    count: int = 1
    counted: Counted = "failures"
    endpoint: str = ""
    example: str = ""
    logged: Logged = Logged()
    """A line of the target's own log that may explain it."""
    readings: Readings = msgspec.field(default_factory=dict)
    check: str | None = None
    """Name of the user's own check that failed."""
    statuses: Mapping[str, int] = msgspec.field(default_factory=dict)
    symptoms: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Failures by symptom, if the cause is unknown."""
    unavailable: tuple[str, ...] = ()
    """Readings that could not be taken."""
    competing: tuple[str, ...] = ()
    """Ids of other causes that the readings confirm too."""
    severity: Severity | None = None
    """None: that of the catalogue."""
    confidence: Confidence = "high"


def occurrence_of(symptom: Symptom, found: Resolved, example: str) -> Occurrence:
    """The failures of a symptom, with the cause that was found."""
    failure = symptom.failure
    return Occurrence(
        t_s=symptom.tick.t_s,
        load=symptom.tick.load,
        count=failure.count,
        counted="retried" if symptom.hidden else "failures",
        endpoint=f"{failure.method} {failure.name}".strip(),
        example=example,
        symptoms={symptom.id: failure.count} if found.id == "unknown" else {},
        readings=found.readings,
        unavailable=found.unavailable,
        competing=found.competing,
        severity=found.severity,
        confidence=found.confidence,
    )


ENDED_AFTER_S = 10.0
"""A cause has ended after so many seconds without an occurrence, unless the gaps between its occurrences are longer. Updates of a
mark whose count grew by a quarter are as far apart."""

ENDED_AFTER_MOST_S = 60.0
"""A cause with rare occurrences has ended when several would have been expected by its mean gap, but at the latest after so many
seconds; after as many any growth is published."""
STEPPED_DOWN_S = 5.0
"""As ENDED_AFTER_S, if there is less load than when the cause last occurred."""

# -- an episode ----------------------------------------------------------------------------------------------------------------


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
        self._since_count = self._ticks = self._opened = 0
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
        self._since_count += occurrence.count
        self._kinds[occurrence.counted] += occurrence.count
        if occurrence.endpoint and (occurrence.endpoint in self._endpoints or len(self._endpoints) < LINES_MOST):
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
        return min(ENDED_AFTER_MOST_S, max(quiet_s, NONE_EXPECTED_MOST * gap_s))

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

    def news(self, t_s: float, epoch: int, load: Load, *, all_changes: bool = False) -> Mark | None:
        """The revision to publish at this tick, of a cause that outlasts epochs: its mark is of the present one."""
        self.epoch = epoch
        self.close_if_over(t_s, load)
        return self.revision_to_publish(t_s, all_changes=all_changes)

    def _grew(self, before: Mark, now: Mark) -> bool:
        """Whether the mark changed enough for an update."""
        assert isinstance(now.finding, Cause) and isinstance(before.finding, Cause)
        since_s, count, published = now.t_s - before.t_s, now.finding.count, before.finding.count
        if now.finding.logged != before.finding.logged:
            return True  # once or twice: when a line of the log is found, and when that is replaced by the reason of a traceback
        if count == published:
            return False
        same = (before.severity, before.confidence) == (now.severity, now.confidence)
        return since_s >= ENDED_AFTER_MOST_S or (since_s >= ENDED_AFTER_S and (count >= (1 + RELEVANT) * published or not same))

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
            count=self._kinds.total(),
            counted=dict(self._kinds) if set(self._kinds) - {"failures"} else {},
            first_s=self._first_s,
            last_s=self.last_s,
            since_s=self._since_s if self._opened > 1 else None,
            episodes=max(1, self._opened),
            rate_per_s=round(self._since_count / lasted_s, 3),
            endpoints=dict(self._endpoints.most_common(8)),
            example=self._example,
            logged=self._logged.text,
            check=self._check,
            statuses=dict(self._statuses),
            symptoms=dict(self._symptoms),
            readings=dict(self._readings),
            unavailable=self._unavailable,
            competing=tuple(self._competing),
        )


# -- All episodes of a session, by cause and epoch, and which causes are open at the same time.

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
