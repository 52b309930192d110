"""The greatest goodput, and whether it is constant."""

from __future__ import annotations

import pytest

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
