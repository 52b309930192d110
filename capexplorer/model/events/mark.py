"""What analysis found: marks, and the verdict on an epoch's capacity."""

from __future__ import annotations

from typing import Literal

import msgspec

from ..findings import AnyFinding, MarkKind, kind_of
from ..grades import Confidence, Severity
from ..rate_verdicts import RateCapacity, RateVerdict
from ..verdicts import CapacityVerdict, EndpointDegradation, RegimeVerdict, SloVerdict
from .event import Event


class Mark(Event, frozen=True, kw_only=True, tag="mark"):
    """A finding with its time. A mark is never edited; one with the same `key` and a higher `revision` supersedes it."""

    key: str
    revision: int = 1
    state: Literal["open", "updated", "closed", "retracted"]
    finding: AnyFinding
    epoch: int = 0
    users: float | None = None
    """At a level of users."""
    offered_per_s: float | None = None
    """At a level of an offered rate; its users are as many as the rate needed, and not what was asked for."""
    severity: Severity = "info"
    confidence: Confidence | None = None

    @property
    def kind(self) -> MarkKind:
        """Of the finding."""
        return kind_of(self.finding)

    @property
    def id(self) -> str:
        """The finding's id; for a cause, a bottleneck or a leak an id of the catalogue."""
        return self.finding.id


class Verdict(Event, frozen=True, kw_only=True, tag="verdict"):
    """The current results on one epoch's capacity, from which curves are drawn. Findings are marks."""

    epoch: int = 0
    capacity: CapacityVerdict = CapacityVerdict()
    rates: RateVerdict | None = None
    """On the axis of offered rates; levels of users never contribute to it, nor rate levels to `capacity`."""
    slo: tuple[SloVerdict, ...] = ()
    recovery_levels: tuple[int, ...] = ()
    """Indices of levels of recovery from overload, which the fit does not use."""
    regimes: tuple[RegimeVerdict, ...] = ()
    """In the order they began, if the service changed; empty: it did not."""
    disturbed_levels: tuple[int, ...] = msgspec.field(name="held_levels", default=())
    """Indices of levels in which other processes used CPU that service or generator needed."""
    left_out_levels: tuple[int, ...] = ()
    """Those of `disturbed_levels` that the fit does not use, because they do not describe the service."""
    partial_levels: tuple[int, ...] = ()
    """Indices of settled levels whose figures cover only a part of their users, which the fit does not use either."""
    first_endpoint: EndpointDegradation | None = None
    """The endpoint that degrades first."""

    @property
    def rate_capacity(self) -> RateCapacity | None:
        """The capacity as a rate, if its maximum was measured; None: it is not known."""
        found = self.rates.capacity if self.rates is not None else None
        return found if found is not None and found.kind == "capacity" else None
