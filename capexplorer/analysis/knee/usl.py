"""The Universal Scalability Law fitted to a curve: contention, coherency and the law's peak, which is not a knee.

The peak is off by 1.5 N* in the median (docs/knee.md). N / X is linear in 1, N - 1 and N (N - 1), so the fit is one small
least-squares problem (Gunther, Guerrilla Capacity Planning, chapter 5, weighted by relative error).
"""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np

from ...model.verdicts import UslFit
from .capacity_curve import CapacityCurve, Floats

GOODPUT_SHARE_LEAST = 1e-6
"""Share of the greatest goodput at or below which levels are left out, since N / X would be near infinite."""

FIT_LEVELS_LEAST = 6
"""With fewer levels the fit is shown greyed out."""

FIT_LEAST = 0.9
"""R squared under which the law does not describe the curve (a collapse, a lack of ports)."""


def fit(curve: CapacityCurve, *, bent: bool) -> UslFit | None:
    """The fit over levels with goodput; None if there are fewer than three. `bent`: whether a bend was found."""
    has_goodput = curve.goodput > GOODPUT_SHARE_LEAST * curve.goodput.max()
    users, goodput, error = curve.users[has_goodput], curve.goodput[has_goodput], curve.error[has_goodput]
    if len(users) < 3:
        return None
    best = min(_candidates(users, goodput, error), key=lambda candidate: candidate[0], default=None)
    if best is None:
        return None
    _, (whole, contention, coherency) = best
    rate, sigma, kappa = 1 / whole, contention / whole, coherency / whole
    fitted = rate * users / (1 + sigma * (users - 1) + kappa * users * (users - 1))
    spread = float(((goodput - goodput.mean()) ** 2).sum())
    r_squared = 1 - float(((goodput - fitted) ** 2).sum()) / spread if spread > 0 else 0.0
    peak_users = math.sqrt((1 - sigma) / kappa) if kappa > 0 and sigma < 1 else None
    peak_rps = _law(peak_users, rate, sigma, kappa) if peak_users is not None else rate / sigma if sigma > 0 else None
    return UslFit(
        lambda_rps=rate,
        sigma=sigma,
        kappa=kappa,
        peak_users=peak_users,
        peak_rps=peak_rps,
        r_squared=r_squared,
        unreliable_why=_unreliable_why(len(users), bent, r_squared),
    )


def _law(users: float, rate: float, sigma: float, kappa: float) -> float:
    return rate * users / (1 + sigma * (users - 1) + kappa * users * (users - 1))


def _unreliable_why(levels: int, bent: bool, r_squared: float) -> Literal["few_levels", "no_bend", "poor_fit"] | None:
    if levels < FIT_LEVELS_LEAST:
        return "few_levels"
    if not bent:
        return "no_bend"
    return "poor_fit" if r_squared < FIT_LEAST else None


def _candidates(users: Floats, goodput: Floats, error: Floats) -> list[tuple[float, tuple[float, float, float]]]:
    """(squared error, coefficients) for each choice of terms whose coefficients are all at least 0."""
    wanted = users / goodput
    weight = goodput / error / wanted  # 1 / standard error of N / X
    terms = np.stack([np.ones_like(users), users - 1, users * (users - 1)])
    found = []
    for with_sigma, with_kappa in itertools.product((True, False), repeat=2):
        chosen = [True, with_sigma, with_kappa]
        solved = np.linalg.lstsq((terms[chosen] * weight).T, wanted * weight, rcond=None)[0]
        coefficients = np.zeros(3)
        coefficients[chosen] = solved
        if coefficients[0] > 0 and coefficients.min() >= 0:
            missed = float((((coefficients @ terms) - wanted) ** 2 * weight**2).sum())
            found.append((missed, (float(coefficients[0]), float(coefficients[1]), float(coefficients[2]))))
    return found
