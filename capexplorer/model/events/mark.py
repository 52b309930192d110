"""What analysis found: marks, and the verdict on an epoch's capacity."""

from __future__ import annotations

from typing import Literal

from ..findings import AnyFinding, MarkKind, kind_of
from ..grades import Confidence, Severity
from ..verdicts import CapacityVerdict, EndpointDeparture, RegimeVerdict, SloVerdict
from .event import Event


class Mark(Event, frozen=True, kw_only=True, tag="mark"):
    """A finding, and since when it stands. Superseded by one with the same `key` and a higher `revision`; never edited."""

    key: str
    revision: int = 1
    state: Literal["open", "updated", "closed", "retracted"]
    finding: AnyFinding
    epoch: int = 0
    users: float | None = None
    severity: Severity = "info"
    confidence: Confidence | None = None

    @property
    def kind(self) -> MarkKind:
        """Of the finding."""
        return kind_of(self.finding)

    @property
    def id(self) -> str:
        """What was found: of a cause, a bottleneck or a leak an id of the catalogue."""
        return self.finding.id


class Verdict(Event, frozen=True, kw_only=True, tag="verdict"):
    """All that is known of one epoch's capacity from this moment on: what curves are drawn from. Findings are marks."""

    epoch: int = 0
    capacity: CapacityVerdict = CapacityVerdict()
    slo: tuple[SloVerdict, ...] = ()
    recovery_levels: tuple[int, ...] = ()
    """Indices of levels on the way down from overload, which feed no fit."""
    regimes: tuple[RegimeVerdict, ...] = ()
    """In the order they began, where the service changed in time; empty: it did not."""
    held_levels: tuple[int, ...] = ()
    """Indices of levels in which other processes held the CPU that service or generator needed."""
    left_out_levels: tuple[int, ...] = ()
    """Those of `held_levels` that feed no fit, because they show nothing about the service."""
    partial_levels: tuple[int, ...] = ()
    """Indices of settled levels whose figures cover only a part of their users, which feed no fit either."""
    first_endpoint: EndpointDeparture | None = None
    """The endpoint that leaves the low-load line first."""
