"""The rows of every table of levels: one for each level, and one for each bin of a ramp. Each format formats the figures
itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from .. import wording
from ..model.events import LevelOpened
from ..model.figures import LevelBin, LevelEndpoint, LevelFigures
from ..model.intervals import PERCENTILE_VALUES_LEAST, Z95
from ..model.level import Level, Void
from ..model.level_use import level_uses
from ..model.load import Rate, Users
from ..model.timeline import Timeline
from ..model.verdicts import EndpointDegradation, Why

P95_LEAST, P99_LEAST = PERCENTILE_VALUES_LEAST["p95"], PERCENTILE_VALUES_LEAST["p99"]
"""Number of successes below which a percentile is shown in parentheses."""


Kind = Literal["step", "ramp", "rate"] | Why
"""`rate`: a constant offered rate. `ramp`: a ramp of users or of rates. The others are not part of a curve."""

SIGNS: dict[Kind, tuple[str, str]] = {
    "step": ("", ""),
    "rate": ("", ""),
    "ramp": ("~", "the seconds of a ramp with about this number of users."),
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
        """The offered rate, or the mean rate of a bin; None: a level of users."""
        return offered_rate(self.opened, self.figures)

    @property
    def successes(self) -> int:
        """Number of values from which its percentiles are computed."""
        return self.figures.requests - self.figures.failures

    @property
    def few_for_p95(self) -> bool:
        """Whether its p95 is computed from too few values. False if values were not counted."""
        return self.figures.counted and self.successes < P95_LEAST

    @property
    def few_for_p99(self) -> bool:
        """Whether its p99 is computed from too few values. False if values were not counted."""
        return self.figures.counted and self.successes < P99_LEAST

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


def offered_rate(opened: LevelOpened, figures: LevelFigures) -> float | None:
    """The rate of a level of offered rates, in iterations a second; of a bin of a ramp its mean. None: a level of users."""
    return figures.offered.offered_per_s if opened.ramp and figures.offered is not None else opened.load.per_s


def level_rows(timeline: Timeline) -> list[ReportedLevel]:
    """The rows of all levels, in the order of the session."""
    uses = level_uses(timeline)
    return [row for level in timeline.levels for row in _rows(level, timeline, uses[level.opened.index].why)]


def user_rows(timeline: Timeline) -> list[ReportedLevel]:
    """The rows of levels of users. Levels of offered rates have a table of their own (`tables`)."""
    return [row for row in level_rows(timeline) if isinstance(row.opened.load, Users)]


def sign_notes(kinds: Iterable[Kind]) -> list[str]:
    """What the signs of these kinds mean, for the line below a table; a kind without a sign has none."""
    present = set(kinds)
    return [f"{sign}: {meaning}" for kind, (sign, meaning) in SIGNS.items() if sign and kind in present]


def _rows(level: Level, timeline: Timeline, off_curve: Why | None) -> list[ReportedLevel]:
    ended_s = level.ended_s if level.ended_s is not None else timeline.last_s
    if not level.opened.ramp:
        return [
            ReportedLevel(
                level.opened,
                level.started_s,
                level.users,
                "rate" if isinstance(level.load, Rate) else off_curve or "step",
                level.settled_s,
                ended_s,
                level.figures,
                level.endpoints,
                void=level.void,
                off_curve=off_curve,
            )
        ]
    return [
        ReportedLevel(
            level.opened,
            level.started_s,
            bin_users(level, part),
            bin_kind(off_curve),
            level.settled_s,
            ended_s,
            part.figures,
            part.endpoints,
            n,
        )
        for n, part in enumerate(level.bins)
    ]


def bin_kind(kind: Why | None) -> Kind:
    """The kind of the bins of a ramp that is off the curve for this reason; None: it is not."""
    return kind if kind in ("other_service", "changed") else "ramp"


def bin_users(level: Level, part: LevelBin) -> float:
    """Users of a ramp's bin; 0 for a ramp of rates, since its pool does not measure the load."""
    return part.users if isinstance(level.load, Users) else 0.0


def epochs(rows: list[ReportedLevel]) -> list[int]:
    """Epochs with levels, in order; tables name them if there is more than one."""
    return sorted({row.opened.epoch for row in rows})


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
    def successes(self) -> int:
        """Number of values from which its percentiles are computed."""
        return self.endpoint.requests - self.endpoint.failures

    @property
    def goodput_rps(self) -> float | None:
        """Its successes a second."""
        return goodput_rps(self.endpoint, self.level.figures.settled_seconds)

    @property
    def failure_ratio(self) -> float | None:
        """Share of requests that failed, from 0 to 1; None without a request."""
        return self.endpoint.failures / self.endpoint.requests if self.endpoint.requests else None

    @property
    def few_for_p95(self) -> bool:
        """Whether its p95 is computed from too few values."""
        return self.successes < P95_LEAST

    @property
    def few_for_p99(self) -> bool:
        """Whether its p99 is computed from too few values."""
        return self.successes < P99_LEAST


def endpoint_levels(timeline: Timeline) -> list[EndpointAtLevel]:
    """The rows in the order of the session. Levels that never settled have none."""
    first = first_to_degrade(timeline)
    return [
        EndpointAtLevel(row, each, degrades_first(each, row.users, row.offered_per_s, first.get(row.opened.epoch, ())))
        for row in level_rows(timeline)
        if row.figures.settled
        for each in row.endpoints
    ]


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


def degrades_first(endpoint: LevelEndpoint, users: float, offered_per_s: float | None, first: Degradations) -> bool:
    """Whether this endpoint is the first to degrade and has degraded at this load: users, or an offered rate."""
    load = users if offered_per_s is None else offered_per_s
    own = (each for each in first if each.at_rates is (offered_per_s is not None))
    return any((each.method, each.name) == (endpoint.method, endpoint.name) and load >= each.users for each in own)


def goodput_rps(endpoint: LevelEndpoint, settled_seconds: float) -> float | None:
    """Its successes a second; None without settled seconds."""
    return (endpoint.requests - endpoint.failures) / settled_seconds if settled_seconds else None
