"""The stages of a request whose reply is a stream: latencies beside that of the whole request, what comes in it, and the limits
on a single request, within which it counts as goodput.

A stream is a sequence of events: those of server-sent events, lines, or the chunks of a language model. Where a reply says how
many tokens it had, these are counted, else each event counts as one. The abbreviations are those of tools for language models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Protocol, get_args

import msgspec

from .intervals import Latency
from .readings import Reading

StreamKind = Literal["sse", "lines", "openai"]
"""How a stream is divided into events: server-sent events, lines, or the chunks of a completion by OpenAI's API."""

Stage = Literal["ttfb", "ttft", "tpot", "itl"]
"""`ttfb`: from the request's start to the first byte of its reply. `ttft`: to its first event or token that is not empty.
`tpot`: time per further token, from the first event to the last one / (tokens - 1), one value per request with at least two.
`itl`: the time between two consecutive events, as many values as there are gaps."""

STAGES: tuple[Stage, ...] = get_args(Stage)
"""In the order in which they are shown."""

TABLED: tuple[Stage, ...] = ("ttft", "tpot")
"""Those that tables with few columns have; most often ttfb is close to ttft, and itl to tpot."""

LatencyKind = Literal["total"] | Stage
"""`total`: of the whole request, which each one has. So a latency is chosen, on the screen and in exports."""

LATENCY_KINDS: tuple[LatencyKind, ...] = ("total", *STAGES)
"""In the order in which they are shown."""


def qualified(kind: LatencyKind, name: str) -> str:
    """The name of a figure of this latency: `p95` of whole requests, of a stage with its name before it."""
    return name if kind == "total" else f"{kind}_{name}"


class RequestStages(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The stages of one request, in ms. None: it had no such stage, since the reply ended or failed before."""

    ttfb_ms: float | None = None
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    gaps_ms: tuple[float, ...] = ()
    """Its values of `itl`."""
    tokens: int = 0
    """Tokens of its reply, or its events."""

    @property
    def values_ms(self) -> tuple[tuple[float, ...], ...]:
        """The values of each stage, in the order of STAGES."""
        single = (self.ttfb_ms, self.ttft_ms, self.tpot_ms)
        return *(() if value is None else (value,) for value in single), self.gaps_ms


LimitName = Literal["ttft", "tpot", "total"]
"""A limit on a single request: on a stage of it, or on the whole."""

LIMIT_NAMES: tuple[LimitName, ...] = get_args(LimitName)
"""In the order in which a request reaches them."""


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a request may take to count as goodput, in ms. None: no limit."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    total_ms: float | None = None

    @property
    def are_set(self) -> bool:
        """Whether there is one."""
        return any(self.by_name.values())

    @property
    def by_name(self) -> dict[LimitName, float]:
        """Those that are set, in ms."""
        known = zip(LIMIT_NAMES, (self.ttft_ms, self.tpot_ms, self.total_ms), strict=True)
        return {name: most_ms for name, most_ms in known if most_ms is not None}

    def broken_by(self, total_ms: float, stages: RequestStages | None) -> tuple[LimitName, ...]:
        """The limits that a request exceeds. One on a stage that it did not have is met."""
        first_ms, further_ms = (None, None) if stages is None else (stages.ttft_ms, stages.tpot_ms)
        pairs = ((self.ttft_ms, first_ms), (self.tpot_ms, further_ms), (self.total_ms, total_ms))
        return tuple(
            name
            for name, (most_ms, took_ms) in zip(LIMIT_NAMES, pairs, strict=True)
            if most_ms is not None and took_ms is not None and took_ms > most_ms
        )


def request_limits_in(profile: Mapping[str, Any]) -> RequestLimits | None:
    """Those that the profile in a session's header sets; None: there are none."""
    table = profile.get("slo")
    known = table if isinstance(table, Mapping) else {}
    given = {f"{name}_ms": known.get(f"{name}_ms") for name in LIMIT_NAMES}
    found = RequestLimits(**{key: float(ms) for key, ms in given.items() if isinstance(ms, int | float) and ms > 0})
    return found if found.are_set else None


class StageTick(Reading, frozen=True, kw_only=True):
    """One stage of an endpoint's successes in one tick."""

    latency: str | None = None
    """HdrHistogram V2, base64, microseconds."""
    sum_ms: Annotated[float, msgspec.Meta(ge=0, le=1e15)] = 0.0
    """Exact sum of the values."""


class StageFigures(Reading, frozen=True, kw_only=True):
    """One stage over the settled seconds of a level."""

    ms: Latency = Latency()
    latency: str | None = None
    """HdrHistogram V2, base64, microseconds; only in the event that closes a level."""


class Recorded(Protocol):
    """Whatever has a histogram of latencies."""

    @property
    def latency(self) -> str | None:
        """As text; None: it has no value."""


class RecordedByStage(Recorded, Protocol):
    """An endpoint in a second, or over a level."""

    @property
    def stages(self) -> Mapping[Stage, Recorded]:
        """Of successes whose replies are streams."""


def recorded(endpoint: RecordedByStage, kind: LatencyKind) -> str | None:
    """The endpoint's histogram of this latency, as text; None: it has none."""
    found = endpoint if kind == "total" else endpoint.stages.get(kind)
    return None if found is None else found.latency


def texts(endpoints: Iterable[RecordedByStage], kind: LatencyKind) -> list[str]:
    """The histograms of this latency of all endpoints that have one."""
    return [text for each in endpoints if (text := recorded(each, kind))]
