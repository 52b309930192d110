"""An occurrence: a cause in one tick, from failures, a resolved symptom or a harmful state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...model.events import FailureTick, Sample
from ...model.findings import Readings
from ...model.grades import Confidence, Severity
from ...model.load import Load
from .confirmation import Proof
from .resolve import Resolved, Symptom
from .target_log import Logged

Counted = Literal["failures", "retried", "seconds", "deaths"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A cause in one tick."""

    t_s: float
    load: Load
    count: int = 1
    counted: Counted = "failures"
    endpoint: str = ""
    example: str = ""
    logged: Logged = Logged()
    """A line of the target's own log that may explain it."""
    readings: Readings = field(default_factory=dict)
    check: str | None = None
    """Name of the user's own check that failed."""
    statuses: Mapping[str, int] = field(default_factory=dict)
    symptoms: Mapping[str, int] = field(default_factory=dict)
    """Failures by symptom, if the cause is unknown."""
    unavailable: tuple[str, ...] = ()
    """Readings that could not be taken."""
    competing: tuple[str, ...] = ()
    """Ids of other causes that the readings confirm too."""
    severity: Severity | None = None
    """None: that of the catalogue."""
    confidence: Confidence = "high"


def second_of(sample: Sample, found: Proof) -> Occurrence:
    """A harmful state that readings show in the second of a sample."""
    return Occurrence(
        t_s=sample.t_s,
        load=sample.load,
        counted="seconds",
        example=str(found.readings.get("blocked_at", "")),
        readings=found.readings,
        unavailable=found.unread,
    )


def occurrence_of(symptom: Symptom, found: Resolved, example: str) -> Occurrence:
    """The failures of a symptom, with the cause that was found."""
    return Occurrence(
        t_s=symptom.t_s,
        load=symptom.load,
        count=symptom.count,
        counted="retried" if symptom.hidden else "failures",
        endpoint=symptom.endpoint,
        example=example,
        symptoms={symptom.id: symptom.count} if found.id == "unknown" else {},
        readings=found.readings,
        unavailable=found.unavailable,
        competing=found.competing,
        severity=found.severity,
        confidence=found.confidence,
    )


def statuses_of(failure: FailureTick) -> dict[str, int]:
    """The failures by HTTP status; empty without a reply."""
    status = failure.signature.status
    return {} if status is None else {str(status): failure.count}
