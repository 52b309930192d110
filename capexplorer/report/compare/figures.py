"""The compared figures: their names, units, and which direction is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One column of a level."""

    name: str
    title: str
    unit: str
    better: Literal[-1, 0, 1]
    """1: higher is better; -1: lower is better; 0: neither."""


LEVEL_FIGURES = (
    Figure("goodput", "goodput", "/s", 1),
    Figure("throughput", "throughput", "/s", 0),
    Figure("mean", "mean", "ms", -1),
    Figure("p50", "p50", "ms", -1),
    Figure("p95", "p95", "ms", -1),
    Figure("p99", "p99", "ms", -1),
    Figure("failure_ratio", "failed", "%", -1),
    Figure("target_cpu", "target CPU", "cores", 0),
)
"""Throughput includes failures, so more of it may be worse and it has no better direction."""

KNEE_FIGURES = (Figure("knee", "knee", "users", 1), Figure("capacity", "capacity", "/s", 1))

SERVICE_TIME = Figure("service_time", "service time", "ms", -1)
"""A figure of the whole curve only (`across_levels.service_time_change`)."""

FIGURES = {figure.name: figure for figure in (*LEVEL_FIGURES, *KNEE_FIGURES, SERVICE_TIME)}

LATENCIES = ("mean", "p50", "p95", "p99")

HEADLINE_LATENCIES = ("p95", "mean", "p50")
"""Latencies of which a verdict names the first that differs, in this order."""

CLAIMED_FIGURES = ("goodput", "failure_ratio", "mean", "p95")
"""Figures of a user count that are tested for the verdict. p50 is shown but not tested, since it changes with the mean."""

CLAIMED_LATENCIES = ("mean", "p95")
"""Latencies that are tested over all user counts below the limit."""

CLAIMED_RATE_FIGURES = ("goodput", "failure_ratio", "p95")
"""Figures of an offered rate that are tested for the verdict."""
