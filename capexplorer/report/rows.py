"""The rows of every table of levels: one for each level, and one for each bin of a ramp. Each format formats the figures
itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from .. import wording
from ..model.events import LevelOpened
from ..model.figures import LevelEndpoint, LevelFigures, latency_of_kind
from ..model.intervals import PERCENTILE_VALUES_LEAST, Z95, Latency
from ..model.level import Level, Void
from ..model.level_use import level_uses
from ..model.load import Rate, Users
from ..model.stages import TABLED, Stage
from ..model.timeline import Timeline
from ..model.verdicts import EndpointDegradation, Why
from ..wording.quantities import LATENCY_NAMES, latency_title

Percentile = Literal["p95", "p99"]
"""A percentile that tables mark if it is computed from fewer values than PERCENTILE_VALUES_LEAST."""

Kind = Literal["step", "ramp", "rate"] | Why
"""`rate`: a constant offered rate. `ramp`: a ramp of users or of rates. The others are not part of a curve."""

SIGNS: dict[Kind, tuple[str, str]] = {
    "step": ("", ""),
    "rate": ("", ""),
    "ramp": ("~", "the seconds of a ramp with about this number of users."),
    "stacks": ("§", "the target's stacks were sampled, which costs CPU; not part of the curve."),
    "experiment": ("‡", "an experiment: something was changed beside the load; not part of the curve."),
    "recovery": ("↓", "recovery from overload, not part of the curve."),
    "disturbed": ("×", "other processes used the CPU; the row does not describe the service and is not part of the curve."),
    "other_service": (
        "≠",
        "the service was in another state than the one that the verdict is about; not part of the curve.",
    ),
    "changed": ("Δ", "the service changed during the level; the row mixes two states and is not part of the curve."),
    "unsteady": ("≈", "goodput varied too much for a mean, as while a backlog is worked off; not part of the curve."),
}
"""By kind: the sign before a level's load, and what it means."""


class ReportedLevel(msgspec.Struct, frozen=True):
    """A level, or one bin of a ramp. Times are seconds of the session."""

    opened: LevelOpened
    started_s: float
    users: float
    """0 at a rate level."""
    kind: Kind
    settled_s: float | None
    ended_s: float
    """The session's end for a level that is still open."""
    figures: LevelFigures
    endpoints: tuple[LevelEndpoint, ...]
    metrics: tuple[LevelEndpoint, ...]
    bin: int | None = None
    """Number of the bin of a ramp; None for a level."""
    void: Void | None = None
    """Why the level has no figures; None if it has."""
    off_curve: Why | None = None
    """Why it is not part of the curve of its load, of users or of offered rates; None if it is."""

    @property
    def marked_as(self) -> Kind:
        """The kind by whose sign tables mark its load: that of a rate level says why it is not part of the curve."""
        return self.off_curve or self.kind if self.kind == "rate" else self.kind

    @property
    def offered_per_s(self) -> float | None:
        """The offered rate in iterations a second, or the mean rate of a bin; None: a level of users."""
        is_mean = self.opened.ramp and self.figures.offered is not None
        return self.figures.offered.offered_per_s if is_mean and self.figures.offered else self.opened.load.per_s

    @property
    def latency_ms(self) -> Latency:
        """Of successes."""
        return self.figures.latency_ms

    def stage_ms(self, stage: Stage) -> Latency:
        """Of successes whose replies are streams."""
        return latency_of_kind(self.figures, stage)

    def has_few(self, percentile: Percentile) -> bool:
        """Whether this percentile is computed from too few values. False if values were not counted."""
        successes = self.figures.requests - self.figures.failures
        return self.figures.counted and successes < PERCENTILE_VALUES_LEAST[percentile]

    @property
    def requests(self) -> int | None:
        """Requests in settled seconds; None if the source has no counts."""
        return self.figures.requests if self.figures.counted else None

    @property
    def settled_seconds(self) -> float | None:
        """Settled seconds from which its figures are computed; None if it never settled or the source does not say."""
        return self.figures.settled_seconds if self.figures.settled and self.figures.counted else None

    @property
    def goodput_error_rps(self) -> float | None:
        """Half of the 95% interval of goodput; None if the error is unknown."""
        se_rps = self.figures.goodput_se_rps
        return None if se_rps is None else Z95 * se_rps


def level_rows(timeline: Timeline) -> list[ReportedLevel]:
    """The rows of all levels, in the order of the session."""
    uses = level_uses(timeline)
    return [row for level in timeline.levels for row in _rows(level, timeline, uses[level.opened.index].why)]


def user_rows(timeline: Timeline) -> list[ReportedLevel]:
    """The rows of levels of users. Levels of offered rates have a table of their own (`tables`)."""
    return [row for row in level_rows(timeline) if isinstance(row.opened.load, Users)]


def stage_titles(timeline: Timeline) -> list[str]:
    """Titles of the columns of streams in tables: tokens a second, and the p95 of stages; empty without streams."""
    return ["tokens /s", *(latency_title(f"{stage} p95") for stage in TABLED)] if timeline.stages else []


STAGES_NOTE = f"Of streams, {', '.join(f'{stage}: {LATENCY_NAMES[stage]}' for stage in TABLED)}."
"""What the abbreviations in these titles mean, for the line below a table."""


def sign_notes(kinds: Iterable[Kind]) -> list[str]:
    """What the signs of these kinds mean, for the line below a table; a kind without a sign has none."""
    present = set(kinds)
    return [f"{sign}: {meaning}" for kind, (sign, meaning) in SIGNS.items() if sign and kind in present]


