"""`export --format locust-csv`: the four files that `locust --csv PREFIX` writes, for tools that read those.

Columns and their order are those of Locust 2.47. Figures are Locust's as far as the log has them:

- Counts and rates include all requests, also those of `on_start` and of first cycles, as Locust's do. Percentiles, minimum and
  maximum are of successes without warm-up, since the log has histograms only of these; averages include failures. Percentiles
  have 3 digits where Locust has 2. What was not measured is empty, where Locust writes 0.
- History has one `Aggregated` line a tick, as Locust writes it without `--csv-full-history`. Its rates are over the last ten
  seconds, its percentiles cumulative, as Locust's are.
- Failures are signatures, in whose texts numbers and addresses are replaced. First and last seen are times of ticks.
- The file of exceptions has only its header: the log has exceptions of user code as failures or log lines, without tracebacks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from ... import wording
from ...model.events import EndpointTick, Event, Header, Sample
from ...model.histogram import LatencyHistogram, merged
from ...model.timeline import FailureCount
from . import Format
from .csv import table

QUANTILES = (0.50, 0.66, 0.75, 0.80, 0.90, 0.95, 0.98, 0.99, 0.999, 0.9999, 1.0)
_PERCENTILES = ("50%", "66%", "75%", "80%", "90%", "95%", "98%", "99%", "99.9%", "99.99%", "100%")

STATS = (
    "Type", "Name", "Request Count", "Failure Count", "Median Response Time", "Average Response Time", "Min Response Time",
    "Max Response Time", "Average Content Size", "Requests/s", "Failures/s", *_PERCENTILES,
)  # fmt: skip
HISTORY = (
    "Timestamp", "User Count", "Type", "Name", "Requests/s", "Failures/s", *_PERCENTILES, "Total Request Count",
    "Total Failure Count", "Total Median Response Time", "Total Average Response Time", "Total Min Response Time",
    "Total Max Response Time", "Total Average Content Size",
)  # fmt: skip
FAILURES = ("Method", "Name", "Error", "Occurrences", "First Seen", "Last Seen")
EXCEPTIONS = ("Count", "Message", "Traceback", "Nodes")

_CURRENT_S = 10.0
"""Length of Locust's window for current rates."""


def render(events: Iterable[Event]) -> dict[str, bytes]:
    """The four files, named after the session. The header must come first."""
    run = _Run()
    history = [line for event in events if (line := run.apply(event)) is not None]
    entries = sorted(run.entries.items(), key=lambda item: item[0])
    stats = [each.stats(method, name, run.duration_s) for (name, method), each in entries]
    stats.append(run.total.stats("", "Aggregated", run.duration_s))
    failures = sorted(run.failures.values(), key=lambda each: (each.method, each.name, wording.failure(each.signature)))
    return {
        f"{run.name}_stats.csv": table(STATS, stats),
        f"{run.name}_stats_history.csv": table(HISTORY, history),
        f"{run.name}_failures.csv": table(FAILURES, (run.failure(each) for each in failures)),
        f"{run.name}_exceptions.csv": table(EXCEPTIONS, ()),
    }


