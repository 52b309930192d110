"""Figures of a finding, as reports and exports list them."""

from __future__ import annotations

import math

from capexplorer.model.findings import Knee
from capexplorer.model.verdicts import KneeEvidence, KneeVerdict


def test_figures_are_those_that_are_known_and_finite() -> None:
    evidence = KneeEvidence(top_slope=math.nan, response_ratio=math.inf, levels_below=0, soak_agrees=False)
    found = Knee(verdict=KneeVerdict(kind="knee", users=47.0, limit="errors", evidence=evidence))
    assert found.figures() == {"limit": "errors", "soft": False, "provisional": True, "levels_below": 0, "soak_agrees": False}
