"""A session's line: what was true, and what the product said, read from the summary that it exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from capexplorer.model.events import Mark
from capexplorer.model.timeline import Timeline
from capexplorer.report.summary import summarise

from .truth import RunLevel, Statement, Truth

FALSE_USERS, FALSE_RATE = 0.25, 0.15
"""Relative errors beyond which a knee in users, or a capacity as a rate, is false."""
BEYOND = 1.1
"""Multiple of the largest knee beyond which "not saturated" is wrong; of the least one, its inverse, for "at or below"."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a file of scores."""

    commit: str
    """That of the product which was scored."""
    seeds: tuple[int, int]
    """The first one, and the one after the last."""


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session. Loads are users, or iterations a second at rates; times are seconds of the session."""

    family: str
    seed: int
    at_rates: bool = False
    knees: tuple[tuple[float, float], ...] = ()
    """Each knee that the service had: the least and the greatest right value, equal but for knees that are a range."""
    limits: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    due: bool = False
    """Whether the levels show a knee."""
    kind: str = "none"
    """`knee`, `at_or_below`, `bend`, `no_knee`; at rates `capacity`, `departs`, `at_or_below`, `keeps_up`; `none`."""
    load: float | None = None
    low: float | None = None
    high: float | None = None
    """The 90% interval of a knee or capacity."""
    confidence: str | None = None
    verified: bool = False
    limit: str | None = None
    said: tuple[str, ...] = ()
    """Statements beside it."""
    first_s: float | None = None
    """When a knee was stated first, right or not."""
    right_s: float | None = None
    """When an interval that holds a knee was stated first."""
    verified_s: float | None = None
    ended_s: float = 0.0
    levels: int = 0
    sentence: str = ""

    @property
    def is_found(self) -> bool:
        return self.kind in ("knee", "capacity")

    @property
    def error(self) -> float | None:
        """Relative error of the stated knee, infinite where there is none; None: no knee was stated."""
        if not self.is_found or self.load is None:
            return None
        return min((max(0.0, 1 - self.load / low, self.load / high - 1) for low, high in self.knees), default=float("inf"))

    @property
    def is_false(self) -> bool:
        return self.error is not None and self.error > (FALSE_RATE if self.at_rates else FALSE_USERS)

    @property
    def covers(self) -> bool | None:
        """Whether the stated interval holds a knee; None without either."""
        if not self.is_found or self.low is None or self.high is None or not self.knees:
            return None
        return any(self.low <= high and low <= self.high for low, high in self.knees)

    @property
    def half_width(self) -> float | None:
        """Half of the width of the interval, relative to the stated knee."""
        known = self.is_found and self.low is not None and self.high is not None and self.load
        return (self.high - self.low) / 2 / self.load if known else None  # type: ignore[operator]

    @property
    def has_right_limit(self) -> bool | None:
        return self.limit in self.limits if self.is_found and self.limits else None

    @property
    def is_wrong(self) -> bool:
        return self.is_false or bool(self.wrongly_said)

    @property
    def wrongly_said(self) -> tuple[str, ...]:
        return tuple(each for each in self.said if each in self.forbidden)


def line(family: str, seed: int, truth: Truth, timeline: Timeline, *, is_live: bool = True) -> Line:
    """What was said at the end of the session, and, if it was judged while it ran, when knees were said first."""
    summary = summarise(timeline)
    stated = at_rates(summary) if truth.at_rates else at_users(summary)
    return Line(
        family=family,
        seed=seed,
        at_rates=truth.at_rates,
        knees=tuple((round(knee.low, 4), round(knee.high, 4)) for knee in truth.knees),
        limits=truth.limits,
        forbidden=truth.forbidden,
        due=truth.is_due(tuple(run_levels(summary))),
        **stated,
        said=tuple(sorted(set(statements(summary, truth, stated)))),
        **(times(timeline, truth) if is_live else {}),
        ended_s=timeline.last_s,
        levels=len(summary["levels"]),
        sentence=summary["verdict"] or "",
    )


def at_users(summary: dict[str, Any]) -> dict[str, Any]:
    """The latest verdict on users: fields of Line."""
    found = [each for each in summary["knees"] if each["kind"] in ("knee", "at_or_below", "bend")]
    if not found:
        up_to = summary["no_knee_up_to_users"]
        return {} if up_to is None else {"kind": "no_knee", "load": up_to}
    knee = found[-1]
    return {
        "kind": knee["kind"],
        "load": knee["users"],
        "low": knee["users_low"],
        "high": knee["users_high"],
        "confidence": knee["confidence"],
        "verified": knee["evidence"].get("verification") == "verified",
        "limit": knee["limit"],
    }


def at_rates(summary: dict[str, Any]) -> dict[str, Any]:
    """The latest verdict on rates: fields of Line."""
    capacity = (summary["rates"] or {}).get("capacity")
    if capacity is None:
        return {}
    return {
        "kind": capacity["kind"],
        "load": capacity["per_s"],
        "low": capacity["low_per_s"],
        "high": capacity["high_per_s"],
        "confidence": capacity["confidence"],
        "limit": capacity["limit"],
    }


def statements(summary: dict[str, Any], truth: Truth, stated: dict[str, Any]) -> Iterator[Statement]:
    """What is said beside the knee."""
    for regime in summary["regimes"]:
        if regime["began"] is not None and regime["inside"]:
            yield "fault" if regime["began"] == "failures" else "changed"
    recoveries = [*summary["recoveries"], *(summary["rates"] or {}).get("recoveries", ())]
    if any(each["recovered"] is False for each in recoveries):
        yield "did_not_recover"
    if any(each["evidence"].get("peak_shape") for each in summary["knees"]):
        yield "falls"
    if stated.get("limit") == "generator" or any(each["id"].startswith("generator") for each in summary["causes"]):
        yield "generator"
    if any(level["held"] for level in summary["levels"]):
        yield "others"
    load, kind = stated.get("load") or 0.0, stated.get("kind")
    if kind in ("no_knee", "keeps_up") and load > BEYOND * truth.most_served:
        yield "not_saturated_beyond"
    least = min((knee.low for knee in truth.knees), default=0.0)
    if kind == "at_or_below" and not truth.fails_below and BEYOND * (stated.get("high") or load) < least:
        yield "bound_below"


def times(timeline: Timeline, truth: Truth) -> dict[str, Any]:
    """When a knee, a right one, and a verified one were stated first: fields of Line."""
    found: dict[str, float | None] = {"first_s": None, "right_s": None, "verified_s": None}
    for mark in timeline.journal:
        if not isinstance(mark, Mark) or mark.state == "retracted" or mark.kind not in ("knee", "rate_capacity"):
            continue
        figures = mark.finding.figures()
        low, high = figures.get("users_low", figures.get("per_s_low")), figures.get("users_high", figures.get("per_s_high"))
        if mark.kind == "rate_capacity" and "capacity_per_s" not in figures:
            continue
        names = ["first_s"]
        names += ["right_s"] if low is not None and high is not None and truth.covered(low, high) else []
        names += ["verified_s"] if figures.get("verification") == "verified" else []
        for name in names:
            if found[name] is None:
                found[name] = mark.t_s
    return found


def run_levels(summary: dict[str, Any]) -> Iterator[RunLevel]:
    """The levels, parts of split ones and bins of ramps included."""
    for level in summary["levels"]:
        load, ended_s = (level["offered"] or {}).get("offered_per_s", level["users"]), level["ended_s"]
        from_s = level["started_s"] if level["kind"] == "ramp" else level["settled_s"]
        if None not in (load, ended_s, from_s):
            yield RunLevel(load, level["started_s"], ended_s, ended_s - from_s)
