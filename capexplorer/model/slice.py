"""The figures of any seconds of a timeline, from its columns: of a level, a part of one, a bin of a ramp.

Histograms, readings by name and failed iterations have no columns: with their sums over the same seconds (`Merged`) figures have
percentiles and readings, too.

Standard errors are those of batch means: the seconds are divided into six consecutive batches of equal length, and the
standard deviation of the batch means divided by sqrt(6) is the standard error of the whole (Law & Kelton, Simulation Modeling and
Analysis, section 9.5.3). They are reported without a lower bound; detectors apply one, since they may be small by chance.
"""

from __future__ import annotations

from . import one_blas_thread  # noqa: F401  before numpy is loaded

# isort: split
import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from .columns import FOLDED, READINGS, SUMS, Columns
from .figures import Latency, LevelFigures
from .merged import Merged, OfferedSums, latency_of
from .offered import NO_DROPS, Drops, OfferedFigures

BATCHES = 6


class Slice:
    """Some seconds of a timeline."""

    def __init__(self, columns: Columns, ticks: Sequence[int]) -> None:
        """`ticks`: column indices, ascending."""
        self.columns, self.ticks = columns, ticks

    def values(self, name: str) -> array[float]:
        """The column's values in these seconds, which mostly are consecutive ones; NaN: not measured."""
        if not len(self.ticks):
            return array("d")
        first, stop = self.ticks[0], self.ticks[-1] + 1
        values = self.columns[name][first:stop]
        return values if stop - first == len(self.ticks) else array("d", [values[tick - first] for tick in self.ticks])

    @property
    def seconds(self) -> float:
        """Their length together."""
        return sum(self.values("duration_s"))

    @property
    def began_s(self) -> float | None:
        """When the first of them began, in seconds of the session; None if there are none."""
        return self.columns["t_s"][self.ticks[0]] - self.columns["duration_s"][self.ticks[0]] if len(self.ticks) else None

    def batch_error(self, above: str, below: str) -> float | None:
        """Standard error of the ratio of the sums of two columns that were measured in all of these seconds."""
        return batch_error(list(zip(self.values(above), self.values(below), strict=True)))

    def figures(self, merged: Merged | None = None, *, with_histogram: bool = False) -> LevelFigures:
        """The figures of these seconds, as of a level that has settled. `merged`: sums over the same seconds; without them there
        are no percentiles, and no readings by name.
        """
        seconds = self.seconds
        if seconds <= 0:
            return LevelFigures(settled=False)
        sums = {name: sum(self.values(name)) for name in SUMS}
        requests, failures, waits, tasks = (int(sums[name]) for name in ("requests", "failures", "waits", "tasks"))
        successes = requests - failures
        worked = not math.isnan(sums["work"])
        mean = Latency(mean=sums["latency_sum_ms"] / successes if successes else None)
        return LevelFigures(
            settled=True,
            settled_seconds=seconds,
            requests=requests,
            failures=failures,
            failure_ratio=failures / requests if requests else None,
            throughput_rps=requests / seconds,
            goodput_rps=sums["work"] / seconds if worked else None,
            goodput_se_rps=self.batch_error("work", "duration_s") if worked else None,
            latency_ms=mean if merged is None else latency_of(merged.histogram(), sums["latency_sum_ms"]),
            latency_se_ms=batch_error(list(zip(self.values("latency_sum_ms"), self._successes(), strict=True))),
            response_ms=(sums["latency_sum_ms"] + sums["failure_latency_sum_ms"]) / requests if requests else None,
            wait_s=sums["wait_sum_s"] / waits if waits else None,
            **self._think(sums, requests),
            requests_per_task=requests / tasks if tasks else None,
            task_s=sums["task_sum_s"] / tasks if tasks else None,
            users_mean=round(self._users_seconds() / seconds, 6),  # 40 users are not 40.000000000000014
            **self._readings(),
            offered=self._offered(seconds, merged.offered if merged is not None else None, with_histogram),
            readings=merged.readings.means() if merged is not None else {},
            other_processes=merged.readings.other_processes() if merged is not None else {},
        )

    def _successes(self) -> list[float]:
        return [every - failed for every, failed in zip(self.values("requests"), self.values("failures"), strict=True)]

    def _users_seconds(self) -> float:
        return sum(users * seconds for users, seconds in zip(self.values("users"), self.values("duration_s"), strict=True))

    def _think(self, sums: dict[str, float], requests: int) -> dict[str, Any]:
        """Think time per request, waits and sleeps, and its error; None if an older log does not record sleeps."""
        if math.isnan(sums["sleep_sum_s"]):
            return {}
        thought = [waited + slept for waited, slept in zip(self.values("wait_sum_s"), self.values("sleep_sum_s"), strict=True)]
        return {
            "think_s": (sums["wait_sum_s"] + sums["sleep_sum_s"]) / requests if requests else None,
            "think_se_s": batch_error(list(zip(thought, self.values("requests"), strict=True))),
        }

    def _readings(self) -> dict[str, Any]:
        """Means over the seconds in which a reading was measured; for used ports the greatest value."""
        known = {name: _measured(self.values(name)) for name in READINGS}
        return {
            name: math.fsum(values) / len(values) if FOLDED[name] == "mean" else max(values)
            for name, values in known.items()
            if values
        }

    def _offered(self, seconds: float, sums: OfferedSums | None, with_histogram: bool) -> OfferedFigures | None:
        """The iterations of these seconds; None if no rate was offered and none was in flight."""
        rates = _measured(self.values("offered_per_s"))
        if not rates:
            return None
        means = {name: math.fsum(values) / len(values) for name in _OFFERED if (values := _measured(self.values(name)))}
        counts = self._iterations() if sums is None else _iterations(sums, with_histogram)
        return OfferedFigures(
            offered_per_s=round(math.fsum(rates) / len(rates), 6),
            **counts,
            finished_per_s=counts["finished"] / seconds,
            finished_se_per_s=self.batch_error("finished", "duration_s") if len(rates) == len(self.ticks) else None,
            in_flight_mean=means["in_flight"],
            queued_mean=means["queued"],
            late_p99_ms=means.get("late_p99_ms"),
        )

    def _iterations(self) -> dict[str, Any]:
        """Counts from columns, which have no failed iterations: they are what remains of those planned and in flight. Drops by
        the generator, for whichever reason, are `max_users`.
        """
        counts = ("planned", "finished", "dropped_by_target", "dropped_at_stop")
        planned, finished, by_target, at_stop = (round(math.fsum(_measured(self.values(name)))) for name in counts)
        per_s = zip(self.values("dropped_per_s"), self.values("duration_s"), strict=True)
        dropped = round(math.fsum(rate * length for rate, length in per_s if not math.isnan(rate)))
        before = self.columns["in_flight"][self.ticks[0] - 1] if self.ticks[0] else 0.0
        in_flight_before, in_flight = (0 if math.isnan(each) else round(each) for each in (before, self.values("in_flight")[-1]))
        from_plan_sum_ms = math.fsum(_measured(self.values("from_plan_sum_ms")))
        return {
            "planned": planned,
            "finished": finished,
            "failed": max(planned + in_flight_before - in_flight - finished - dropped, 0),
            "dropped": Drops(target=by_target, stopped=at_stop, max_users=max(dropped - by_target - at_stop, 0)),
            "in_flight_before": in_flight_before,
            "in_flight": in_flight,
            "from_plan_ms": Latency(mean=from_plan_sum_ms / finished if finished else None),
        }


