"""The greatest goodput, and whether it is constant."""

from __future__ import annotations

from typing import Any

import pytest

from capexplorer.analysis.knee.rate_level import RateLevel

from .levels import SERVED, judged, level


@pytest.mark.parametrize(("se_per_s", "kind"), [(3.0, "capacity"), (6.0, "departs")])
def test_goodput_beyond_is_a_capacity_if_it_is_constant_within_each_level(se_per_s: float, kind: str) -> None:
    """A Poisson count of 2,000 in 20 s has a standard error of 2.2/s."""
    varies = level(150, 100, service_ms=900, goodput_se_per_s=se_per_s)
    assert judged([*SERVED, varies]).kind == kind
    assert judged([*SERVED, varies, level(175, 100, service_ms=2000)]).kind == kind


@pytest.mark.parametrize(
    ("goodput", "kind"),
    [((50, 62, 75), "departs"), ((82, 92, 98), "capacity")],
    ids=["half of all requests fail at any rate", "a short queue refuses"],
)
def test_goodput_that_rises_as_the_rate_does_shows_no_capacity(goodput: tuple[float, float, float], kind: str) -> None:
    rates = (100, 125, 150)
    failing = [level(rate, good, failed=rate - good, failed_ms=1) for rate, good in zip(rates, goodput, strict=True)]
    assert judged([*SERVED, *failing]).kind == kind


TWO_ENDPOINTS = (60, 100, 150, 206, 276)
"""Half of the requests go to an endpoint that serves 60/s, the others are all served."""


@pytest.mark.parametrize("refuses", [False, True])
def test_where_one_of_two_endpoints_is_saturated_all_is_served_up_to_the_goodput_at_the_lowest_overloaded_rate(
    refuses: bool,
) -> None:
    found = judged([_two_endpoints(rate, refuses) for rate in TWO_ENDPOINTS])
    assert (found.kind, found.rises, found.kept_per_s) == ("departs", True, 100)
    assert found.high_per_s == pytest.approx(135, abs=7)


def test_a_ramp_beyond_the_capacity_of_one_of_two_endpoints_shows_no_capacity() -> None:
    bins = [_two_endpoints(10 + 10 * step, refuses=False, seconds=8, ramp=True) for step in range(30)]
    found = judged(bins)
    assert (found.kind, found.rises) == ("departs", True)


@pytest.mark.parametrize("ramp", [False, True])
def test_goodput_that_is_slightly_lower_at_the_lowest_overloaded_rate_is_a_capacity(ramp: bool) -> None:
    beyond = [level(rate, good, ramp=ramp, service_ms=900) for rate, good in ((105, 96), (130, 101), (160, 100))]
    assert judged([*SERVED, *beyond]).kind == "capacity"


def _two_endpoints(rate: float, refuses: bool, **known: Any) -> RateLevel:
    good = min(rate, 60 + rate / 2)
    return level(rate, good, failed=(rate - good) * refuses, failed_ms=1.0, service_ms=20.0 if good == rate else 900.0, **known)
