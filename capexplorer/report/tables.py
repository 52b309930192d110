"""Tables of texts that every format has: the conditions of a session, the findings of its verdicts, its levels of offered rates.
Also the Markdown of any table.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from .. import wording
from ..model.events import Header, HostFacts, Target, Verdict, clients_of
from ..model.figures import LevelEndpoint, LevelFigures, latency_of_kind
from ..model.intervals import Z95
from ..model.level import Level
from ..model.level_use import level_use
from ..model.limits import limits_in_profile
from ..model.load import OfferedFigures, Users
from ..model.stages import TABLED, request_limits_in
from ..model.timeline import Timeline, params_of, version_of
from ..model.verdicts import KneeVerdict, RateCapacity, RateLevelVerdict, RateObjective, SloVerdict, Why
from ..wording import numbers, quantities
from ..wording.numbers import MISSING, significant
from ..wording.quantities import latency_in_column, latency_title, size
from .rows import STAGES_NOTE, ReportedLevel, metric_levels, stage_titles, value_of


class Table(NamedTuple):
    """Texts that are not escaped yet, except for Markdown."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[int] = ()
    """Indices of the columns that have words, which are aligned to the left."""

    def markdown(self, numbers: str = "--:", words: str = ":--") -> str:
        """The table in Markdown, in which each cell is escaped. `numbers`, `words`: the marks of their columns."""
        marks = [words if index in self.words else numbers for index in range(len(self.titles))]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (self.titles, marks, *self.rows))

    def lines(self) -> list[str]:
        """The table for a terminal, in columns of the width of their longest cell."""
        every = (self.titles, *self.rows)
        widths = [max(map(len, column)) for column in zip(*every, strict=True)]
        placed = (
            (
                cell.ljust(width) if index in self.words else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in every
        )
        return ["  ".join(cells).rstrip() for cells in placed]


# -- environment ---------------------------------------------------------------------------------------------------------------
# The conditions under which a session was recorded: the header's facts as lines for a table.


class Fact(msgspec.Struct, frozen=True):
    """One line. `foreign`: written by people or other programs, not by the app."""

    name: str
    value: str
    foreign: bool = False


def environment(timeline: Timeline) -> list[Fact]:
    """The known facts. Unknown ones are left out, except those of the host, which are listed as not measured."""
    header = timeline.header
    if header is None:
        return []
    return [*_session(header), *_target(header, timeline), *_load(header), *_host(header.host), *_parts(timeline)] + (
        [Fact("versions", ", ".join(map(" ".join, header.versions.items())), foreign=True)] if header.versions else []
    )


def _session(header: Header) -> Iterator[Fact]:
    yield Fact("session", header.id, foreign=True)
    if header.started_at:
        yield Fact("started", wording.wall_time(header.started_at), foreign=True)
    if header.source:
        yield Fact("imported", header.source, foreign=True)
    if header.label:
        yield Fact("label", header.label, foreign=True)


def _target(header: Header, timeline: Timeline) -> Iterator[Fact]:
    target = header.target
    yield Fact("target", target.name, foreign=True)
    if target.url:
        yield Fact("URL", target.url, foreign=True)
    if target.command:
        yield Fact("command", shlex.join(target.command), foreign=True)
    if version := version_of(timeline):
        yield Fact("version", version, foreign=True)
    later = sorted({each.epoch for each in timeline.journal if isinstance(each, Target) and each.epoch})
    if target.params:
        yield Fact("parameters, epoch 0" if later else "parameters", _pairs(target.params), foreign=True)
    for epoch in later:
        yield Fact(f"parameters, epoch {epoch}", _pairs(params_of(timeline, epoch)), foreign=True)


def _load(header: Header) -> Iterator[Fact]:
    users: dict[str, Any] = header.profile.get("users") or {}
    wait = users.get("wait_s")
    given: dict[str, Any] = {"constant": wait} if wait and isinstance(wait, float | int) else wait or {}
    if waits := {name: value for name, value in given.items() if value is not None}:
        yield Fact("wait, s", _pairs(waits), foreign=True)
    if clients := wording.clients(clients_of(header)):
        keep_alive = f", keep-alive {'on' if users['keep_alive'] else 'off'}" if "keep_alive" in users else ""
        yield Fact("client", f"{clients}{keep_alive}", foreign=True)
    if users.get("locustfile"):
        yield Fact("locustfile", str(users["locustfile"]), foreign=True)
    if limits := limits_in_profile(header.profile):
        yield Fact("limited to", _pairs(limits), foreign=True)
    if (of_request := request_limits_in(header.profile)) is not None:
        most = ", ".join(f"{name}_ms ≤ {ms:g}" for name, ms in of_request.by_name.items())
        yield Fact("goodput is of requests with", most, foreign=True)
    for name, overhead in header.client_overhead_ms.items():
        p50, p99 = latency_in_column(overhead.p50_ms), latency_in_column(overhead.p99_ms)
        yield Fact(latency_title(f"client overhead of {name}", ", "), f"p50 {p50}, p99 {p99}")
    engine = header.engine
    if engine.mode is not None:
        yield Fact("engine", engine.mode if engine.mode == "in-process" else f"{engine.mode}: {engine.workers}")


def _host(host: HostFacts) -> Iterator[Fact]:
    if host == HostFacts():
        yield Fact("host", "not measured")
        return
    if host.name:
        yield Fact("host", host.name, foreign=True)
    yield Fact("system", " ".join(filter(None, (host.system, host.kernel))) or "not measured", foreign=True)
    cpus = significant(host.cpus) + (f" ({host.cpu_model})" if host.cpu_model else "")
    yield Fact("cores", cpus + (f", quota {significant(host.cgroup_cpus)}" if host.cgroup_cpus else ""), foreign=True)
    yield Fact("memory", size(host.memory_bytes))
    ports = f"{host.port_range[0]}–{host.port_range[1]}, " if host.port_range else ""
    yield Fact(
        "ephemeral ports", f"{ports}{significant(host.ports_capacity)} usable, tcp_tw_reuse {significant(host.tcp_tw_reuse)}"
    )
    yield Fact("limits", f"open files {significant(host.fds_limit)}, somaxconn {significant(host.somaxconn)}")


def _parts(timeline: Timeline) -> Iterator[Fact]:
    """Watched parts: where each is, and on what machine."""
    for part in timeline.parts.values():
        host = part.host
        cores = f"{significant(host.cpus)} cores" + (f", quota {significant(host.cgroup_cpus)}" if host.cgroup_cpus else "")
        known = (part.place, part.program, cores, f"memory {size(host.memory_bytes)}", host.kernel)
        yield Fact(f"watched part {part.name}", ", ".join(filter(None, known)), foreign=True)


def _pairs(values: dict[str, Any]) -> str:
    texts = {name: "–".join(map(str, each)) if isinstance(each, list | tuple) else str(each) for name, each in values.items()}
    return ", ".join(map("=".join, texts.items()))


# -- knees ---------------------------------------------------------------------------------------------------------------------
# The table of knees, capacities and objectives: the findings of each epoch's verdict with their intervals, as plain text.


_KNEE_TITLES = ("found", "users", "90% interval", "goodput /s", "limit", "confidence")


def knees(timeline: Timeline) -> Table:
    """One row per finding, epoch by epoch; none if no detector has run."""
    found: list[tuple[str, ...]] = []
    for epoch, verdict in wording.reported(timeline).items():
        epoch_name = wording.epoch_name(timeline, epoch)
        found += [(f"{name}, {epoch_name}" if epoch_name else name, *cells) for name, *cells in _knee_rows(verdict)]
    return Table(_KNEE_TITLES, found, words=(0, 4, 5))


def _knee_rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    capacity = verdict.capacity
    if capacity.knee is not None:
        se_rps = capacity.curve.capacity_se_rps if capacity.curve is not None else None
        yield _knee(capacity.knee, None if se_rps is None else Z95 * se_rps)
        if capacity.knee.peak is not None:
            peak = capacity.knee.peak
            fall = f"goodput {wording.FALLS[peak.shape]} by {numbers.percent_in_full(peak.fall_ratio)}"
            users, goodput = numbers.users_of_level(peak.users), significant(peak.goodput_rps)
            yield "peak", users, MISSING, goodput, fall, MISSING
    if capacity.latency_knee is not None:
        yield _knee(capacity.latency_knee, None)
    yield from map(_objective, verdict.slo)
    if verdict.rates is not None and verdict.rates.capacity is not None:
        yield _rate(verdict.rates.capacity)
    for each in verdict.rates.objectives if verdict.rates is not None else ():
        yield wording.rate_objective(each), *[MISSING] * 4, _few(each)


def _knee(knee: KneeVerdict, error_rps: float | None) -> tuple[str, ...]:
    sure = knee.confidence or MISSING
    interval = _interval(knee.users_low, knee.users_high) if knee.kind == "knee" else MISSING
    sentence = {"at_or_below": "at or below ", "no_knee": "none up to "}.get(knee.kind, "")
    return (
        "knee" if knee.kind in ("at_or_below", "no_knee") else wording.MARK_KINDS[knee.kind],
        sentence + numbers.users(knee.users),
        interval,
        MISSING if knee.capacity_rps is None else numbers.with_error(knee.capacity_rps, error_rps),
        (knee.limit or MISSING).replace("_", " ") if knee.kind in ("knee", "no_knee") else MISSING,
        ", ".join(filter(None, (sure, wording.verified(knee)))),
    )


def _objective(slo: SloVerdict) -> tuple[str, ...]:
    users = {"crossed": "", "kept": "at least ", "broken": "under "}[slo.state]
    at = slo.users_high if slo.state == "broken" else slo.users
    interval, goodput = _interval(slo.users_low, slo.users_high), significant(slo.goodput_rps)
    return wording.objective_name(slo), users + numbers.users(at), interval, goodput, MISSING, _few(slo)


def _rate(found: RateCapacity) -> tuple[str, ...]:
    """The row of a capacity as a rate, which is in the column of goodput. If only a bound is known, words say which."""
    words = {"capacity": "", "departs": "above ", "at_or_below": "below ", "keeps_up": "at least "}[found.kind]
    at = found.kept_per_s if found.kind == "departs" else found.high_per_s if found.kind == "at_or_below" else found.per_s
    interval = MISSING
    if found.kind == "capacity" and found.low_per_s is not None and found.high_per_s is not None:
        interval = f"{significant(found.low_per_s)}–{significant(found.high_per_s)}"
    limit = (found.limit or MISSING).replace("_", " ")
    return "capacity as a rate", MISSING, interval, words + significant(at), limit, found.confidence or MISSING


def _few(found: SloVerdict | RateObjective) -> str:
    return "few values at its limit" if found.thin else MISSING


def _interval(low: float | None, high: float | None) -> str:
    return MISSING if low is None or high is None else f"{numbers.users(low)}–{numbers.users(high)}"


# -- settings ------------------------------------------------------------------------------------------------------------------
# The table of settings that follow from what was found, epoch by epoch, as plain text.


def settings(timeline: Timeline) -> Table:
    """One row for each setting that can be derived; none without a load to operate at."""
    return Table(("setting", "value", "why"), wording.settings(timeline), words=(0, 1, 2))


# -- metrics of a locustfile ---------------------------------------------------------------------------------------------------


ABOUT_METRICS = (
    "Events that the locustfile fired beside its requests: in none of the other tables. Values are what it gave as the response "
    "time, lengths what it gave as the response length; their units are its own."
)


def metrics(timeline: Timeline) -> Table:
    """One row for each metric at each level or bin of a ramp; none without metrics."""
    titles = ("metric", "load", "events", "/s", "failed", "mean", "p50", "p95", "p99", "max", "mean length")
    return Table(titles, [_metric(*each) for each in metric_levels(timeline)], words=(0,))


def _metric(row: ReportedLevel, each: LevelEndpoint) -> tuple[str, ...]:
    value, seconds = value_of(each), row.figures.settled_seconds
    return (
        f"{each.method} {each.name}".strip(),
        quantities.load_in_column(row.users, row.offered_per_s),
        significant(each.requests),
        significant(each.requests / seconds if seconds else None),
        significant(each.failures),
        *map(significant, (value.mean, value.p50, value.p95, value.p99, value.max)),
        significant(each.mean_bytes),
    )


# -- rate table ----------------------------------------------------------------------------------------------------------------
# The table of levels of offered rates, as plain text. Their capacity is in the table of knees (`knees`).


_ITERATIONS = ("offered", "settled s", "planned", "goodput /s", "failed", "dropped", "in flight at end")
_LATENCIES = ("from plan p50", "p95", "p99", "service p99", "late p99")

ABOUT = (
    "Iterations, on a schedule that waits for no reply. From plan: from the moment that the schedule gave to the end of "
    "the task, so it holds the wait for a user; service: of requests alone. Late: by how much the schedule itself was late. "
    "Of a ramp, the seconds with about the same rate are one row; they are judged once it has ended."
)


def about_rates(timeline: Timeline) -> str:
    """What the columns of the table are, for the line below it."""
    return f"{ABOUT} {STAGES_NOTE}" if timeline.stages else ABOUT


def rates(timeline: Timeline) -> Table:
    """One row for each rate level or bin of a ramp, in the order of the session; none without such levels."""
    found: list[tuple[str, ...]] = []
    verdicts = wording.reported(timeline)
    for level in timeline.levels:
        if isinstance(level.load, Users):
            continue
        verdict = verdicts.get(level.opened.epoch)
        judged = verdict.rates.levels if verdict is not None and verdict.rates is not None else ()
        state = next((each for each in judged if each.level == level.opened.index), None)
        found += _rate_rows(level, state, has_streams=bool(timeline.stages))
    of_streams = stage_titles(timeline)
    titles = (*_ITERATIONS, *map(latency_title, _LATENCIES), *of_streams, "state")
    return Table(titles, found, words=(len(titles) - 1,))


_OUTSIDE: Mapping[Why | None, str] = {"stacks": "stacks sampled", "experiment": "an experiment"}
"""Levels that no verdict is about."""


def _rate_rows(level: Level, state: RateLevelVerdict | None, *, has_streams: bool) -> list[tuple[str, ...]]:
    if level.opened.ramp and level.bins:
        return [_line(part.figures, part.figures.offered, "ramp", has_streams=has_streams) for part in level.bins]
    unjudged = _OUTSIDE.get(level_use(level, None).why, MISSING) if level.figures.settled else "not settled"
    words = wording.rate_level(state) if state is not None else unjudged
    return [_line(level.figures, level.figures.offered, words, level.load.per_s, has_streams=has_streams)]


def _line(
    found: LevelFigures, offered: OfferedFigures | None, words: str, per_s: float | None = None, *, has_streams: bool
) -> tuple[str, ...]:
    p95s = (latency_in_column(latency_of_kind(found, stage).p95) for stage in TABLED)
    of_streams = (significant(found.tokens_per_s), *p95s) if has_streams else ()
    if offered is None:
        missing = [MISSING] * (len(_ITERATIONS) + len(_LATENCIES) + len(of_streams) - 1)
        return quantities.load_in_column(0, per_s), *missing, words
    error = None if offered.finished_se_per_s is None else Z95 * offered.finished_se_per_s
    ended, latency = offered.finished + offered.failed, offered.from_plan_ms
    return (
        quantities.load_in_column(0, offered.offered_per_s),
        significant(found.settled_seconds),
        significant(offered.planned),
        numbers.with_error(offered.finished_per_s, error),
        numbers.percent_in_full(offered.failed / ended if ended else None),
        significant(offered.dropped.total),
        significant(offered.in_flight),
        latency_in_column(latency.p50),
        latency_in_column(latency.p95),
        latency_in_column(latency.p99),
        latency_in_column(found.latency_ms.p99),
        latency_in_column(offered.late_p99_ms),
        *of_streams,
        words,
    )
