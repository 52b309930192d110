"""Round numbers: bounds, ticks and labels of axes, and the fixed pages of a time axis. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...wording import session_time
from ...wording.quantities import latency_below_title

BOUNDS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Multipliers of 10^k that may be the upper bound of an axis. There are more of them than of ticks (1, 2, 5), so that the highest
value lies at two thirds of the axis or above.
"""

STEPS = (1.0, 2.0, 5.0, 10.0)
"""Multipliers of 10^k that may be the distance between two ticks."""

DURATION_STEPS_S = (
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0,
    3600.0, 7200.0, 14400.0, 21600.0, 43200.0, 86400.0,
)  # fmt: skip
"""Distances between two ticks of a time axis, up to a day; from there on they double."""

SPANS_S = (
    60.0, 120.0, 180.0, 240.0, 300.0, 420.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0, 5400.0, 7200.0, 10_800.0, 14_400.0,
    21_600.0, 28_800.0, 43_200.0, 64_800.0, 86_400.0,
)  # fmt: skip
"""Lengths of the page that shows the whole session, up to a day; from there on they double. At most half as long again as the one
before, from two minutes on, so that at least two thirds of the page are used."""

LARGEST, SMALLEST = 1e300, 1e-12
"""Limits of values for which round bounds can be computed; no measured value comes near them."""

HUGE = 9.995e14
"""Values from which figures are shown as powers of ten: 1e15."""

FARTHEST_FRACTION = 1e4
"""Limit of the fraction of a value outside of the axis: far outside of any plot, and small enough to be counted in dots."""


class Axis(msgspec.Struct, frozen=True):
    """A scale from `low` to `high`, linear or logarithmic."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()
    """(value, label)."""
    log: bool = False

    def fraction(self, value: float) -> float:
        """The position of `value` on the axis: 0 at low, 1 at high, below 0 or above 1 outside. NaN for values without a
        position: NaN, infinity, and on a logarithmic axis 0 and below.
        """
        if not math.isfinite(value) or (self.log and value <= 0):
            return math.nan
        if self.log:
            fraction = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            fraction = (value - self.low) / (self.high - self.low)
        inside = -FARTHEST_FRACTION < fraction < FARTHEST_FRACTION
        return fraction if inside else math.copysign(FARTHEST_FRACTION, fraction)

    def fractions(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """`fraction` of each value."""
        placed = np.isfinite(values) & (values > 0 if self.log else True)
        known = values[placed]
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            known = (np.log(known) - low) / (high - low)
        else:
            known = (known - self.low) / (self.high - self.low)
        found = np.full(len(values), np.nan)
        found[placed] = np.clip(known, -FARTHEST_FRACTION, FARTHEST_FRACTION)
        return found


# -- labels

Label = Callable[[float], str]


def compact(value: float) -> str:
    """A tick's label: 0, 0.5, 150, 1.5k, 20M."""
    if abs(value) >= HUGE:
        return f"{value:.0e}".replace("+", "")
    scaled, suffix = _scaled(value, 1000)
    return f"{scaled:.4g}{suffix}"


def latency_tick(value_ms: float) -> str:
    """A tick's label on an axis of latency in the chosen unit: 150, 0.15; with it where no title names it: 150ms."""
    return latency_below_title(value_ms, compact).replace(" ", "")


def _scaled(value: float, least: float) -> tuple[float, str]:
    for suffix in ("", "k", "M", "G", "T"):
        if abs(value) < least or suffix == "T":
            return value, suffix
        value /= 1000
    raise AssertionError("unreachable")


# -- axes


def linear_axis(highest: float, most_ticks: int, label: Label = compact) -> Axis:
    """From 0 to the smallest round bound that is not below `highest`. The bound itself is a tick if a round step allows it."""
    high = round_bound(highest)
    return Axis(0.0, high, tuple((tick, label(tick)) for tick in ticks(0.0, high, most_ticks, ends=True)))


def count_axis(highest: float, most_ticks: int) -> Axis:
    """A `linear_axis` for counts: it reaches at least from 0 to 5, and only whole numbers are labelled."""
    axis = linear_axis(max(highest, 5.0), most_ticks)
    return Axis(axis.low, axis.high, tuple((tick, label) for tick, label in axis.ticks if tick == int(tick)))


