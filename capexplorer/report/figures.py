"""Figures as text, for Markdown, HTML and pictures. A figure that was not measured is a dash, never a zero."""

from __future__ import annotations

import math

from ..wording import numbers
from ..wording.quantities import latency_below_title, offered_rate

MISSING = numbers.MISSING


def number(value: float | None, digits: int = 3) -> str:
    """Rounded to `digits` significant digits, but all digits before the point are kept: 0.0213, 4.07, 5, 12,345."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == int(value):
        return f"{value:,.0f}"
    rounded = float(f"{value:.{digits - 1}e}")  # first: 9.996 has one digit before the point, 10.0 two
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:,.{decimals}f}"


def with_error(value: float | None, error: float | None) -> str:
    """A value with `error`, half of its 95% interval, both to the error's second digit (at most 3 decimals): `141.4 ± 2.1`;
    without an error `141 ± –`.
    """
    if value is None:
        return MISSING
    if error is None:
        return f"{number(value)} ± {MISSING}"
    decimals = 1 if error <= 0 else min(3, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"


def latency(value_ms: float | None) -> str:
    """A latency in a table, where the title of the column names its unit (`quantities.latency_title`)."""
    return latency_below_title(value_ms, number)


def percent(ratio: float | None) -> str:
    """`0%`, `0.12%`, `34.1%`."""
    return MISSING if ratio is None else f"{number(100 * ratio)}%"


def users(value: float) -> str:
    """A level's user count, or the mean of a ramp's bin, which may have a fraction: `1,200`, `37.5`."""
    return f"{int(value):,}" if value == int(value) else f"{value:,.1f}"


def load(users_wanted: float, offered_per_s: float | None) -> str:
    """A level's user count, or its offered rate: `200/s`."""
    return users(users_wanted) if offered_per_s is None else offered_rate(offered_per_s)


def rate_with_error(per_s: float | None, error_per_s: float | None) -> str:
    """`141.4 ± 2.1/s`."""
    return f"{with_error(per_s, error_per_s)}/s"


def span(seconds: float) -> str:
    """A duration: 12 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
