"""The capacity as a rate: levels in, verdict out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from capexplorer.analysis.knee.rate_capacity import judge_rates
from capexplorer.analysis.knee.rate_level import RateLevel
from capexplorer.model.verdicts import RateLevelVerdict, RateVerdict
from lab.simulation import exact

from .levels import SERVED, judged, level

ONE_DROP = {"dropped": 0.05, "dropped_by_generator": 1, "failed_ms": 1}
FULL_POOL = {"at_cap": True, "service_ms": 500.0}
LATE = {"failed_ms": 1000.0, "service_ms": 600.0}
QUEUES = [level(125, 100, service_ms=900), level(150, 101, service_ms=2000)]
REFUSES = [level(125, 100, failed=25, failed_ms=1), level(150, 100, failed=50, failed_ms=1)]
ONCE_FAILING = level(25, 15, failed=10)
SLOWED = level(125, 54, service_ms=2000)


LOST = level(100, 40)
"""An overload with less goodput than a lower rate had."""


def in_time(*levels: RateLevel) -> list[RateLevel]:
    return [replace(each, started_s=20.0 * at) for at, each in enumerate(levels)]


def two_endpoints(rate: float, refuses: bool, **known: Any) -> RateLevel:
    """Half of the requests go to an endpoint that serves 60/s, the others are all served."""
    good = min(rate, 60 + rate / 2)
    return level(rate, good, failed=(rate - good) * refuses, failed_ms=1.0, service_ms=20.0 if good == rate else 900.0, **known)


def near(value: float, **tolerance: Any) -> Any:
    return pytest.approx(value, **(tolerance or {"rel": 0.01}))


CASES: dict[str, tuple[Sequence[RateLevel], dict[str, Any]]] = {
    "it keeps up at all rates": (SERVED, {"kind": "keeps_up", "per_s": 75, "confidence": "high", "limit": None}),
    "it keeps up at the only rate": ([level(75)], {"kind": "keeps_up", "confidence": "medium"}),
    "most iterations queued for long at the highest rate": (
        [level(25, from_plan_ms=20), level(50, from_plan_ms=22), level(75, seconds=10, from_plan_ms=25),
         level(75, seconds=60, from_plan_ms=400)],
        {"kind": "keeps_up", "confidence": "medium", "slower_times": near(17.3)},
    ),
    "a queue grows without bound": (
        [*SERVED, *QUEUES],
        {"kind": "capacity", "limit": "queue_growth", "confidence": "high", "kept_per_s": 75, "per_s": near(100.5),
         "low_per_s": near(97.9), "high_per_s": near(103.7), "overload.kind": "queues",
         "overload.fall_ratio": None, "overload.growth_per_s": near(49)},
    ),
    "it refuses what exceeds its capacity": (
        [*SERVED, *REFUSES],
        {"kind": "capacity", "limit": "errors", "overload.kind": "refuses", "overload.failure_ratio": near(1 / 3)},
    ),
    "a collapse in one step": (
        [*SERVED, level(150, 20, failed=130, failed_ms=1)],
        {"kind": "capacity", "per_s": near(87, abs=2), "high_per_s": near(112, abs=2)},
    ),
    "the lowest rate failed once, and higher ones were served": (
        [ONCE_FAILING, level(50), level(75), *QUEUES],
        {"kind": "capacity", "kept_per_s": 75, "contradicted": True, "confidence": "low"},
    ),
    "the lowest rate failed once, and all others were served": (
        [ONCE_FAILING, level(50), level(75)], {"kind": "keeps_up", "per_s": 75, "contradicted": True, "confidence": "low"},
    ),
    "the lowest rate failed once, and is no bound of higher goodput": (
        [level(9, 3, failed=6, seconds=8), level(20, seconds=8), *QUEUES],
        {"kind": "capacity", "contradicted": True, "confidence": "low"},
    ),
    "few refusals: the maximum was not reached": (
        [*SERVED, level(90, 85, failed=5, failed_ms=1)],
        {"kind": "departs", "per_s": 90, "kept_per_s": 75, "confidence": "medium"},
    ),
    "no rate was served in full": (
        [level(125, 100, service_ms=900), level(150, 100, service_ms=2000)],
        {"kind": "at_or_below", "high_per_s": 125, "confidence": "low"},
    ),
    "a small share fails at every rate": (
        [level(rate, 0.9 * rate, failed=0.1 * rate) for rate in (50, 100, 150)], {"kind": "keeps_up", "per_s": 150},
    ),
    "a share of failures grows with the rate": (
        [level(84, 72, failed=12, failed_ms=1), level(100, 72, failed=28, failed_ms=1)],
        {"kind": "at_or_below", "high_per_s": 84, "limit": "errors"},
    ),
    "the generator is at its limit": (
        [*SERVED, level(125, 100, generator_saturated=True), level(150, 60, dropped=90, at_cap=True)],
        {"kind": "keeps_up", "per_s": 75, "limit": "generator"},
    ),
    "single drops by the generator beside refusals": (
        [level(20), level(40), level(60), level(120, 80, failed=40, **ONE_DROP), level(160, 80, failed=80, **ONE_DROP)],
        {"kind": "capacity", "limit": "errors", "confidence": "high", "per_s": near(80)},
    ),
    "few refusals of the arrivals that the generator did not drop": (
        [*SERVED, level(120, 98, failed=12, failed_ms=1, dropped=10.0, dropped_by_generator=200)], {"kind": "departs"},
    ),
    "only with a full pool of users": (
        [*SERVED, level(125, 100, dropped=25, **FULL_POOL), level(150, 100, dropped=50, **FULL_POOL)],
        {"kind": "capacity", "confidence": "high"},
    ),
    "a higher rate was served than one that was not": (
        [*SERVED, level(125, 100, service_ms=900), level(175)], {"contradicted": True, "confidence": "low"},
    ),
    "one level of each kind": ([level(50), level(150, 100, service_ms=900)], {"confidence": "medium"}),
    # -- beyond the capacity
    "late failures": ([*SERVED, level(125, 90, failed=35, **LATE), level(150, 80, failed=70, **LATE)],
                      {"overload.kind": "times_out"}),
    "late failures that are no replies": (
        [*SERVED, *(level(rate, good, failed=rate - good, replied_ratio=0.0, **LATE) for rate, good in ((125, 90), (150, 80)))],
        {"overload.kind": "times_out"},
    ),
    "late failures that are replies": (
        [*SERVED, *(level(rate, good, failed=rate - good, replied_ratio=1.0, **LATE) for rate, good in ((125, 90), (150, 80)))],
        {"overload.kind": "refuses"},
    ),
    "goodput collapses while more is offered": (
        [*SERVED, level(125, 100, failed=25, failed_ms=1), level(200, 30, failed=170, failed_ms=1)],
        {"overload.collapses": True, "overload.fall_ratio": near(0.7, abs=0.02), "per_s": near(102)},
    ),
    **{
        f"goodput falls while nothing fails, below {why}": (
            [*SERVED, *beyond],
            {"kind": "departs", "kept_per_s": 75, "confidence": "low", "overload.fall_ratio": near(0.3, abs=0.2)},
        )
        for why, beyond in (
            ("a rate that was served in full", [level(100, 55, service_ms=900), level(125, 54, service_ms=2000)]),
            ("a lower rate that was not", [level(100, 85, service_ms=400), SLOWED]),
            ("a lower rate that is unclear", [level(81, 76, seconds=8), SLOWED]),
        )
    },
    **{
        f"goodput falls once, {when}, which a change of the service may explain": (in_time(*levels), {"kind": "departs"})
        for when, levels in (
            ("at the end", (*SERVED, LOST)), ("at the beginning", (LOST, *SERVED)),
            ("and then a rate is served that the slower service serves, too", (*SERVED, LOST, level(30))),
        )
    },
    **{
        f"goodput falls and rises again with the rate, {when}": (
            in_time(*levels),
            {"kind": "capacity", "per_s": near(77, rel=0.1), "overload.fall_ratio": near(0.47, abs=0.06)},
        )
        for when, levels in (("after it", (*SERVED, LOST, level(75))), ("before it", (LOST, *SERVED, level(110, 40))))
    },
    # -- the shape beyond
    "a short queue refuses": (
        [level(rate, good := exact.limited_goodput(rate, exact.servers(1, 0.01), 4), failed=rate - good, failed_ms=1)
         for rate in (25, 50, 75, 100, 125, 150)],
        {"kind": "capacity", "per_s": near(95, rel=0.06)},
    ),
    **{
        f"goodput is slightly lower at the lowest overloaded rate{', of a ramp' * ramp}": (
            [*SERVED, *(level(rate, good, ramp=ramp, service_ms=900) for rate, good in ((105, 96), (130, 101), (160, 100)))],
            {"kind": "capacity"},
        )
        for ramp in (False, True)
    },
    "a ramp beyond which every request fails": (
        [*(level(rate, ramp=True) for rate in (25, 50)), *(level(rate, 0, failed=rate, ramp=True) for rate in (60, 80))],
        {"kind": "departs", "kept_per_s": 50, "per_s": 60},
    ),
    **{
        f"one of two endpoints is saturated{', and refuses' * refuses}": (
            [two_endpoints(rate, refuses) for rate in (60, 100, 150, 206, 276)],
            {"kind": "departs", "rises": True, "kept_per_s": 100, "high_per_s": near(131, rel=0.08)},
        )
        for refuses in (False, True)
    },
    "one of two endpoints is saturated under a ramp": (
        [two_endpoints(10 + 10 * step, refuses=False, seconds=8, ramp=True) for step in range(30)],
        {"kind": "departs", "rises": True},
    ),
    "goodput likely rises: 46.5/s and 51.7/s of two endpoints differ by 2.2 standard errors (recorded)": (
        [level(30), level(43), level(52.1, 46.5, seconds=23, goodput_se_per_s=1.53),
         level(60.7, 51.7, seconds=16, goodput_se_per_s=1.79)],
        {"kind": "departs", "rises": True},
    ),
    "one level beyond cannot show whether goodput rises": (
        [*SERVED, level(90), level(125, 100, service_ms=900)], {"kind": "capacity", "may_rise": True, "confidence": "medium"},
    ),
    "a level far beyond shows that it does not": (
        [*SERVED, level(90), level(200, 100, service_ms=900)], {"kind": "capacity", "may_rise": False},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_levels_give_this_capacity(name: str) -> None:
    levels, expected = CASES[name]
    found = judged(levels)

    def value(path: str) -> Any:
        owner, _, field = path.rpartition(".")
        return getattr(getattr(found, owner) if owner else found, field)

    assert {path: value(path) for path in expected} == expected


@pytest.mark.parametrize(
    "levels",
    [[], [level(5, seconds=6)], [level(84, 70, failed=14)], [level(84, 50, failed=34)],
     [level(rate, 0.6 * rate, failed=0.4 * rate) for rate in (50, 100, 150)]],
    ids=["no level", "too few arrivals", "some fail at the only rate", "many fail at the only rate", "the same at every rate"],
)  # fmt: skip
def test_levels_that_do_not_show_that_load_is_the_cause_give_no_capacity(levels: list[RateLevel]) -> None:
    assert judge_rates(levels) is None


@pytest.mark.parametrize(("served_at", "lost_at", "return_per_s"), [(1, 2, 75.0), (2, 1, 100.0)])
def test_the_rate_that_was_measured_first_is_the_one_to_return_to(served_at: int, lost_at: int, return_per_s: float) -> None:
    levels = [
        RateLevelVerdict(
            level=at, offered_per_s=per_s, goodput_per_s=1.0, goodput_se_per_s=1.0, state="unsure", failure_ratio=0.0,
            dropped_ratio=0.0, growth_per_s=0.0,
        )
        for at, per_s in ((served_at, 75.0), (lost_at, 100.0))
    ]  # fmt: skip
    assert RateVerdict(capacity=judged([*SERVED, LOST]), levels=tuple(levels)).return_per_s == return_per_s


COUNTS = st.tuples(st.integers(1, 10_000), *[st.floats(0, 1)] * 3, st.sampled_from([1.0, 6.0, 30.0]), st.booleans())


@given(st.lists(COUNTS, min_size=1, max_size=6))
def test_any_counts_give_a_finite_rate_within_its_interval(drawn: list[tuple[int, float, float, float, float, bool]]) -> None:
    levels = []
    for due, good, fail, drop, seconds, by_generator in drawn:
        succeeded, failed = round(good * due), round(fail * (due - round(good * due)))
        dropped = round(drop * (due - succeeded - failed))
        levels.append(
            RateLevel(rate_per_s=due / seconds, seconds=seconds, due=due, succeeded=succeeded, failed=failed, dropped=dropped,
                      dropped_by_generator=by_generator * dropped)
        )  # fmt: skip
    found = judge_rates(levels)
    if found is not None:
        assert 0 <= (found.low_per_s or 0.0) <= found.per_s <= (found.high_per_s or math.inf) or found.kind != "capacity"
        assert all(math.isfinite(each) for each in (found.per_s, found.kept_per_s, found.high_per_s) if each is not None)


@pytest.mark.parametrize(("error", "most"), [(0.0, 0.02), (0.5, 0.02), (1.5, 0.03)], ids=["equal times", "usual", "slow ends"])
def test_the_interval_is_that_of_the_batches(error: float, most: float) -> None:
    found = judged([*SERVED, *(replace(each, goodput_se_per_s=error) for each in QUEUES)])
    assert found.low_per_s is not None and found.high_per_s is not None
    assert most / 2 < (found.high_per_s - found.low_per_s) / 2 / found.per_s < most
