"""The results of analysis: marks, and verdicts on the capacity of an epoch."""

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
    """The load, if the finding is about users."""
    offered_per_s: float | None = None
    """The load, if the finding is about offered rates; iterations a second."""
    severity: Severity = "info"
    confidence: Confidence | None = None

    @property
    def kind(self) -> MarkKind:
        """The kind of the finding."""
        return kind_of(self.finding)

    @property
    def id(self) -> str:
        """The finding's id; for a cause, a bottleneck or a leak an id of the catalogue."""
        return self.finding.id


class Verdict(Event, frozen=True, kw_only=True, tag="verdict"):
    """The current verdict on one epoch's capacity, from which curves are drawn."""

    epoch: int = 0
    capacity: CapacityVerdict = CapacityVerdict()
    rates: RateVerdict | None = None
    """The verdict on levels of offered rates. `capacity` is from levels of users only."""
    slo: tuple[SloVerdict, ...] = ()
    recovery_levels: tuple[int, ...] = ()
    """Indices of levels of recovery from overload, which the fit does not use."""
    regimes: tuple[RegimeVerdict, ...] = ()
    """Regimes in the order they began; empty if the service did not change."""
    disturbed_levels: tuple[int, ...] = msgspec.field(name="held_levels", default=())
    """Indices of levels in which other processes used CPU that service or generator needed."""
    left_out_levels: tuple[int, ...] = ()
    """Those of `disturbed_levels` that do not describe the service, so that the fit does not use them."""
    partial_levels: tuple[int, ...] = ()
    """Indices of settled levels that the fit does not use because their figures cover only a part of their users."""
    first_endpoint: EndpointDegradation | None = None
    """The endpoint that degrades first at levels of users; `rates` has that of offered rates."""

    @property
    def rate_capacity(self) -> RateCapacity | None:
        """The capacity as a rate; None if the maximum of goodput was not measured."""
        found = self.rates.capacity if self.rates is not None else None
        return found if found is not None and found.kind == "capacity" else None

    def first_to_degrade(self, *, at_rates: bool) -> EndpointDegradation | None:
        """The endpoint that degrades first, at levels of offered rates or of users; None if there is none."""
        if not at_rates:
            return self.first_endpoint
        return self.rates.first_endpoint if self.rates is not None else None