class _Entry:
    """The counterpart of Locust's StatsEntry: one endpoint, or all of them, since the start."""

    def __init__(self) -> None:
        self.requests = self.failures = 0
        self._timed = 0
        self._latency_sum_ms = 0.0
        self._bytes = 0
        self._histogram = LatencyHistogram()

    def add(self, tick: EndpointTick, histogram: LatencyHistogram | None) -> None:
        """Add one tick."""
        self.requests += tick.requests + tick.warmup_requests
        self.failures += tick.failures + tick.warmup_failures
        self._timed += tick.requests
        self._latency_sum_ms += tick.latency_sum_ms + tick.failure_latency_sum_ms
        self._bytes += tick.received_bytes
        if histogram is not None:
            self._histogram.add(histogram)

    def stats(self, method: str, name: str, duration_s: float) -> list[object]:
        """A line of `_stats.csv`."""
        rates = [self.requests / duration_s, self.failures / duration_s] if duration_s else [None, None]
        return [method, name, self.requests, self.failures, *self._latencies(), *rates, *self.percentiles()]

    def totals(self) -> list[object]:
        """The last columns of `_stats_history.csv`."""
        return [self.requests, self.failures, *self._latencies()]

    def percentiles(self) -> Sequence[object]:
        """Whole ms, as Locust writes them; N/A while nothing succeeded."""
        found = self._histogram.percentiles_ms(QUANTILES)
        return ["N/A" if value is None else round(value) for value in found]

    def _latencies(self) -> list[object]:
        """Median, average, minimum, maximum and mean size. None for what was not measured, where Locust writes 0: there was no
        success yet, or the session was imported from a table that does not have it.
        """
        shown, timed = self._histogram, self._timed
        has_success, median_ms = shown.max_ms is not None, shown.percentile_ms(0.5)
        mean_ms = self._latency_sum_ms / timed if timed and (has_success or self._latency_sum_ms) else None
        size = self._bytes / timed if timed and (has_success or self._bytes) else None
        return [None if median_ms is None else round(median_ms), mean_ms, shown.min_ms, shown.max_ms, size]


class _Run:
    """Accumulates the events of a session."""

    def __init__(self) -> None:
        self.name = "session"
        self._began = datetime.fromtimestamp(0, UTC)
        self._began_s: float | None = None
        self._last_s = 0.0
        self.entries: dict[tuple[str, str], _Entry] = {}
        self.total = _Entry()
        self.failures: dict[object, FailureCount] = {}
        self._recent: deque[tuple[float, int, int]] = deque()

    @property
    def duration_s(self) -> float:
        """Seconds from the start of the first tick to the end of the last tick with a request."""
        return self._last_s - (self._began_s or 0.0)

    def apply(self, event: Event) -> list[object] | None:
        """Take in one event. Returns the line of history for a tick; None for other events."""
        if isinstance(event, Header):
            self.name, self._began = event.id, _moment(event.started_at)
        if not isinstance(event, Sample):
            return None
        if self._began_s is None:
            self._began_s = event.t_s - event.duration_s
        before = self.total.requests, self.total.failures
        for tick in event.endpoints:
            self._tick(tick)
        requests, failures = self.total.requests - before[0], self.total.failures - before[1]
        self._last_s = event.t_s if requests else self._last_s
        self._fail(event)
        self._recent.append((event.duration_s, requests, failures))
        while len(self._recent) > 1 and sum(each[0] for each in self._recent) > _CURRENT_S + 0.5 * event.duration_s:
            self._recent.popleft()
        timestamp = int((self._began + timedelta(seconds=event.t_s)).timestamp())
        return [timestamp, event.users, "", "Aggregated", *self._rates(), *self.total.percentiles(), *self.total.totals()]

    def _tick(self, tick: EndpointTick) -> None:
        histogram = merged([tick.latency]) if tick.latency else None
        self.entries.setdefault((tick.name, tick.method), _Entry()).add(tick, histogram)
        self.total.add(tick, histogram)

    def _fail(self, sample: Sample) -> None:
        for tick in sample.failures:
            key = (tick.name, tick.method, tick.signature)
            count = self.failures.setdefault(key, FailureCount(*key, first_s=sample.t_s))
            count.count += tick.count
            count.last_s = sample.t_s

    def _rates(self) -> Iterator[str]:
        seconds = sum(each[0] for each in self._recent)
        for index in (1, 2):
            yield f"{sum(each[index] for each in self._recent) / seconds:2f}"

    def failure(self, each: FailureCount) -> list[object]:
        """A line of `_failures.csv`."""
        seen = (self._utc(each.first_s), self._utc(each.last_s))
        return [each.method, each.name, wording.failure(each.signature), each.count, *seen]

    def _utc(self, t_s: float) -> str:
        """A session time as Locust writes times."""
        moment = (self._began + timedelta(seconds=t_s)).astimezone(UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(written: str) -> datetime:
    """The time of an ISO 8601 text: UTC without an offset, so that a log gives the same bytes everywhere; 1970 if it is
    unknown.
    """
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


FORMAT = Format(name="locust-csv", place=6, description="a folder: Locust's four files", files_of_log=render)
