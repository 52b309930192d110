"""Figures as text: numbers, ratios, durations and times, in sentences and tables. `quantities` gives latencies, bytes and rates
their units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from ..model.intervals import Z95

MISSING = "–"
"""Not measured: never a zero."""

_HUGE = 9.995e14
"""From here on counts are shown as powers of ten: 1e15."""


def users(value: float | None) -> str:
    """A number of users: whole from ten on, two digits below: `1,250`, `47`, `8.9`."""
    return MISSING if value is None else f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def counted(value: float | None) -> str:
    """`1 user`, `47 users`."""
    return f"{users(value)} user{'s' * (value != 1)}"


def several(count: object, noun: str) -> str:
    """`1 level`, `2 levels`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def iterations(per_s: float) -> str:
    """An offered rate as a phrase: `1 iteration a second`, `1,250 iterations a second`."""
    return f"{per_s:,g} iteration{'s' * (per_s != 1)} a second"


def interval(low: float | None, high: float | None) -> str:
    """`[43–52]`."""
    return f"[{users(low)}–{users(high)}]"


def with_interval(value: float | None, low: float | None, high: float | None, words: Callable[[float], str]) -> str:
    """`212 ms [198–231 ms]`; with one end `212 ms (at least 198 ms)`, without a value `at least 198 ms`."""
    known = words(value) if value is not None else ""
    if low is not None and high is not None:
        unit = words(high).lstrip("0123456789.,")
        return f"{known} [{words(low).removesuffix(unit)}–{words(high)}]".strip()
    end = f"at least {words(low)}" if low is not None else f"at most {words(high)}" if high is not None else ""
    return f"{known} ({end})" if known and end else known or end


def number(value: object) -> str:
    """Three significant digits, more if the number is 1,000 or greater: `0.42`, `122`, `12,345`."""
    if not isinstance(value, int | float):
        return MISSING
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 or not value else f"{float(f'{value:.2e}'):.12f}".rstrip("0")


def three_digits(value: float | None, decimals: int = 2) -> str:
    """As many decimals as three digits carry, at most `decimals`, for columns: `0.42`, `4.20`, `42.1`, `421`, `4,210`."""
    if value is None or not math.isfinite(value):
        return MISSING
    size = abs(value)
    needed = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 or not size else 3 if size >= 0.09995 else 4
    return f"{value:,.{min(needed, decimals)}f}"


def count(value: float | None) -> str:
    """Whole things in at most six cells: `1,234`, then `12.3k`, `1.2M`."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) >= _HUGE:
        return f"{value:.0e}".replace("+", "")
    for scale, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= (10_000 if unit == "k" else scale * 0.99995):
            return f"{three_digits(value / scale)}{unit}"
    return f"{value:,.0f}"


def percent(ratio: float) -> str:
    """`0.4%`, `97%`."""
    return f"{ratio * 100:.0f}%" if ratio >= 0.0995 else f"{ratio * 100:.2g}%"


def span(seconds: float, *, in_full: bool = False) -> str:
    """A duration: `12 s`, `3 min 20 s`, `2 h 5 min`, `4 days`. `in_full`: to the second below an hour, else to the minute."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 600 or in_full else f"{whole // 60} min"
    if whole < 172_800 or in_full:
        return f"{whole // 3600} h {whole % 3600 // 60} min" if whole < 36_000 or in_full else f"{whole // 3600} h"
    return f"{whole // 86_400} days"


def figure(value: Any) -> str:
    """A reading whose unit is not known."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# -- in tables and pictures, which keep trailing zeros


def significant(value: float | None, digits: int = 3) -> str:
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
        return f"{significant(value)} ± {MISSING}"
    decimals = 1 if error <= 0 else min(3, max(0, 1 - math.floor(math.log10(error))))
    return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"


def percent_in_full(ratio: float | None) -> str:
    """`0%`, `0.12%`, `34.1%`."""
    return MISSING if ratio is None else f"{significant(100 * ratio)}%"


def users_of_level(value: float) -> str:
    """A level's user count, or the mean of a ramp's bin, which may have a fraction: `1,200`, `37.5`."""
    return f"{int(value):,}" if value == int(value) else f"{value:,.1f}"


def four_digits(value: float, decimals_most: int = 3) -> str:
    """As many decimals as four digits carry, for values that are compared: `0.123`, `4.20`, `421.0`, `4,210`."""
    size = abs(value)
    needed = 0 if size >= 999.95 else 1 if size >= 9.995 else 2 if size >= 0.0995 or not size else 3
    return f"{value:,.{decimals_most if 0 < size < 0.9995 and decimals_most > 3 else needed}f}"


def tick(value: float) -> str:
    """The label of an axis: 0, 0.5, 20, 1,500."""
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


# -- changes


def signed(words: str, change: float) -> str:
    """The words for the size of a change, with its sign; zero has none."""
    return words if not words.strip("0.,") else f"{'-' if change < 0 else '+'}{words}"


def signed_percent(share: float) -> str:
    """`+7.4%`, `-18%`, `0%`."""
    size = abs(share) * 100
    return signed(f"{size:.0f}" if size >= 99.95 else f"{size:.1f}", share) + "%"


def brief_percent(share: float) -> str:
    """The same for a headline: `+7.4%`, `+97%`."""
    return signed_percent(share) if abs(share) < 0.0995 else f"{signed(f'{abs(share) * 100:.0f}', share)}%"


# -- The two ways to write a time: seconds since the session's start, and wall-clock time with its time zone.


def session_time(t_s: float) -> str:
    """Time since the session's start: `01:23`, from one hour on `1:02:03`."""
    whole = max(0, int(t_s))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60:02}:{rest % 60:02}"


def during(began_s: float, ended_s: float) -> str:
    """`from 01:23 to 01:30`, `in the second 01:23`: a stretch of the session."""
    began, ended = session_time(began_s), session_time(ended_s)
    return f"from {began} to {ended}" if began != ended else f"in the second {began}"


def wall_time(written: str | None) -> str:
    """`2026-01-01 11:00:00 UTC` for an ISO 8601 time. A time without an offset stays as written; None gives ""."""
    try:
        moment = datetime.fromisoformat(written or "")
    except ValueError:
        return written or ""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment.tzinfo is not None else written or ""


def wall_time_at(started_at: str, t_s: float) -> str:
    """`2026-01-01T11:01:23Z`: the wall time at this second of a session that began then (ISO 8601 with offset), for logs; empty
    if that is not known.
    """
    try:
        began = datetime.fromisoformat(started_at)
    except ValueError:
        return ""
    return f"{began.astimezone(UTC) + timedelta(seconds=t_s):%Y-%m-%dT%H:%M:%SZ}" if began.tzinfo is not None else ""


# -- The notation of intervals and times, printed once in each export, in the screen's help and by `export --help`.

INTERVALS = f"± is half of a 95% interval ({Z95:g} standard errors). Brackets, [low–high], hold a 90% interval."

MOMENTS = "Times such as 01:23 or 1:02:03 count from the session's start; wall-clock times name their time zone."

CONVENTIONS = f"{INTERVALS} {MOMENTS}"
