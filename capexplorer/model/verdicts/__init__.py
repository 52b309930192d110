"""Verdicts of capacity analysis: frozen values for marks, screens, reports and the autopilot.

`rps` is finished work per second. `None` means "not known", never zero. `wording` has the sentences.
"""

from .epoch_verdict import CapacityVerdict, CurveFit, EndpointDegradation, Missing, SloVerdict, UslFit
from .knee_verdict import KneeEvidence, KneeKind, KneeVerdict, Limit, Peak
from .knee_verification import Disagreement, Verification, VerificationStep, VerificationStepName
from .service_changes import ChangePoint, Recovery, RegimeVerdict

__all__ = [
    "CapacityVerdict", "ChangePoint", "CurveFit", "Disagreement", "EndpointDegradation", "KneeEvidence", "KneeKind",
    "KneeVerdict", "Limit", "Missing", "Peak", "Recovery", "RegimeVerdict", "SloVerdict", "UslFit",
    "Verification", "VerificationStep", "VerificationStepName",
]  # fmt: skip
