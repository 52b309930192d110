"""What a service is required to do, and what a run answers. One type a figure, so that each field has one unit."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from .load import Load
from .readings import Reading
from .stages import Stage

Positive = Annotated[float, Meta(gt=0)]

# -- requirements


class CapacityRequired(msgspec.Struct, frozen=True, tag="capacity"):
    """The service completes at least this many requests a second, or iterations where rates are offered."""

    per_s: Positive


class KneeRequired(msgspec.Struct, frozen=True, tag="knee"):
    """Goodput grows in proportion to users up to at least this many."""

    users: Positive


class PercentileRequired(msgspec.Struct, frozen=True, tag="percentile"):
    """At a load, this percentage of successful replies takes at most so long; at an offered rate that is the time from plan."""

    percent: Annotated[float, Meta(gt=0, lt=100)]
    most_ms: Positive
    load: Load
    stage: Stage | None = None
    """It is about this stage of replies that are streams, from the start of their requests; None: about the whole."""


class FailuresRequired(msgspec.Struct, frozen=True, tag="failures"):
    """At a load, at most this share of requests fails; at an offered rate it is that of iterations, dropped ones included."""

    most: Annotated[float, Meta(gt=0, lt=1)]
    load: Load


EXAMPLES = (
    "capacity >= 100/s", "knee >= 40", "p95 <= 300ms @ 50 users", "ttft p95 <= 500ms @ 20 users", "failures <= 0.1% @ 80/s",
)  # fmt: skip
"""As requirements are typed."""

Requirement = CapacityRequired | KneeRequired | PercentileRequired | FailuresRequired
LoadRequirement = PercentileRequired | FailuresRequired
"""Those about one load."""

# -- answers: `met` and `not_met` if the whole interval is on one side of the bound, else `undecided`

State = Literal["met", "not_met", "undecided"]


class CapacityAnswer(Reading, frozen=True, kw_only=True, tag="capacity"):
    """`low_per_s`, `high_per_s`: the 90% interval of the verdict; None: not bounded on that side."""

    required: CapacityRequired
    state: State = "undecided"
    per_s: float | None = None
    low_per_s: float | None = None
    high_per_s: float | None = None


class KneeAnswer(Reading, frozen=True, kw_only=True, tag="knee"):
    """`low_users`, `high_users`: the 90% interval of the verdict; None: not bounded on that side."""

    required: KneeRequired
    state: State = "undecided"
    users: float | None = None
    low_users: float | None = None
    high_users: float | None = None


class PercentileAnswer(Reading, frozen=True, kw_only=True, tag="percentile"):
    """`low_ms`, `high_ms`: all bounds that are still undecided lie between them; None: not bounded on that side."""

    required: PercentileRequired
    state: State = "undecided"
    ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    replies: int = 0
    """Successful replies that were counted."""
    seconds: float = 0.0
    """In which they came."""


class FailuresAnswer(Reading, frozen=True, kw_only=True, tag="failures"):
    """`low`, `high`: all shares that are still undecided lie between them."""

    required: FailuresRequired
    state: State = "undecided"
    share: float | None = None
    low: float = 0.0
    high: float = 1.0
    requests: int = 0
    """Requests that were counted, failed ones included."""
    seconds: float = 0.0
    """In which they ended."""


Answer = CapacityAnswer | KneeAnswer | PercentileAnswer | FailuresAnswer


def unanswered(required: Requirement) -> Answer:
    """The answer to a requirement of which nothing is known."""
    match required:
        case CapacityRequired():
            return CapacityAnswer(required=required)
        case KneeRequired():
            return KneeAnswer(required=required)
        case PercentileRequired():
            return PercentileAnswer(required=required)
        case FailuresRequired():
            return FailuresAnswer(required=required)
