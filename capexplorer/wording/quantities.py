"""Latencies, bytes and rates as text, for sentences, tables, the screen and the console: no other module gives them units.

`digits` rounds a number: `numbers.number` for sentences, another function for tables, whose columns keep trailing zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from ..model.figures import LevelFigures
from ..model.load import Load, Users
from ..model.stages import LatencyKind
from . import units
from .numbers import MISSING, count, counted, number, percent, significant, three_digits, users_of_level, with_error

Digits = Callable[[float], str]

# -- latencies

LATENCY_NAMES: Mapping[LatencyKind, str] = {
    "total": "whole request",
    "ttfb": "time to first byte",
    "ttft": "time to first token",
    "tpot": "time per further token",
    "itl": "time between events",
}
"""What the abbreviations of stages mean; where a stream has no tokens, an event is one."""


def latency(value_ms: float | None, digits: Digits = number) -> str:
    """`12.1 ms`; by the chosen units `0.0121 s`, `421 µs`."""
    return latencies((value_ms,), digits=digits)


def latencies(values_ms: tuple[float | None, ...], between: str = " → ", digits: Digits = number) -> str:
    """Several in the unit of the greatest: `12 → 480 ms`."""
    unit = units.latency_unit_of(max((abs(each) for each in values_ms if each is not None), default=0.0))
    if all(each is None for each in values_ms):
        return MISSING
    return f"{between.join(MISSING if each is None else digits(each / unit.in_ms) for each in values_ms)} {unit.name}"


def latency_title(name: str, between: str = " ") -> str:
    """The title of a column or a chart: `p95 ms`, `p95 s`; `p95` if each value has its own unit."""
    unit = units.common_latency_unit()
    return name if unit is None else f"{name}{between}{unit.name}"


def latency_below_title(value_ms: float | None, digits: Digits = number) -> str:
    """A value below such a title: `12.1`; with its unit if the title has none."""
    unit = units.common_latency_unit()
    if value_ms is None or unit is None:
        return latency(value_ms, digits)
    return digits(value_ms / unit.in_ms)


def latency_in_column(value_ms: float | None) -> str:
    """A value in a table of a report, below such a title."""
    return latency_below_title(value_ms, significant)


def latency_cell(value_ms: float | None) -> str:
    """The same in at most `latency_cells` cells: `0.421`, `4.21`, `4,210`, from ten seconds on `42.1s`; `0.0042`; `421µs`."""
    if value_ms is None or not math.isfinite(value_ms):
        return MISSING
    common = units.common_latency_unit()
    unit = units.SECOND if common is units.MILLISECOND and value_ms >= 9_999.5 else units.latency_unit_of(value_ms)
    return _in_cell(value_ms, unit) + (unit.name if unit is not common else "")


def latency_figure(value_ms: float | None) -> str:
    """With its unit and the digits of a cell: `12.1 ms`, `0.0121 s`, `421 µs`."""
    if value_ms is None or not math.isfinite(value_ms):
        return MISSING
    unit = units.latency_unit_of(value_ms)
    return f"{_in_cell(value_ms, unit)} {unit.name}"


def latency_list(values_ms: Iterable[tuple[str, float | None]], between: str = " ") -> str:
    """Named cells: `p50 4.21 p95 12.1 ms`, `p50 421µs p95 1.21ms`."""
    return latency_title(between.join(f"{name} {latency_cell(value_ms)}" for name, value_ms in values_ms))


def _in_cell(value_ms: float, unit: units.LatencyUnit) -> str:
    return three_digits(value_ms / unit.in_ms, unit.decimals)


def latency_cells() -> int:
    """Cells that a latency needs in a narrow column."""
    return 5 if units.common_latency_unit() is units.MILLISECOND else 6


# -- bytes


def size(value: float | None, *, largest: float | None = None) -> str:
    """An amount of bytes: `512 B`, `1.21 KiB`, `142 MiB`, exactly `1 GiB`. `largest`: a greater value, whose unit is used."""
    if value is None or not math.isfinite(value):
        return MISSING
    unit = units.byte_unit_of(value if largest is None else largest)
    amount = units.bytes_in(value, unit)
    return f"{f'{amount:,.0f}' if unit == 'B' or amount == int(amount) else three_digits(amount)} {unit}"


def size_cell(value: float | None) -> str:
    """The same in at most six cells: `512B`, `1.21K`, `142M`."""
    amount, _, unit = size(value).partition(" ")
    return f"{amount}{unit[:1]}"


# -- rates


def rate(per_s: float | None, digits: Digits = number) -> str:
    """`122/s`, `4.5/s`."""
    return rates((per_s,), digits=digits)


def rates(per_s: tuple[float | None, ...], between: str = " → ", digits: Digits = number) -> str:
    """Several: `61.2 → 59.0/s`."""
    if all(each is None for each in per_s):
        return MISSING
    return f"{between.join(MISSING if each is None else digits(each) for each in per_s)}/s"


def rate_cell(per_s: float | None) -> str:
    """Below a title that names the unit, in at most six cells: `0.42`, `42.1`, `421`, `4,210`, `12.3k`."""
    return count(per_s) if per_s is not None and abs(per_s) >= 10_000 else three_digits(per_s)


def rate_figure(per_s: float | None) -> str:
    """With its unit and the digits of a cell: `42.1/s`."""
    return rate(per_s, rate_cell)


def rate_and_error(per_s: float | None, error_per_s: float | None) -> str:
    """With half of its 95% interval, if that is known: `42.1 ±1.2/s`."""
    return rate_figure(per_s) if error_per_s is None else f"{rate_cell(per_s)} ±{rate_figure(error_per_s)}"


def rate_with_error(per_s: float | None, error_per_s: float | None) -> str:
    """In reports: `141.4 ± 2.1/s`."""
    return f"{with_error(per_s, error_per_s)}/s"


def byte_rate(per_s: float | None) -> str:
    """`1.21 MiB/s`."""
    return f"{size(per_s)}/s"


def bit_rate(bytes_per_s: float) -> str:
    """Of a link, whose speed is known in bits: `20 Mbit/s`, `9.97 Gbit/s`."""
    mbit_per_s = bytes_per_s * 8 / 1e6
    return f"{number(mbit_per_s)} Mbit/s" if mbit_per_s < 1000 else f"{number(mbit_per_s / 1000)} Gbit/s"


def offered_rate(per_s: float) -> str:
    """An offered rate, which is a setting, with the digits that distinguish levels: `80/s`, `141.4/s`, `1,250/s`."""
    return f"{per_s:,.0f}/s" if abs(per_s) >= 999.95 else f"{per_s:.4g}/s"


def requested(load: Load) -> str:
    """The load of a level: `47 users`, `80/s`."""
    return counted(load.users) if isinstance(load, Users) else offered_rate(load.per_s)


def at_most(load: Load) -> str:
    """A load to stay at: `34 users or fewer`, `1 user`, `80/s or less`."""
    return requested(load) if load == Users(1) else f"{requested(load)} or {'fewer' if isinstance(load, Users) else 'less'}"


def load(users: float | None, offered_per_s: float | None) -> str:
    """`47 users`; of a rate level `80/s offered`."""
    return counted(users) if offered_per_s is None else f"{offered_rate(offered_per_s)} offered"


def load_in_column(users: float, offered_per_s: float | None) -> str:
    """A level's user count, or its offered rate, below a title: `37.5`, `200/s`."""
    return users_of_level(users) if offered_per_s is None else offered_rate(offered_per_s)


def goodput_name(figures: LevelFigures) -> str:
    """`goodput`; `within limits` where only requests within limits on a single one are: it is then below throughput."""
    return "goodput" if figures.served_rps is None else "within limits"


def beyond_limits(figures: LevelFigures) -> str:
    """The share of the requests beyond each limit on a single one: `tpot 61%, ttft 2%`, the greatest first; `none`."""
    ordered = sorted(figures.beyond_limits.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {percent(share)}" for name, share in ordered) or "none"