def log_axis(lowest: float, highest: float, most_ticks: int, label: Label = compact) -> Axis:
    """From 1, 2 or 5 x 10^k at or below `lowest` to one at or above `highest`; at least one decade. Both values are above 0."""
    low, high = (min(max(value, SMALLEST), LARGEST) for value in (lowest, highest))
    low, high = _below(low), _above(high)
    if high < low * 10:
        high = _above(low * 9.9)
    return Axis(low, high, tuple((tick, label(tick)) for tick in log_ticks(low, high, most_ticks)), log=True)


def duration_axis(start_s: float, end_s: float, most_ticks: int) -> Axis:
    """A time axis in seconds of the session, with ticks at round times."""
    labelled = tuple((tick, session_time(round(tick))) for tick in duration_ticks(start_s, end_s, most_ticks))
    return Axis(start_s, end_s, labelled)


def round_bound(value: float) -> float:
    """The smallest of BOUNDS x 10^k that is not below `value`; 1 if `value` is not a finite number above 0."""
    if not 0 < value < math.inf:
        return 1.0
    value = min(max(value, SMALLEST), LARGEST)
    power = 10.0 ** math.floor(math.log10(value))
    return next((bound * power for bound in BOUNDS if value <= bound * power * (1 + 1e-9)), 10 * power)


def ticks(low: float, high: float, most: int, *, ends: bool = False) -> tuple[float, ...]:
    """At most `most` ticks in [low, high], at multiples of the smallest possible step of 1, 2 or 5 x 10^k.

    `ends`: prefer a larger step of which `high` is a multiple, so that `high` is a tick.
    """
    if not (high > low and most >= 1):
        return ()
    found = []
    for step in _steps((high - low) / most):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= most:
            found.append(tuple(_clean(index * step) for index in range(first, last + 1)))
    reaching = [candidate for candidate in found if ends and len(candidate) > 1 and math.isclose(candidate[-1], high)]
    return (reaching or found or [()])[0]


def log_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """At most `most` ticks in [low, high]: 1, 2 and 5 of each decade, or only 1, or 1 of every n-th decade. `low` is above 0."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    decades = range(first, last + 1)
    for powers, digits in ((decades, (1, 2, 5)), *((decades[::skip], (1,)) for skip in range(1, len(decades) + 1))):
        found = [digit * 10.0**power for power in powers for digit in digits]
        inside = tuple(_clean(tick) for tick in found if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9))
        if len(inside) <= most:
            return inside
    return ()


def duration_ticks(start_s: float, end_s: float, most: int) -> tuple[float, ...]:
    """At most `most` ticks in [start_s, end_s], at multiples of the shortest possible round duration."""
    if not (end_s > start_s and most >= 1):
        return ()
    for step in _duration_steps():
        first, last = math.ceil(start_s / step - 1e-9), math.floor(end_s / step + 1e-9)
        if last - first + 1 <= most:
            return tuple(index * step for index in range(first, last + 1))
    return ()


def page(now_s: float, window_s: float | None) -> tuple[float, float]:
    """Start and end in seconds of the page that contains `now_s`. The page begins at 0 and grows until it is as long as the
    window; then it moves on by half of the window at a time. `window_s` None: the whole session.
    """
    if window_s is None:
        return 0.0, _span(now_s)
    if now_s <= window_s:
        return 0.0, min(window_s, _span(now_s))
    half_s = window_s / 2
    start_s = math.ceil((now_s - window_s) / half_s - 1e-9) * half_s
    return start_s, start_s + window_s


def _span(now_s: float) -> float:
    span_s = next((span for span in SPANS_S if now_s <= span), SPANS_S[-1])
    while span_s < min(now_s, LARGEST):
        span_s *= 2
    return span_s


def _steps(least: float) -> Iterator[float]:
    power = math.floor(math.log10(least))
    for exponent in range(power, power + 3):
        yield from (step * 10.0**exponent for step in STEPS[:3] if step * 10.0**exponent >= least * (1 - 1e-9))


def _duration_steps() -> Iterator[float]:
    yield from DURATION_STEPS_S
    step = DURATION_STEPS_S[-1]
    while step < LARGEST:
        step *= 2
        yield step


def _below(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return next(_clean(step * power) for step in reversed(STEPS) if step * power <= value * (1 + 1e-9))


def _above(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return next(_clean(step * power) for step in STEPS if value <= step * power * (1 + 1e-9))


def _clean(value: float) -> float:
    """Rounded to 12 digits, without errors of binary fractions: 0.3 instead of 0.30000000000000004."""
    return float(f"{value:.12g}")
