"""Fields whose key in the log is not their name: logs of all versions have the same keys."""

from __future__ import annotations

import msgspec

from capexplorer.model.proposals import GoTo
from capexplorer.model.verdicts import UslFit

FIT = UslFit(lambda_rps=10.0, sigma=0.1, kappa=0.0, peak_users=None, peak_rps=None, r_squared=0.9, unreliable_why="no_bend")


def test_the_key_in_the_log_of_a_step_that_opens_a_new_level_has_not_changed() -> None:
    step = GoTo(3, "beyond", opens_new_level=True)
    assert msgspec.to_builtins(step) == {"do": "go_to", "users": 3, "why": "beyond", "anew": True}
    assert msgspec.convert(msgspec.to_builtins(step), GoTo) == step


def test_the_key_in_the_log_of_why_a_fit_is_unreliable_has_not_changed() -> None:
    logged = msgspec.to_builtins(FIT)
    assert logged["grey"] == "no_bend" and "unreliable_why" not in logged
    assert msgspec.convert(logged, UslFit) == FIT
