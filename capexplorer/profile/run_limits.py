"""Limits of a run: it never exceeds `[guards]`; `[slo]` is reported; `[stop]` ends a plan or the autopilot."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from .values import USERS_MOST, WORKERS_MOST, AtLeast0, Ratio, Seconds, Table


class Guards(Table, frozen=True, kw_only=True):
    """Limits that capexplorer never exceeds."""

    max_users: Annotated[int, Meta(ge=1, le=USERS_MOST)] = 2_000
    """Users that no key, plan or autopilot exceeds."""
    max_workers: Annotated[int, Meta(ge=1, le=WORKERS_MOST)] | None = None
    """Worker processes that this run may start, also by key and by the autopilot. Default: as many as there are
    cores, at least 8."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts other than loopback to which load may be sent."""
    unattended_s: Seconds = 300.0
    """How long load by hand continues while no screen has the controls; 0: the run ends with its terminal."""


class Objectives(Table, frozen=True, kw_only=True):
    """Service level objectives: the highest load that meets each of them is reported."""

    p95_ms: AtLeast0 | None = None
    """Milliseconds that 95 of 100 successful requests must not exceed."""
    p99_ms: AtLeast0 | None = None
    """Milliseconds that 99 of 100 successful requests must not exceed."""
    failure_ratio: Ratio | None = None
    """Highest share of requests that fail: 0.01 is 1%."""


class MetricLimit(Table, frozen=True, kw_only=True):
    """A limit of one of the target's own metrics."""

    name: str
    """The metric's name in the JSON that the target serves."""
    over: float
    """Triggered when the metric's mean over five seconds exceeds this."""


class StopRules(Table, frozen=True, kw_only=True):
    """Limits that end a plan or the autopilot, checked once a level has been settled for six seconds."""

    p95_ms: AtLeast0 | None = None
    """Triggered when more than 5 of 100 successful requests take longer than this."""
    p99_ms: AtLeast0 | None = None
    """Triggered when more than 1 of 100 successful requests takes longer than this."""
    failure_ratio: Ratio | None = None
    """Triggered when a higher share of requests fails."""
    load_average: AtLeast0 | None = None
    """Triggered when the machine's load average over one minute is higher."""
    throughput_growth_ratio: AtLeast0 | None = None
    """Triggered when goodput has grown by less than this share of the growth of users since the next lower level (0: when it
    has not grown)."""
    latency_growth_ratio: AtLeast0 | None = None
    """Triggered when the mean latency has surely grown by more than this share since the lowest level; 0.5: by half."""
    metric: MetricLimit | None = None
    """A limit of one of the target's own metrics."""
