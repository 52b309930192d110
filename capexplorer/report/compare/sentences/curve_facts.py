"""The texts on one curve: its session, its client overhead, its knee, its marks."""

from __future__ import annotations

from .... import wording
from ....model.events import ClientOverhead, Mark
from ....model.findings import Cause
from ....model.intervals import Z95
from ....wording import numbers, quantities, units
from ... import figures
from ..comparison import Curve
from .cells import MISSING


def curve(one: Curve) -> str:
    """Name, title and label of the session, and whether it was cut short."""
    parts = [one.name]
    if one.title:
        parts.append(one.title)
    if one.label:
        parts.append(f"[{one.label}]")
    if not one.complete:
        parts.append("(cut short)")
    return "  ".join(parts)


def began(one: Curve) -> str:
    """`2026-01-01 12:00:00 UTC`."""
    return wording.wall_time(one.started_at) or MISSING


def overheads(one: Curve) -> str:
    """The client overhead of each client class."""
    if not one.overheads:
        return "not measured"
    return ", ".join(f"{name} {_overhead(each)}" for name, each in sorted(one.overheads.items()))


def _overhead(measured: ClientOverhead) -> str:
    """`0.41 ms (p99 1.2)`."""
    unit = units.latency_unit_of(measured.p99_ms)
    return f"{numbers.number(measured.p50_ms / unit.in_ms)} {unit.name} (p99 {numbers.number(measured.p99_ms / unit.in_ms)})"


def knee(one: Curve) -> str:
    """`60 [55–65] users, 118.4 ± 4.7/s`, or what was found instead."""
    if not one.knee:
        return "none marked" if one.verdict is None else wording.knee(one.verdict)
    interval = "" if one.knee_users is None else f" {numbers.interval(*one.knee_users)}"
    capacity = one.knee["capacity"]
    error = None if capacity.se is None else Z95 * capacity.se
    rate = quantities.rate(capacity.value, figures.number) if error is None else figures.rate_with_error(capacity.value, error)
    return f"{numbers.users(one.knee['knee'].value)}{interval} users{'' if capacity.value is None else f', {rate}'}"


def marked(one: Curve) -> str:
    """The marks: `the service's CPU is saturated (GIL) at 60 users; connections are reset at 80 users, 412 ×`."""
    return "; ".join(map(_marked, one.marks)) or MISSING


def failures(one: Curve) -> frozenset[str]:
    """The kinds of failed requests that were marked: `bad gateway (HTTP 502)`."""
    return frozenset(wording.title(mark) for mark in one.marks if isinstance(mark.finding, Cause) and mark.finding.count)


def _marked(mark: Mark) -> str:
    counted = wording.counted(mark.finding)
    return f"{wording.title(mark)}{wording.at_load(mark)}{f', {counted}' if counted else ''}"
