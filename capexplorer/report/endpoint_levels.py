"""The rows of every table of endpoints by level: each endpoint at each level and bin of a ramp. Figures are formatted elsewhere.

If a session has only one endpoint, its figures equal those of the levels, and pages and Markdown leave the table out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import wording
from ..model.figures import LevelEndpoint
from ..model.timeline import Timeline
from ..model.verdicts import EndpointDegradation
from .rows import P95_LEAST, P99_LEAST, ReportedLevel, level_rows

Degradations = tuple[EndpointDegradation, ...]
"""The endpoint of one epoch that degrades first with users, and the one that does with the offered rate."""


@dataclass(frozen=True, slots=True)
class EndpointAtLevel:
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