_OFFERED = ("in_flight", "queued", "late_p99_ms")


def _iterations(sums: OfferedSums, with_histogram: bool) -> dict[str, Any]:
    histogram = sums.histogram
    return {
        "planned": sums.planned,
        "started": sums.started,
        "finished": sums.finished,
        "failed": sums.failed,
        "dropped": sums.dropped if sums.dropped.total else NO_DROPS,
        "in_flight_before": sums.in_flight_before,
        "in_flight": sums.in_flight,
        "miscounted": sums.miscounted,
        "from_plan_ms": latency_of(histogram, sums.from_plan_sum_ms),
        "late_max_ms": sums.late_max_ms,
        "from_plan": histogram.encode() if with_histogram and histogram.count else None,
    }


def _measured(column: array[float]) -> list[float]:
    """The values that were measured."""
    values = np.frombuffer(column)
    known: list[float] = values[~np.isnan(values)].tolist()
    return known


def batch_error(pairs: Sequence[tuple[float, float]], batches: int = BATCHES) -> float | None:
    """Standard error of sum(a) / sum(b) over consecutive pairs (a, b), by batch means; None if there are fewer pairs than
    batches, or a batch has no b.
    """
    if len(pairs) < batches:
        return None
    means = []
    for index in range(batches):
        above, below = zip(*pairs[index * len(pairs) // batches : (index + 1) * len(pairs) // batches], strict=True)
        total = math.fsum(below)
        if total <= 0:
            return None
        means.append(math.fsum(above) / total)
    centre = math.fsum(means) / batches
    return math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / (batches - 1) / batches)
