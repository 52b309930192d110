"""From events to what the service's own log and metrics did where its curve bends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ...model import one_blas_thread  # noqa: F401  before numpy is loaded
from ...model.events import Ended, Event, LevelClosed, LevelOpened, Log, Sample, Target, Telemetry, Verdict
from ...model.level import Level
from ...model.level_use import level_use
from ...model.load import Rate
from ...model.telemetry import BegunLines, BentSeries, SeriesKind, TelemetryChanges
from ...model.timeline import Timeline
from ..epoch_view import reported

# isort: split
import numpy as np
from numpy.typing import NDArray

from .bends import LEVELS_LEAST, Q_MOST, Bend, LevelMeans, false_shares, probabilities
from .recorded import LineGroup, LineGroups, NamedSeries, RecordedSeries

SHOWN_MOST = 12
"""Series, and groups of lines, that are reported: the first ones of their order."""


class ServiceTelemetry:
    """Processes events, in order, each after the timeline has applied it. What `process` returns is logged after the event, that
    of `Ended` before it."""

    def __init__(self) -> None:
        self._series, self._lines = RecordedSeries(), LineGroups()
        self._known: dict[int, TelemetryChanges] = {}
        self._level: int | None = None
        """Index of the latest level."""
        self._has_closed = False
        """Whether a level has closed since the last verdict: levels that are open do not count."""

    def process(self, event: Event, timeline: Timeline) -> tuple[Telemetry, ...]:
        """Process one event; returns what is known of each epoch of which that has changed."""
        match event:
            case Sample(suspended_s=None):
                self._series.add(event, self._lines.take(event))
            case Log(source="target") if self._level is not None:
                self._lines.add(event, self._level)
            case LevelOpened():
                self._level = event.index
                self._series.opened(event)
            case LevelClosed():
                self._has_closed = True
                self._series.closed(event)
            case Target():
                self._series.restarted()
            case Verdict() if self._has_closed:
                self._has_closed = False
                return self._changed(event.t_s, timeline, event.epoch)
            case Ended():
                return tuple(found for epoch in timeline.verdicts for found in self._changed(event.t_s, timeline, epoch))
        return ()

    def _changed(self, t_s: float, timeline: Timeline, epoch: int) -> tuple[Telemetry, ...]:
        changes = self.changes(timeline, epoch)
        if changes == self._known.get(epoch, TelemetryChanges()):
            return ()
        self._known[epoch] = changes
        return (Telemetry(t_s=t_s, epoch=epoch, changes=changes),)

    def changes(self, timeline: Timeline, epoch: int, most: int = SHOWN_MOST) -> TelemetryChanges:
        """What is known of an epoch now; nothing if nothing was recorded, or its curve does not bend. `most`: series, and
        groups of lines, that are returned."""
        verdict = reported(timeline).get(epoch)
        found = bend_of(verdict) if verdict is not None else None
        if verdict is None or found is None or not (self._series.columns or self._lines.groups):
            return TelemetryChanges()
        bend, at_rates = found
        on_curve = [each for each in timeline.levels if each.opened.epoch == epoch and isinstance(each.load, Rate) is at_rates]
        levels = [each for each in on_curve if _is_used(each, verdict, at_rates)]
        below = [each for each in levels if each.load.amount < bend.load]
        beyond = [each for each in levels if each.load.amount > bend.load]
        recorded = sum(each.part is not None for each in self._series.columns)
        changes = TelemetryChanges(bend=bend.load, at_rates=at_rates, recorded=recorded, groups=len(self._lines.groups))
        if not below or not beyond:
            return msgspec.structs.replace(changes, unknown_why="none_beyond" if below else "none_below")
        measured = [each for each in levels if each.opened.index in self._series.levels]
        if len(measured) < LEVELS_LEAST:
            return msgspec.structs.replace(changes, unknown_why="few_levels")
        named, means = self._series.at(measured)
        q = _false_shares(named, means, bend)
        clear = sorted((each for each in q if q[each] <= Q_MOST), key=lambda each: (q[each], _ORDER.index(named[each].kind)))
        all_beyond = [each for each in on_curve if each.load.amount > bend.load]
        since_s = min(each.started_s for each in all_beyond)
        series = [_bent(named[each], means, each, q[each], bend, since_s) for each in clear if named[each].part is not None]
        groups = ((self._lines.groups[named[each].name], q[each]) for each in clear if named[each].part is None)
        lines = [begun for group, share in groups if (begun := _begun(group, below, beyond, all_beyond, share)) is not None]
        lines.sort(key=lambda each: (not each.is_exception, -each.count, each.text))
        return msgspec.structs.replace(
            changes,
            series=tuple(series[:most]),
            lines=tuple(lines[:most]),
            tested=sum(named[each].part is not None for each in q),
            is_after_only=max(each.started_s for each in below) < since_s,
        )


def _false_shares(named: Sequence[NamedSeries], means: LevelMeans, bend: Bend) -> dict[int, float]:
    """The share of false findings among all series, and among all groups of lines, that are at least as clear as each: by column,
    of those that change at all and are known at enough levels."""
    known = ~np.isnan(means.means + means.errors)
    spread = np.where(known, means.means, -math.inf).max(axis=0) - np.where(known, means.means, math.inf).min(axis=0)
    is_tested = (known.sum(axis=0) >= LEVELS_LEAST) & (spread > 0)
    p = np.ones(len(named))
    for mask in {column.tobytes() for column in known.T[is_tested]}:
        at = np.frombuffer(mask, np.bool_)
        alike = np.flatnonzero(is_tested & (known == at[:, np.newaxis]).all(axis=0))
        p[alike] = probabilities(means.of(at, alike), bend)
    found: dict[int, float] = {}
    for is_line in (False, True):
        columns = [each for each in np.flatnonzero(is_tested).tolist() if (named[each].part is None) is is_line]
        found |= dict(zip(columns, false_shares(p[columns]).tolist(), strict=True))
    return found


_ORDER: tuple[SeriesKind, ...] = ("gauge", "rate", "mean")
"""Of equally clear series those come first that tell most beyond the responses themselves."""


def _bent(named: NamedSeries, levels: LevelMeans, column: int, q: float, bend: Bend, since_s: float) -> BentSeries:
    means, loads = levels.means[:, column], levels.loads
    known = ~np.isnan(means)
    below, top = _highest(loads, known & (loads <= bend.load)), _highest(loads, known)
    return BentSeries(
        name=named.name,
        part=named.part or "",
        kind=named.kind,
        before=float(means[below]),
        load_before=float(loads[below]),
        after=float(means[top]),
        load_after=float(loads[top]),
        since_s=since_s,
        q=q,
    )


def _highest(loads: NDArray[np.float64], among: NDArray[np.bool_]) -> int:
    """The latest of the levels of the highest load."""
    found = np.flatnonzero(among)
    return int(found[loads[found] == loads[found].max()][-1])


def _begun(
    group: LineGroup, below: Sequence[Level], beyond: Sequence[Level], all_beyond: Sequence[Level], q: float
) -> BegunLines | None:
    """None if they became less. `all_beyond`: also levels that the curve does not count: they may have the first lines."""
    count_below, count = (sum(group.lines.get(each.opened.index, 0) for each in levels) for levels in (below, beyond))
    seconds_below, seconds = (math.fsum(each.figures.settled_seconds for each in levels) for levels in (below, beyond))
    if count * seconds_below <= count_below * seconds:
        return None
    first = min((each for each in all_beyond if each.opened.index in group.first_s), key=lambda each: each.started_s)
    return BegunLines(
        text=group.text,
        is_exception=group.is_exception,
        count_below=count_below,
        count=count,
        first_s=group.first_s[first.opened.index],
        load=first.load.amount,
        q=q,
    )


def bend_of(verdict: Verdict) -> tuple[Bend, bool] | None:
    """(where the curve of an epoch bends, whether at offered rates); None: it does not, or the generator is its limit."""
    capacity = verdict.capacity
    knee = next(
        (
            each
            for each in (capacity.knee, capacity.latency_knee)
            if each is not None and each.kind not in ("no_knee", "at_or_below")
        ),
        None,
    )
    if knee is not None and knee.users is not None and knee.limit != "generator":
        return Bend(knee.users, knee.users_low or knee.users, knee.users_high or knee.users), False
    rate = verdict.rates.capacity if verdict.rates is not None else None
    if rate is not None and rate.kind in ("capacity", "departs") and rate.limit != "generator":
        return Bend(rate.per_s, rate.low_per_s or rate.per_s, rate.high_per_s or rate.per_s), True
    return None


def _is_used(level: Level, verdict: Verdict, at_rates: bool) -> bool:
    """Whether the curve of the epoch counts the level. A return to fewer users counts too, and tells load from time; after too
    high a rate it shows the backlog."""
    if level.opened.ramp or level.closed is None or not level.figures.settled:
        return False
    return level_use(level, verdict).why in ((None,) if at_rates else (None, "recovery"))
