"""The greatest goodput, and whether it is constant."""

from __future__ import annotations

import pytest

from .levels import SERVED, judged, level


@pytest.mark.parametrize(("se_per_s", "kind"), [(3.0, "capacity"), (6.0, "departs")])
def test_the_goodput_of_a_single_level_beyond_is_a_capacity_if_it_is_constant(se_per_s: float, kind: str) -> None:
    """A Poisson count of 2,000 in 20 s has a standard error of 2.2/s."""
    assert judged([*SERVED, level(150, 100, service_ms=900, goodput_se_per_s=se_per_s)]).kind == kind