def experiments_in_order(rows: Iterable[ReportedLevel]) -> list[str]:
    """What each row with the sign of an experiment changed: `‡ in order: as before, half the pauses, only GET /a.`; empty without
    one. Foreign text: names of endpoints.
    """
    changes = [wording.changed(row.opened.experiment) for row in rows if row.opened.experiment is not None]
    return [f"{SIGNS['experiment'][0]} in order: {', '.join(changes)}."] if changes else []


def _rows(level: Level, timeline: Timeline, off_curve: Why | None) -> list[ReportedLevel]:
    whole = ReportedLevel(
        opened=level.opened,
        started_s=level.started_s,
        users=level.users,
        kind="rate" if isinstance(level.load, Rate) else off_curve or "step",
        settled_s=level.settled_s,
        ended_s=level.ended_s if level.ended_s is not None else timeline.last_s,
        figures=level.figures,
        endpoints=level.endpoints,
        metrics=level.metrics,
        void=level.void,
        off_curve=off_curve,
    )
    if not level.opened.ramp:
        return [whole]
    ramp = replace(whole, kind=bin_kind(off_curve))
    by_users = isinstance(level.load, Users)  # the pool of a ramp of rates does not measure the load
    return [
        replace(
            ramp,
            users=part.users if by_users else 0.0,
            figures=part.figures,
            endpoints=part.endpoints,
            metrics=part.metrics,
            bin=number,
        )
        for number, part in enumerate(level.bins)
    ]


def bin_kind(kind: Why | None) -> Kind:
    """The kind of the bins of a ramp that is off the curve for this reason; None: it is not."""
    return kind if kind in ("other_service", "changed") else "ramp"


def epochs(rows: list[ReportedLevel]) -> list[int]:
    """Epochs with levels, in order; tables name them if there is more than one."""
    return sorted({row.opened.epoch for row in rows})


def metric_levels(timeline: Timeline) -> list[tuple[ReportedLevel, LevelEndpoint]]:
    """Each metric of a locustfile at each level and bin of a ramp, in the order of the session."""
    return [(row, each) for row in level_rows(timeline) if row.figures.settled for each in row.metrics]


def value_of(metric: LevelEndpoint) -> Latency:
    """What was given as the response time of a metric: empty if that was always 0."""
    return metric.latency_ms if metric.latency_ms.mean else Latency()


# -- endpoint levels -----------------------------------------------------------------------------------------------------------
# The rows of every table of endpoints by level: each endpoint at each level and bin of a ramp. Figures are formatted elsewhere.
#
# If a session has only one endpoint, its figures equal those of the levels, and pages and Markdown leave the table out.


Degradations = tuple[EndpointDegradation, ...]
"""The endpoint of one epoch that degrades first with users, and the one that does with the offered rate."""


class EndpointAtLevel(msgspec.Struct, frozen=True):
    """One endpoint over the settled seconds of one level."""

    level: ReportedLevel
    endpoint: LevelEndpoint
    degrades_first: bool
    """Whether this is the first endpoint of its epoch that degrades, and it has degraded by this level."""

    @property
    def latency_ms(self) -> Latency:
        """Of successes."""
        return self.endpoint.latency_ms

    def stage_ms(self, stage: Stage) -> Latency:
        """Of successes whose replies are streams."""
        return latency_of_kind(self.endpoint, stage)

    @property
    def tokens_per_s(self) -> float | None:
        """Those of its streams; None without settled seconds."""
        settled_s = self.level.figures.settled_seconds
        return self.endpoint.tokens / settled_s if settled_s else None

    @property
    def goodput_rps(self) -> float | None:
        """Its successes a second, within the limits on a single request; None without settled seconds."""
        settled_s = self.level.figures.settled_seconds
        return self.endpoint.good / settled_s if settled_s else None

    @property
    def failure_ratio(self) -> float | None:
        """Share of requests that failed, from 0 to 1; None without a request."""
        return self.endpoint.failures / self.endpoint.requests if self.endpoint.requests else None

    def has_few(self, percentile: Percentile) -> bool:
        """Whether this percentile is computed from too few values."""
        return self.endpoint.requests - self.endpoint.failures < PERCENTILE_VALUES_LEAST[percentile]


def endpoint_levels(timeline: Timeline) -> list[EndpointAtLevel]:
    """The rows in the order of the session. Levels that never settled have none."""
    first = first_to_degrade(timeline)
    return [
        each for row in level_rows(timeline) if row.figures.settled for each in endpoints_of(row, first.get(row.opened.epoch, ()))
    ]


def endpoints_of(row: ReportedLevel, first: Degradations) -> list[EndpointAtLevel]:
    """The endpoints of a level, of which those in `first` are the first of its epoch to degrade."""
    load = row.users if row.offered_per_s is None else row.offered_per_s
    degraded = {
        (each.method, each.name) for each in first if each.at_rates is (row.offered_per_s is not None) and load >= each.users
    }
    return [EndpointAtLevel(row, each, (each.method, each.name) in degraded) for each in row.endpoints]


def by_endpoint(rows: Sequence[EndpointAtLevel]) -> list[list[EndpointAtLevel]]:
    """The rows grouped by endpoint, the endpoint with most requests first."""
    found: dict[tuple[str, str], list[EndpointAtLevel]] = {}
    for row in rows:
        found.setdefault((row.endpoint.method, row.endpoint.name), []).append(row)
    return sorted(found.values(), key=lambda own: -sum(row.endpoint.requests for row in own))


def first_to_degrade(timeline: Timeline) -> Mapping[int, Degradations]:
    """The endpoints that degrade first in each epoch."""
    both = {
        epoch: [verdict.first_to_degrade(at_rates=at_rates) for at_rates in (False, True)]
        for epoch, verdict in wording.reported(timeline).items()
    }
    return {epoch: tuple(each for each in found if each is not None) for epoch, found in both.items()}
