"""The Universal Scalability Law, on curves that obey it."""

from __future__ import annotations

import pytest

from capexplorer.analysis.knee.detector import fit
from capexplorer.analysis.knee.measured_curve import CapacityCurve, curve_of

from ..ladders import ideal, rates

USERS = (1, 2, 4, 8, 16, 32, 64)


def law(rate: float, sigma: float, kappa: float, users: tuple[int, ...] = USERS) -> CapacityCurve:
    return curve_of(rates([(n, rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))) for n in users], seconds=20))


@pytest.mark.parametrize(
    ("rate", "sigma", "kappa"),
    [(10.0, 0.05, 0.001), (10.0, 0.05, 0.0), (10.0, 0.0, 0.001), (10.0, 0.0, 0.0)],
    ids=["both", "contention alone", "coherency alone", "linear scaling"],
)
def test_the_fit_recovers_the_coefficients_of_the_curve(rate: float, sigma: float, kappa: float) -> None:
    found = fit(law(rate, sigma, kappa), bent=True)
    assert found is not None
    assert (found.lambda_rps, found.sigma, found.kappa) == pytest.approx((rate, sigma, kappa), rel=0.01, abs=1e-6)
    assert found.r_squared > 0.999


def test_the_peak_is_at_the_root_of_1_minus_sigma_over_kappa() -> None:
    found = fit(law(10.0, 0.05, 0.001), bent=True)
    assert found is not None
    assert found.peak_users == pytest.approx((0.95 / 0.001) ** 0.5, rel=0.01)


@pytest.mark.parametrize(
    ("curve", "bent", "unreliable_why"),
    [
        (law(10.0, 0.05, 0.001), True, None),
        (law(10.0, 0.05, 0.001), False, "no_bend"),
        (law(10.0, 0.05, 0.001, (1, 2, 4, 8)), True, "few_levels"),
        (curve_of(rates([(n, 20 * n if n < 32 else 1.0) for n in USERS], seconds=20)), True, "poor_fit"),
    ],
    ids=["six levels and more", "no bend", "four levels", "a collapse"],
)
def test_a_fit_is_unreliable_without_a_bend_on_few_levels_or_if_it_fits_poorly(
    curve: CapacityCurve, bent: bool, unreliable_why: str | None
) -> None:
    found = fit(curve, bent=bent)
    assert found is not None
    assert found.unreliable_why == unreliable_why


def test_two_levels_are_not_enough_for_a_fit() -> None:
    assert fit(curve_of(ideal([10, 20])), bent=False) is None
