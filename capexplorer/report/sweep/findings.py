"""What a sweep says: each setting against the best one, and which of them are enough.

Two settings are compared as two sessions are (`report.compare`): by the errors of both capacities and the allowance for the
variation between equal runs, since each setting is a process of its own. A difference is said only if it is significant among all
pairs of settings (Holm); that there is none, only if its interval shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec

from ... import wording
from ...model.controls import Param
from ...model.intervals import Z90
from ...model.sweep import Params, SettingResult, setting_name
from ...model.timeline import Timeline
from ..compare.comparison import CAPACITY_DEGREES
from ..compare.difference import Difference, difference
from ..compare.estimates import DEGREES_MOST, FALSE_MOST, Estimate, significant_by_holm
from ..values import fields, rounded
from .results import results

ENOUGH_WITHIN = 0.15
"""A setting is enough if the upper end of the 90% interval of what the best one has more is below this share. One exploration
knows a capacity to 3 or 4%, and runs differ by 2%: with 10% hardly any setting of simulated services was found to be enough."""


class Row(msgspec.Struct, frozen=True):
    """One setting."""

    params: Params
    result: SettingResult | None = None
    """None: it was not explored yet."""
    against_best: Difference | None = None
    """Its difference from the best setting; None: one of them has no capacity, or this is the best one."""
    is_lower: bool = False
    """Whether its capacity is surely lower than that of the best one."""
    is_enough: bool = False
    """Whether the best one has surely no more than ENOUGH_WITHIN more."""

    @property
    def name(self) -> str:
        """`threads=4 pool=2`. May contain text of a person."""
        return setting_name(self.params)

    @property
    def per_s(self) -> float:
        """The capacity, or the least that it can be; 0 if it is not known."""
        return (self.result.per_s if self.result is not None else None) or 0.0

    @property
    def is_compared(self) -> bool:
        """Whether it has a capacity that can be compared with those of others."""
        found = self.result
        return found is not None and found.per_s is not None and not (found.is_contradicted or found.is_disturbed)

    @property
    def is_known(self) -> bool:
        """Whether it is compared by its capacity, not by a least one."""
        return self.is_compared and self.result is not None and not self.result.is_least

    @property
    def interval_per_s(self) -> tuple[float, float] | None:
        """The 90% interval of its capacity."""
        found = self.result
        if found is None or found.per_s is None or found.se_per_s is None or found.is_least:
            return None
        return max(found.per_s - Z90 * found.se_per_s, 0.0), found.per_s + Z90 * found.se_per_s


class SweepFindings(msgspec.Struct, frozen=True):
    """Everything that a format shows. Rows are in the order of the settings."""

    rows: tuple[Row, ...]
    finds_rate: bool
    best: Row | None = None
    """That with the greatest capacity, or with a least capacity that surely exceeds it; None: none has one."""
    enough: tuple[Row, ...] = ()
    """The least ones that are enough: no other one that is has no greater parameter. Several if they differ in more than one
    parameter, or in one that is no number; none if the limit of the best one was not reached."""

    @property
    def is_complete(self) -> bool:
        """Whether each setting has a verdict."""
        return all(row.result is not None and row.result.has_verdict for row in self.rows)


def findings(timeline: Timeline) -> SweepFindings | None:
    """Those of a session; None if it is no sweep."""
    if timeline.sweep is None:
        return None
    rows = tuple(Row(*each) for each in zip(timeline.sweep.settings, results(timeline), strict=True))
    return compared(rows, finds_rate=timeline.sweep.finds_rate)


def compared(rows: Sequence[Row], *, finds_rate: bool) -> SweepFindings:
    """The rows with their comparisons."""
    known = [row for row in rows if row.is_known]
    best = max(known, key=lambda row: row.per_s, default=None)
    if best is None:
        return SweepFindings(tuple(rows), finds_rate)
    surely = _sure_differences([row for row in rows if row.is_compared])
    surpassing = [row for row in rows if (best.name, row.name) in surely]
    best = max(surpassing, key=lambda row: row.per_s, default=best)
    found = tuple(_against(row, best, surely) for row in rows)
    sufficient = [row for row in found if row.is_enough]
    least = tuple(row for row in sufficient if not any(_is_less(other.params, row.params) for other in sufficient))
    return SweepFindings(found, finds_rate, next(row for row in found if row.params == best.params), least)


def _against(row: Row, best: Row, surely: frozenset[tuple[str, str]]) -> Row:
    if row is best:
        return msgspec.structs.replace(row, is_enough=row.is_known)
    if not row.is_compared:
        return row
    found = capacity_difference(best, row)
    is_lower = row.is_known and (row.name, best.name) in surely
    most = 1 / (1 + found.interval[0]) - 1 if found.interval is not None else None
    is_enough = row.is_known and best.is_known and not is_lower and most is not None and most < ENOUGH_WITHIN
    return msgspec.structs.replace(row, against_best=found, is_lower=is_lower, is_enough=is_enough)


def _sure_differences(rows: Sequence[Row]) -> frozenset[tuple[str, str]]:
    """(name of the lower one, name of the higher one) of each pair that surely differs. A least capacity may only be the higher
    one of a pair.
    """
    pairs = {}
    for pair in combinations(rows, 2):
        lower, higher = sorted(pair, key=lambda row: row.per_s)
        if lower.is_known:
            pairs[lower.name, higher.name] = capacity_difference(lower, higher)
    significant = significant_by_holm({key: each.p for key, each in pairs.items() if each.p is not None}, FALSE_MOST)
    return frozenset(key for key in significant if pairs[key].counts)


def capacity_difference(before: Row, after: Row) -> Difference:
    """The difference of the capacity of the second row from that of the first."""
    return difference("capacity", _estimate(before), _estimate(after))


def _estimate(row: Row) -> Estimate:
    found = row.result
    if found is None:
        return Estimate()
    beyond = found.knee.evidence.levels_beyond if found.knee is not None else None
    return Estimate(found.per_s, found.se_per_s, degrees=CAPACITY_DEGREES * beyond if beyond else DEGREES_MOST)


def _is_less(one: Params, other: Params) -> bool:
    """Whether no parameter of `one` is greater, and one is lower."""
    return one != other and all(_at_most(one[name], other[name]) for name in one)


def _at_most(one: Param, other: Param) -> bool:
    low, high = _number(one), _number(other)
    return one == other if low is None or high is None else low <= high


def _number(value: Param) -> float | None:
    """The value as a number; that of a command on the command line is a text."""
    try:
        return None if isinstance(value, bool) else float(value)
    except ValueError:
        return None


# -- for programs


def entries(found: SweepFindings) -> dict[str, Any]:
    """As plain values, without the sentence."""
    return {
        "load": "rate" if found.finds_rate else "users",
        "best": None if found.best is None else found.best.params,
        "enough": [row.params for row in found.enough],
        "complete": found.is_complete,
        "settings": [_entry(row) for row in found.rows],
    }


_OF_RESULT = ("ended", "limit", "invalid", "levels", "disturbed_levels", "are_others_busy", "seconds", "p95_ms", "p95_at")
_OF_KNEE = ("kind", "users", "users_low", "users_high", "limit", "confidence")
_OF_RATE = ("kind", "per_s", "low_per_s", "high_per_s", "kept_per_s", "limit", "confidence")


def _entry(row: Row) -> dict[str, Any]:
    """One setting. One that was not explored has the same keys."""
    result = row.result or SettingResult(params=row.params, session="", epoch=0)
    bounds, against = row.interval_per_s or (None, None), row.against_best if row.is_known else None
    knee, rates = result.knee, result.rates
    explored = "failed" if result.ended == "failed" else "explored" if result.has_verdict else "no_verdict"
    return {
        "params": row.params,
        "state": explored if row.result is not None else "not_explored",
        **fields(result, _OF_RESULT),
        "session": result.session or None,
        "epoch": result.epoch if row.result is not None else None,
        "why": result.why or None,
        "capacity_per_s": rounded(result.per_s),
        "capacity_low_per_s": rounded(bounds[0]),
        "capacity_high_per_s": rounded(bounds[1]),
        "at_least": result.is_least,
        "knee": None if knee is None else {**fields(knee, _OF_KNEE), "verification": wording.verified(knee) or None},
        "rate": None if rates is None else fields(rates, _OF_RATE),
        "compared": row.is_compared,
        "lower_than_best": row.is_lower,
        "enough": row.is_enough,
        "against_best": None if against is None else _change(against),
    }


def _change(one: Difference) -> dict[str, float | None]:
    low, high = one.interval or (None, None)
    return {"ratio": rounded(one.ratio, 6), "low": rounded(low, 6), "high": rounded(high, 6)}
