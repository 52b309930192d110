"""A verdict with a knee at 47 users and the fitted curve that it rests on, for tests of what the screen shows of them."""

from __future__ import annotations

from capexplorer.model.verdicts import CurveFit, KneeVerdict, UslFit

KNEE = KneeVerdict(
    kind="knee",
    users=47,
    users_low=43,
    users_high=52,
    capacity_rps=122.0,
    limit="queueing",
    confidence="medium",
    provisional=True,
)
USL = UslFit(lambda_rps=2.7, sigma=0.031, kappa=0.0004, peak_users=49.2, peak_rps=120.0, r_squared=0.99)
"""The fit of the Universal Scalability Law."""

CURVE = CurveFit(
    low_load_rps_per_user=2.6, low_load_se=0.03, baseline_users=(5, 10, 20), capacity_rps=122.0, capacity_se_rps=2.0, usl=USL
)
