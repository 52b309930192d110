"""The table of levels of offered rates, as plain text. Their capacity is in the table of knees (`knees`)."""

from __future__ import annotations

from .. import wording
from ..model.figures import LevelFigures
from ..model.intervals import Z95
from ..model.level import Level
from ..model.load import Users
from ..model.offered import OfferedFigures
from ..model.rate_verdicts import RateLevelVerdict
from ..model.timeline import Timeline
from ..wording import numbers, quantities
from ..wording.quantities import latency_title

_ITERATIONS = ("offered", "settled s", "planned", "goodput /s", "failed", "dropped", "in flight at end")
_LATENCIES = ("from plan p50", "p95", "p99", "service p99", "late p99")

ABOUT = (
    "Iterations, on a schedule that waits for no reply. From plan: from the moment that the schedule gave to the end of "
    "the task, so it holds the wait for a user; service: of requests alone. Late: by how much the schedule itself was late. "
    "Of a ramp, the seconds with about the same rate are one row; they are judged once it has ended."
)


def titles() -> tuple[str, ...]:
    """Titles of the columns, which count iterations; the last one has words."""
    return *_ITERATIONS, *map(latency_title, _LATENCIES), "state"


def lines(timeline: Timeline) -> list[tuple[str, ...]]:
    """One line for each rate level or bin of a ramp, in the order of the session; empty without such levels."""
    found: list[tuple[str, ...]] = []
    verdicts = wording.reported(timeline)
    for level in timeline.levels:
        if isinstance(level.load, Users):
            continue
        verdict = verdicts.get(level.opened.epoch)
        judged = verdict.rates.levels if verdict is not None and verdict.rates is not None else ()
        state = next((each for each in judged if each.level == level.opened.index), None)
        found += _rows_of(level, state)
    return found


def _rows_of(level: Level, state: RateLevelVerdict | None) -> list[tuple[str, ...]]:
    if level.opened.ramp and level.bins:
        return [_line(part.figures, part.figures.offered, "ramp") for part in level.bins]
    words = wording.rate_level(state) if state is not None else "not settled" if not level.figures.settled else numbers.MISSING
    return [_line(level.figures, level.figures.offered, words, level.load.per_s)]


def _line(found: LevelFigures, offered: OfferedFigures | None, words: str, per_s: float | None = None) -> tuple[str, ...]:
    if offered is None:
        return quantities.load_in_column(0, per_s), *[numbers.MISSING] * (len(titles()) - 2), words
    error = None if offered.finished_se_per_s is None else Z95 * offered.finished_se_per_s
    ended, latency = offered.finished + offered.failed, offered.from_plan_ms
    return (
        quantities.load_in_column(0, offered.offered_per_s),
        numbers.significant(found.settled_seconds),
        numbers.significant(offered.planned),
        numbers.with_error(offered.finished_per_s, error),
        numbers.percent_in_full(offered.failed / ended if ended else None),
        numbers.significant(offered.dropped.total),
        numbers.significant(offered.in_flight),
        quantities.latency_in_column(latency.p50),
        quantities.latency_in_column(latency.p95),
        quantities.latency_in_column(latency.p99),
        quantities.latency_in_column(found.latency_ms.p99),
        quantities.latency_in_column(offered.late_p99_ms),
        words,
    )
