"""Figures inside sentences: numbers, sizes and durations as text."""

from __future__ import annotations

from typing import Any

from . import byte_units


def users(value: float | None) -> str:
    """A number of users: whole from ten on, two digits below: `1,250`, `47`, `8.9`."""
    return "–" if value is None else f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def counted(value: float | None) -> str:
    """`1 user`, `47 users`."""
    return f"{users(value)} user{'s' * (value != 1)}"


def load(users: float | None, offered_per_s: float | None) -> str:
    """`47 users`; of a rate level `80/s offered`."""
    return counted(users) if offered_per_s is None else f"{number(offered_per_s)}/s offered"


def interval(low: float | None, high: float | None) -> str:
    """`[43–52]`."""
    return f"[{users(low)}–{users(high)}]"


def number(value: object) -> str:
    """Three significant digits, more if the number is 1,000 or greater: `0.42`, `122`, `12,345`."""
    if not isinstance(value, int | float):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(ratio: float) -> str:
    """`0.4%`, `97%`."""
    return f"{ratio * 100:.0f}%" if ratio >= 0.0995 else f"{ratio * 100:.2g}%"


def size(value: float) -> str:
    """Bytes: `512 B`, `142 MiB`."""
    unit = byte_units.unit_of(value)
    return f"{number(round(byte_units.in_unit(value, unit), 1))} {unit}"


def span(seconds: float) -> str:
    """A duration: `12 s`, `3 min 20 s`, `2 h 5 min`, `4 days`."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 600 else f"{whole // 60} min"
    if whole < 172_800:
        return f"{whole // 3600} h {whole % 3600 // 60} min" if whole < 36_000 else f"{whole // 3600} h"
    return f"{whole // 86_400} days"


def figure(value: Any) -> str:
    """A reading whose unit is not known."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
