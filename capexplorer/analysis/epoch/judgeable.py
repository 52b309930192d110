"""Selects the levels that describe the service: those in which the generator, its host and the network worked.

Without free ports, requests of the generator fail fast; the goodput that remains is no capacity of the service. Levels whose
generator lacked CPU are kept: they are flagged as saturated, and the knee's limit is then "generator". Reads marks of causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.events import Mark
from ...model.findings import Cause
from ...model.level import Level
from ...model.timeline import Timeline
from ..causes.catalogue import invalidates_run
from ..ladder import LadderLevel

FAILURES_LEAST = 0.01
"""Failure ratio from which a level is dropped: two failed DNS lookups in three minutes do not invalidate it."""

_LEAVE_LEVELS_VALID = ("generator_cpu_saturated", "event_loop_blocked", "log_write_failed")
"""Causes that invalidate a run, but do not make requests fail."""


def judgeable_levels(timeline: Timeline, levels: Sequence[LadderLevel]) -> tuple[LadderLevel, ...]:
    """The levels during which no critical cause of generator, host or network made requests fail."""
    spans = list(_spans(timeline))
    return tuple(level for level in levels if not _is_invalid(level, level.ended_s or timeline.last_s, spans))


def is_invalidated(timeline: Timeline, level: Level) -> bool:
    """Whether a critical cause of generator, host or network made requests of this level fail."""
    ended_s = timeline.last_s if level.ended_s is None else level.ended_s
    return _failed_during(level.figures.failure_ratio, level.started_s, ended_s, list(_spans(timeline)))


def _is_invalid(level: LadderLevel, ended_s: float, spans: Sequence[tuple[float, float]]) -> bool:
    return _failed_during(level.failure_ratio, level.started_s, ended_s, spans)


def _failed_during(failure_ratio: float | None, started_s: float, ended_s: float, spans: Sequence[tuple[float, float]]) -> bool:
    """Whether a level had failures and overlaps one of the `spans`."""
    failing = (failure_ratio or 0.0) >= FAILURES_LEAST
    return failing and any(first_s < ended_s and last_s > started_s for first_s, last_s in spans)


def _spans(timeline: Timeline) -> Iterator[tuple[float, float]]:
    """(first, last) occurrence of each episode of such causes, in seconds of the session: one for each revision of its mark, so
    that later ones contain the earlier ones.
    """
    open_s: dict[str, float] = {}
    for entry in timeline.journal:
        if not isinstance(entry, Mark) or not isinstance(entry.finding, Cause) or not _invalidates(entry.id):
            continue
        began_s, last_s = entry.finding.began_s, entry.finding.last_s
        if entry.state == "open" or entry.key not in open_s:
            open_s[entry.key] = entry.t_s if began_s is None else began_s
        yield open_s[entry.key], entry.t_s if last_s is None else last_s


def _invalidates(cause: str) -> bool:
    return invalidates_run(cause) and cause not in _LEAVE_LEVELS_VALID
